"""Which episodes there are, for lists: the registry's index, kept up to date by what this gateway records.

The index is a table of the registry's database, one row for each record. What an earlier life of the gateway
left out is read once, when somebody first asks; from then on each process of the gateway hears its own
episodes begin and end, and writes their rows down a moment later, without opening a record. A page of a list
is one query by the time of opening; only records whose row says ``open`` are looked at again.
"""

import logging
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from astra_mcp.call_record import EpisodeId, EpisodeStatus
from astra_mcp.compose.episodes import digest_of, player_in, run_in, source_in
from astra_mcp.concurrency import Pace
from astra_mcp.errors import AstraError, RegistryError
from gateway.episodes.archive import RecordReader
from gateway.episodes.live import Episodes
from gateway.episodes.record import record_path
from registry.store.database import Database
from registry.store.records import (
    EpisodeDigest,
    EpisodeFilter,
    IndexedEpisode,
    Place,
    episodes_near,
    episodes_that_begin,
    index_records,
    page_of_episodes,
    store_digests,
)
from registry.store.statements import batches

__all__ = ["EpisodeIndex", "EpisodePage", "HeardEpisodes", "open_index"]

_WRITE_SECONDS = 2.0
_LOAD_SECONDS = 1.0
"""So long the first list waits for what an earlier life left out; later ones show what is there. So long a
list begins to read records of others' open episodes; the rest is shown as it was when it was indexed."""
_AGAIN_SECONDS = 30.0
_NEAR = 2_000
"""Of so many episodes before a time, after it and of the newest, those of one source are looked for."""
_ROWS_AT_ONCE = 200
"""So many rows are written in a transaction: 10 ms of a thread, beside which calls go on."""
_MAX_WAITING = 10_000
"""Rows that wait to be written; more only where the database takes none, and then they are found later."""
_log = logging.getLogger("astra_mcp.pages")


class HeardEpisodes:
    """What the record events of this process say of its episodes; a ``RecordSink``."""

    def __init__(self) -> None:
        """Have heard nothing yet."""
        self._calls: dict[str, int] = {}
        """Calls that count, of each episode that was opened since this process began."""
        self._opened: dict[str, EpisodeDigest] = {}
        self._waiting: dict[str, EpisodeDigest | None] = {}
        """What is to be written; None where the record says more than was heard."""
        self.has_news = anyio.Event()

    def write(self, episode: EpisodeId, event: Mapping[str, Any]) -> None:
        """Take one event; of a call this is one addition."""
        match event["event"]:
            case "call_started":
                if not event["is_over_limit"]:
                    self._calls[episode] = self._calls.get(episode, 0) + 1
            case "call_finished":
                if "asks" in event["result"]:
                    self._calls[episode] = self._calls.get(episode, 0) - 1
            case "episode_opened":
                digest = self._opened[episode] = _begun(event)
                self._tell(episode, digest)
            case "episode_ended":
                self._end(episode, event)
            case _:
                pass

    def _end(self, episode: str, event: Mapping[str, Any]) -> None:
        calls, opened = self._calls.pop(episode, 0), self._opened.pop(episode, None)
        if opened is None:  # an earlier life opened it
            self._tell(episode, None)
            return
        reward, failure = event["reward"], event["failure"]
        ended = replace(
            opened,
            status=event["status"],
            calls=calls,
            reward=reward["reward"] if reward else None,
            failure=failure["message"] if failure else None,
        )
        self._tell(episode, ended)

    def _tell(self, episode: str, digest: EpisodeDigest | None) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._waiting[episode] = digest
        self.has_news.set()

    def put_back(self, episode: str, digest: EpisodeDigest) -> None:
        """Have it written another time, unless there is newer."""
        if episode not in self._waiting:
            self._tell(episode, digest)

    def take(self) -> dict[str, EpisodeDigest | None]:
        """Hand over what is to be written."""
        taken, self._waiting = self._waiting, {}
        self.has_news = anyio.Event()
        return taken


class EpisodePage(NamedTuple):
    """A part of a list."""

    episodes: Sequence[IndexedEpisode]
    next: Place | None
    """Where the next page begins; None on the last one."""


class EpisodeIndex:
    """Lists of episodes; made by :func:`open_index`."""

    def __init__(
        self, database: Database, folder: Path, episodes: Episodes, heard: HeardEpisodes
    ) -> None:
        self._database = database
        self._folder = folder
        self._episodes = episodes
        self._heard = heard
        self._writing = anyio.Lock()
        self._reader = RecordReader()
        self.is_asked = anyio.Event()
        self.is_loaded = anyio.Event()
        """Set once what an earlier life left out is in it."""

    async def page(
        self, wanted: EpisodeFilter, *, after: Place | None = None, limit: int
    ) -> EpisodePage:
        """Read a page of a list, the newest first.

        Args:
            wanted: Which ones.
            after: The last one of the page before; None for the first page.
            limit: At most so many.

        Raises:
            RegistryError: The index cannot be read now.
        """
        await self._catch_up()
        query = partial(page_of_episodes, wanted=wanted, after=after, limit=limit + 1)
        found = await self._database.read(query)
        shown = await self._renewed(found[:limit])
        last = found[limit - 1] if len(found) > limit else None
        return EpisodePage(tuple(map(self._told, shown)), last and (last.digest.opened_at, last.id))

    async def near(self, source: str, at: datetime, *, limit: int) -> Sequence[IndexedEpisode]:
        """Find those of the same source that were opened near a time, or lately, the newest first.

        Args:
            source: What was run, the whole of it.
            at: The time.
            limit: Of those before, of those after and of the newest.

        Raises:
            RegistryError: The index cannot be read now.
        """
        await self.write_down()
        query = partial(episodes_near, source=source, at=at, among=_NEAR, limit=limit)
        found = await self._database.read(query)
        shown = await self._renewed(found)
        return tuple(map(self._told, shown))

    async def beginning_with(self, beginning: str, *, limit: int) -> Sequence[IndexedEpisode]:
        """Find those recorded here whose ids begin so, in the order of the ids.

        Args:
            beginning: Of an id, in hexadecimal digits and lower case.
            limit: At most so many.

        Raises:
            RegistryError: The index cannot be read now, or is not whole yet.
        """
        await self._catch_up()
        if not self.is_loaded.is_set():
            msg = "records of earlier days are still being read"
            raise RegistryError(f"{msg}: give the whole id, or try again in a moment")
        query = partial(episodes_that_begin, beginning=beginning, limit=limit)
        found = await self._database.read(query)
        shown = await self._renewed(found)
        return tuple(map(self._told, shown))

    async def _catch_up(self) -> None:
        """Wait a moment for what an earlier life left out, and write down what was heard."""
        self.is_asked.set()
        with anyio.move_on_after(_LOAD_SECONDS):
            await self.is_loaded.wait()
        await self.write_down()

    def _told(self, indexed: IndexedEpisode) -> IndexedEpisode:
        """Say what an episode of this process that takes calls has come to by now."""
        if indexed.digest.status != EpisodeStatus.OPEN:
            return indexed
        live = self._episodes.find_live(indexed.id)
        if live is None:
            return indexed
        state = live.state()
        reward = None if state.reward is None else state.reward.reward
        digest = replace(indexed.digest, status=state.status, calls=state.calls, reward=reward)
        return IndexedEpisode(indexed.id, digest)

    async def _renewed(self, found: Sequence[IndexedEpisode]) -> list[IndexedEpisode]:
        """Read the records again that may have grown, as far as a moment goes; leave out those not here."""
        here = await anyio.to_thread.run_sync(self._here, found)
        until = anyio.current_time() + _LOAD_SECONDS
        return [
            await self._renewed_one(each) if anyio.current_time() < until else each for each in here
        ]

    def _here(self, found: Sequence[IndexedEpisode]) -> list[IndexedEpisode]:
        """Leave out those of another home that shares the database."""
        return [each for each in found if self._path(each.id).exists()]

    async def _renewed_one(self, indexed: IndexedEpisode) -> IndexedEpisode:
        if indexed.digest.status != EpisodeStatus.OPEN or self._episodes.is_open(indexed.id):
            return indexed
        try:
            digest = await self._reader.read(self._path(indexed.id), digest_of)
        except AstraError as error:
            _log.warning("a record cannot be read: %s", error)
            return indexed
        return IndexedEpisode(indexed.id, digest)

    def _path(self, id_: str) -> Path:
        return record_path(self._folder, EpisodeId(id_))

    async def write_down(self) -> None:
        """Write down what was heard since the last time.

        Raises:
            RegistryError: The database takes nothing now; what was heard is tried again.
        """
        async with self._writing:
            news = self._heard.take()
            if not news:
                return
            digests, sizes = await self._complete(news)
            try:
                for part in map(dict, batches(digests.items(), _ROWS_AT_ONCE)):
                    await self._database.write(partial(store_digests, digests=part, sizes=sizes))
            except RegistryError:
                for id_, digest in digests.items():
                    self._heard.put_back(id_, digest)
                raise

    async def _complete(
        self, news: Mapping[str, EpisodeDigest | None]
    ) -> tuple[dict[str, EpisodeDigest], dict[str, int]]:
        sizes = await anyio.to_thread.run_sync(self._sizes, news)
        digests: dict[str, EpisodeDigest] = {}
        for id_ in sizes:
            try:
                digests[id_] = news[id_] or await self._reader.read(self._path(id_), digest_of)
            except AstraError as error:
                _log.warning("a record cannot be read: %s", error)
        return digests, sizes

    def _sizes(self, ids: Iterable[str]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        pace = Pace()
        for id_ in ids:
            pace.keep()
            try:
                sizes[id_] = self._path(id_).stat().st_size
            except OSError as error:
                _log.warning("a record cannot be read: %s", error)
        return sizes

    async def write_on(self) -> None:
        """Write down what is heard, a moment after it was."""
        while True:
            await self._heard.has_news.wait()
            await anyio.sleep(_WRITE_SECONDS)
            try:
                await self.write_down()
            except RegistryError as error:
                _log.warning("the index of episodes cannot be written: %s", error)

    async def load(self) -> None:
        """Once somebody asks, read what is not in the index."""
        await self.is_asked.wait()
        while not self.is_loaded.is_set():
            try:
                report = await index_records(self._database, self._folder, _at_own_pace)
            except RegistryError as error:
                _log.warning("the index of episodes cannot be read: %s", error)
                await anyio.sleep(_AGAIN_SECONDS)
                continue
            for fault in report.faults:
                _log.warning("left out of the list of episodes: %s", fault.reason)
            self.is_loaded.set()


@asynccontextmanager
async def open_index(
    database: Database, folder: Path, episodes: Episodes, heard: HeardEpisodes
) -> AsyncGenerator[EpisodeIndex]:
    """Keep the index up to date while the context is open.

    Args:
        database: The registry's, which keeps it.
        folder: Of the records.
        episodes: Of this process.
        heard: Hears its record events.
    """
    index = EpisodeIndex(database, folder, episodes, heard)
    async with anyio.create_task_group() as group:
        group.start_soon(index.write_on)
        group.start_soon(index.load)
        yield index
        group.cancel_scope.cancel()


def _at_own_pace(path: Path) -> EpisodeDigest:
    return digest_of(path, Pace())


def _begun(event: Mapping[str, Any]) -> EpisodeDigest:
    return EpisodeDigest(
        opened_at=datetime.fromisoformat(event["at"]),
        source=source_in(event["source"], event["endpoint"]),
        endpoint=event["endpoint"],
        status=EpisodeStatus.OPEN.value,
        calls=0,
        reward=None,
        failure=None,
        player=player_in(event["labels"]),
        run=run_in(event["labels"]),
    )
