"""All episodes of one gateway: creating, finding, expiring, closing and restoring them.

Episodes in memory are few and live; every other one is in its record. An id that is not in memory is
looked up there: an open episode is restored (its upstream sessions replay the recorded calls before the
next one), an ended one can still be read.
"""

import logging
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from astra_mcp.call_record import EndStatus, EpisodeId, EpisodeStatus
from astra_mcp.concurrency import LocksByName, Pace, drop_in_slices, in_turns, shielded
from astra_mcp.errors import (
    GatewayError,
    NotAvailableError,
    RecordError,
    ShortageError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.types import EmulatorKind, Failure, Origin
from gateway.api.seams import (
    Catalog,
    DistractorIndex,
    EndingUpstream,
    RecordSink,
    TaskDirectory,
    Upstream,
    abilities,
)
from gateway.api.wire import ALL_SERVERS, EpisodeRequest, EpisodeState
from gateway.edge.placement import new_episode_id, owner_of
from gateway.episodes.archive import RecordReader
from gateway.episodes.beginning import (
    changed_servers,
    describe,
    describe_state,
    find_source,
    open_turns,
    recorded_routes,
)
from gateway.episodes.derived_ids import DerivedIds
from gateway.episodes.episode import Episode
from gateway.episodes.failures import FailureDefaults
from gateway.episodes.held import NO_EPISODE, Held
from gateway.episodes.mixing import Mixing, ToolList
from gateway.episodes.record import EpisodeOpened, Record, RecordFile, read_record, record_path
from gateway.episodes.shown_tools import of_tools, routes_of
from gateway.episodes.warm_up import Preparation, is_held, prepare_all
from gateway.machine.clock import steady_clock
from gateway.machine.files import files_of
from gateway.machine.room import DiskRoom

__all__ = ["Episodes", "open_episodes"]

_SWEEP_SECONDS = 1.0
_RESTORE_SECONDS = 10.0
"""So long a caller waits for the servers of the state that it had."""
_PARK_SECONDS = 900.0
"""An episode that nobody asked for during this time gives its processes back; it is restored on demand."""
_CLOSE_SECONDS = 30.0
FAILURE_DEFAULTS = FailureDefaults()
_ID_PATTERN = re.compile(r"[0-9a-f]{32}")
_log = logging.getLogger("astra_mcp.gateway")


@dataclass(eq=False, kw_only=True)
class Episodes:
    """The episodes of one gateway process. Opened by :func:`open_episodes`, which says what each field is."""

    _catalog: Catalog
    _folder: Path
    _secret: bytes = field(repr=False)
    _max_open: int
    _group: TaskGroup
    _mixing: Mixing
    _failures: FailureDefaults
    _emulator: EmulatorKind
    _tasks: TaskDirectory | None
    _sinks: Sequence[RecordSink]
    _room: DiskRoom
    _now: Callable[[], float]
    _worker: int
    _workers: int
    closings: Listeners[[str]] = field(default_factory=Listeners[[str]], init=False)
    """Who is told of each episode that somebody closes."""
    replacements: Listeners[[str, str]] = field(default_factory=Listeners[[str, str]], init=False)
    """Who is told the endpoint and the caller of each state that another one takes the place of."""

    def __post_init__(self) -> None:
        self._preparation = Preparation(self._group)
        self._held = Held(self._now, self._max_open)
        self._ids = DerivedIds(self._secret)
        self._make = partial(Episode, on_end=self._tell_end, now=self._now)
        self._restoring = LocksByName()
        self._reader = RecordReader()

    async def create(self, request: EpisodeRequest) -> Episode:
        """Open an episode: fix its tool list, its seed and its job, and begin its record.

        Raises:
            UnknownNameError: There is no such environment, question, server or task.
            NotAvailableError: The request asks for what this version or this gateway does not do.
            CapacityError: As many episodes as allowed are open.
            ShortageError: This machine has no room for another one, for now.
            UpstreamError: A server could not be started or reached, or no distractors can be chosen now.
        """
        self._held.require_room()
        source = await find_source(self._catalog, self._tasks, request.source)
        listed = await self._mixing.list_tools(source.upstreams, request.distractors, request.seed)
        opened = await of_tools(
            len(listed.routes),
            describe,
            new_episode_id(self._worker, self._workers),
            self._now(),
            request,
            source,
            listed,
            law=self._failures.law(
                request.failures, made_up=any(abilities(u).made_up for u in source.upstreams)
            ),
            distractors=self._emulator,
        )
        self._held.require_room()  # others may have come meanwhile
        self._held.files.require(files_of(listed.upstreams), is_new=True)
        return self._open(opened, listed)

    async def get(self, episode: str) -> Episode:
        """Find an episode, in memory or in its record; ended ones are found too.

        Raises:
            UnknownNameError: There is none (the message does not repeat the id).
            UpstreamError: It takes calls, and a server of it could not be started or reached.
            ShortageError: It cannot be restored for now.
        """
        return self._held.ask_any(episode) or await self._restore(episode)

    def find_live(self, episode: str) -> Episode | None:
        """Find an episode that is in memory and takes calls, or did so a moment ago."""
        return self._held.ask(episode)

    def is_open(self, episode: str) -> bool:
        """Tell whether an episode takes calls, in memory or parked; does not count as use."""
        return self._held.is_open(episode)

    def at_hand(self, episode: str) -> Episode:
        """Find an episode that :meth:`get` has brought into memory for this request.

        Raises:
            UnknownNameError: It is not in memory.
        """
        return self._held.at_hand(episode)

    async def state(self, episode: str) -> EpisodeState:
        """Tell where an episode stands; it expires here where its time is over."""
        found = await self.get(episode)
        found.expire_if_due()
        return found.state()

    async def recorded(self, episode: str) -> tuple[EpisodeState, Path]:
        """Tell where an episode stands, and which file says what has been called so far."""
        found = await self.get(episode)
        found.expire_if_due()
        return found.state(), record_path(self._folder, found.id)

    async def close(self, episode: str) -> EpisodeState:
        """End an episode after its running calls, and release what it holds; repeatable.

        Raises NoSpaceError where its end cannot be recorded for now; it takes no further calls meanwhile.
        """
        found = await self.get(episode)
        found.begin_closing()
        self.closings.tell(found.id)
        with anyio.move_on_after(_CLOSE_SECONDS):
            await found.wait_idle()
        found.end(EpisodeStatus.CLOSED)
        await self._retire(found)
        return found.state()

    def open_states(self) -> Iterator[EpisodeState]:
        """Tell where each open episode stands, while others come and go; interactive states are left out."""
        for episode in list(self._held.proper()):
            if episode.is_open:
                yield episode.state()

    def count_proper(self) -> int:
        """How many :meth:`open_states` tells of."""
        return sum(1 for _ in self._held.proper())

    def missing(self) -> tuple[str, ...]:
        """Name what keeps this process from recording anything; empty where nothing does."""
        return self._room.missing()

    def count_open(self) -> int:
        """How many episodes hold processes here and take calls; parked ones are not among them."""
        return self._held.count_open()

    async def prepared(
        self, upstreams: Sequence[Upstream], *, of_all: bool
    ) -> tuple[Upstream, ...]:
        """Prepare the servers of an interactive endpoint: its one, or of all those that can be reached soon.

        Raises:
            UpstreamError: The one server could not be started or reached.
        """
        if of_all:
            return await self._preparation.all_known(upstreams)
        await prepare_all(upstreams)
        return tuple(upstreams)

    async def interactive(
        self, endpoint: str, caller: str, servers: Sequence[str], *, call_id: str | None = None
    ) -> Episode:
        """Find or make the state that one caller has at an interactive endpoint.

        Args:
            endpoint: ``*`` for all servers (their tools are shown as ``server__tool``), else a name.
            caller: Whose state it is; the same caller gets the same state, also after a restart.
            servers: Names of the servers that the endpoint shows.
            call_id: Of a call that may be a retry: where the caller's last state knows it and has ended,
                that one is found, and answers what it recorded.

        Raises:
            UnknownNameError: There is no such server.
            UpstreamError: The server of an endpoint for one could not be started or reached.
        """
        upstreams = tuple(self._catalog.upstream(name) for name in servers)
        await self._preparation.before_state(upstreams, of_all=endpoint == ALL_SERVERS)
        generation = self._ids.generation(endpoint, caller)
        retried = await self._find_retried(endpoint, caller, generation, call_id)
        if retried is not None:
            return retried
        while True:
            episode = self._ids.state(endpoint, caller, generation)
            known = self._held.get(episode)
            if known is None and record_path(self._folder, episode).exists():
                known = await self._find_state(episode)
                if known is None:
                    generation += 1
                    continue
            if known is None:
                await self._held.make_room_for_state(files_of(upstreams))
                return await self._open_interactive(episode, endpoint, upstreams)
            known.expire_if_due()
            if known.is_open and (
                is_held(known.upstreams, known.servers, upstreams)
                or known.show(upstreams, qualify_all=endpoint == ALL_SERVERS)
            ):
                self._held.ask(episode)
                return known
            if known.is_open:  # the endpoint shows other servers by now
                self.replacements.tell(endpoint, caller)
                await self.close(episode)
            generation += 1
            self._ids.remember(endpoint, caller, generation)

    async def close_state(self, endpoint: str, caller: str) -> None:
        """End the state that a caller has at an interactive endpoint, where it holds anything.

        One that is parked and cannot be restored any more holds nothing, and is forgotten.
        """
        generation = self._ids.generation(endpoint, caller)
        episode = self._ids.state(endpoint, caller, generation)
        if episode in self._held:
            with self._forgetting_lost(episode):
                await self.close(episode)

    async def _find_retried(
        self, endpoint: str, caller: str, generation: int, call_id: str | None
    ) -> Episode | None:
        """Find the state that has ended, of the caller's last two, in which a call was recorded."""
        if call_id is None:
            return None
        for number in (generation, generation - 1):
            episode = self._ids.state(endpoint, caller, number)
            if number < 0 or not record_path(self._folder, episode).exists():
                continue
            state = await self._find_state(episode)
            if state is not None and not state.is_open and state.knows(call_id):
                return state
        return None

    async def _find_state(self, episode: EpisodeId) -> Episode | None:
        """Find a state, or None where it cannot be restored: its caller begins a new one."""
        known = self._held.find(episode)
        if known is not None:
            return known
        try:
            with anyio.fail_after(_RESTORE_SECONDS):
                return await self._restore(episode)
        except (RecordError, UnknownNameError, UpstreamError, TimeoutError):
            _log.exception("the interactive state %s cannot be restored", episode[:6])
            return None

    async def _open_interactive(
        self, episode: EpisodeId, endpoint: str, upstreams: Sequence[Upstream]
    ) -> Episode:
        num = sum(len(u.tools) for u in upstreams)
        routes = await of_tools(num, routes_of, upstreams, qualify_all=endpoint == ALL_SERVERS)
        listed = ToolList(routes=routes, upstreams=tuple(upstreams))
        opened = await of_tools(num, describe_state, episode, self._now(), endpoint, listed)
        # Another request of the caller may have come first.
        return self._held.get(episode) or self._open(opened, listed)

    async def sweep_on(self) -> None:
        """Sweep once a second while there is anything to sweep; a gateway without episodes sleeps."""
        while True:
            await self._held.wait_for_any()
            await anyio.sleep(_SWEEP_SECONDS)
            await self.sweep()

    async def sweep(self) -> None:
        """Expire what is due, release what has ended, park what nobody asks for."""
        for parked in self._held.due():
            with self._forgetting_lost(parked):
                (await self.get(parked)).expire_if_due()
        async for episode in in_turns(self._held.live()):
            if self._held.get(episode.id) is not episode:  # it was closed or parked meanwhile
                continue
            with suppress(ShortageError, RecordError):  # whoever asks for the call is told
                episode.record_held()
            episode.expire_if_due()
            if episode.is_busy:
                continue
            if not episode.is_open:
                await self._retire(episode)
            elif episode.keeps_processes:
                continue  # what a deployed server holds would be lost
            elif self._held.seconds_alone(episode) > _PARK_SECONDS:
                await self._held.park(episode)

    @contextmanager
    def _forgetting_lost(self, episode: str) -> Generator[None]:
        """Forget a parked episode that cannot be restored for its end: nobody is there to be told.

        Where the machine lacks something, the end is left to a later moment, or to its time.
        """
        try:
            yield
        except ShortageError as error:
            _log.warning("episode %s: its end is put off: %s", episode[:6], error)
        except (RecordError, UnknownNameError, UpstreamError):
            _log.exception("episode %s: its end cannot be recorded", episode[:6])
            self._held.unpark(episode)

    async def release_all(self) -> None:
        """Close every session; open episodes stay open in their records."""
        await self._held.release_all()

    async def _retire(self, episode: Episode) -> None:
        self._held.retire(episode)
        await episode.release()

    def _open(self, opened: EpisodeOpened, listed: ToolList) -> Episode:
        turns = open_turns(opened, listed.upstreams, partial(self._ids.upstream_key, opened.id))
        self._room.require()
        file = RecordFile(self._folder, opened.id, self._room, self._sinks)
        try:
            file.append(opened)
        except (RecordError, ShortageError):
            file.discard()
            raise
        episode = self._make(opened=opened, routes=listed.routes, turns=turns, file=file)
        self._held.hold(episode)
        return episode

    def _tell_end(self, episode: Episode, status: EndStatus) -> None:
        """Tell the servers that want to know, and wait for none of them."""
        for upstream in episode.upstreams:
            if isinstance(upstream, EndingUpstream):
                key = self._ids.upstream_key(episode.id, upstream.name)
                self._group.start_soon(upstream.note_end, key, status)

    def upstream_keys(self, episode: Episode) -> dict[str, str]:
        """The key under which each server of an episode knows it, by their names."""
        return {name: self._ids.upstream_key(episode.id, name) for name in episode.servers}

    async def _restore(self, episode: str) -> Episode:
        """Restore an episode; whoever asks for it meanwhile waits, and finds it."""
        if not _ID_PATTERN.fullmatch(episode):
            raise UnknownNameError(NO_EPISODE)
        async with self._restoring.hold(episode):
            known = self._held.find(episode)
            return known or await self._restore_alone(episode)

    async def _restore_alone(self, episode: str) -> Episode:
        self._room.require_speed()
        # Nobody else writes the record of an episode that is not in memory, so that it stays what was read.
        record = await self._reader.read(record_path(self._folder, episode), self._read)
        upstreams = self._servers_of(record)
        files = files_of(upstreams or ())
        if record.ended is None and (
            any(not u.tools for u in upstreams or ())
            or not self._held.files.has(files, is_new=False)
        ):
            of_all = record.opened.endpoint == ALL_SERVERS
            await self._preparation.before_state(upstreams or (), of_all=of_all)
            await self._held.make_room_for_files(files)
        with shielded():  # what is made half would be left open
            restored = await self._take_over(record, upstreams)
        parts = record.parts()
        del record
        await anyio.to_thread.run_sync(drop_in_slices, *parts)
        return restored

    def _read(self, path: Path, pace: Pace) -> Record:
        """Read a record of this worker."""
        record = read_record(path, pace) if path.exists() else None
        if record is not None:
            is_state = record.opened.endpoint is not None
            if self._worker == (0 if is_state else owner_of(record.opened.id, self._workers)):
                return record
        raise UnknownNameError(NO_EPISODE)

    def _servers_of(self, record: Record) -> tuple[Upstream, ...] | None:
        """Find the servers of an episode; None where one of them is not published any more."""
        with suppress(UnknownNameError):
            return tuple(self._catalog.upstream(name) for name in record.opened.servers)
        return None

    async def _take_over(self, record: Record, upstreams: Sequence[Upstream] | None) -> Episode:
        """Make an episode of its record, while nobody else does."""
        opened = record.opened
        changed = changed_servers(record, upstreams)
        held = () if changed else upstreams or ()
        if opened.endpoint is None:
            routes = recorded_routes(opened, held)
        else:
            routes = routes_of(held, qualify_all=opened.endpoint == ALL_SERVERS)
        try:
            turns = open_turns(opened, held, partial(self._ids.upstream_key, opened.id), record)
        except NotAvailableError as error:
            raise UpstreamError(str(error)) from error
        file = RecordFile(self._folder, opened.id, self._room, self._sinks)
        self._held.unpark(opened.id)
        restored = self._make(opened=opened, routes=routes, turns=turns, file=file)
        await restored.resume(record)
        if changed and restored.is_open:
            message = f"{', '.join(changed)} changed since the episode was opened"
            restored.end(EpisodeStatus.FAILED, Failure(boundary=Origin.GATEWAY, message=message))
        if restored.is_open:
            self._held.hold(restored)
        else:
            self._held.retire(restored)
            file.close()
        return restored


@asynccontextmanager
async def open_episodes(  # noqa: PLR0913 - one parameter for each thing that it is made of
    catalog: Catalog,
    home: Path,
    *,
    secret: bytes,
    max_open: int = 10_000,
    sinks: Sequence[RecordSink] = (),
    now: Callable[[], float] | None = None,
    worker: int = 0,
    workers: int = 1,
    distractors: DistractorIndex | None = None,
    failures: FailureDefaults = FAILURE_DEFAULTS,
    emulator: EmulatorKind = EmulatorKind.OFFLINE,
    tasks: TaskDirectory | None = None,
) -> AsyncGenerator[Episodes]:
    """Own the episodes of one gateway, expire them in time and release them at the end.

    Args:
        catalog: What episodes can be opened of.
        home: ``$ASTRA_MCP_HOME``; records go to its ``records`` folder.
        secret: Derives upstream keys and the ids of interactive states; stable over restarts.
        max_open: How many episodes may be live at once.
        sinks: Hear of every record event.
        now: Seconds since the epoch, steadily; by default the clock of the home.
        worker: Which of the workers this process is, from 0; it touches its own episodes only.
        workers: How many share the records.
        distractors: Chooses task-irrelevant tools; without it no episode has any.
        failures: Which episodes fail on purpose where their requests do not say.
        emulator: Who answers for distractors of which there are documents only.
        tasks: The synthesized tasks; without it no episode is of one.

    Raises:
        GatewayError: The records folder cannot be made.
    """
    folder = home / "records"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{folder} cannot be made ({error.strerror}): set ASTRA_MCP_HOME to a writable folder"
        raise GatewayError(msg) from error
    async with anyio.create_task_group() as group:
        episodes = Episodes(
            _catalog=catalog,
            _folder=folder,
            _secret=secret,
            _max_open=max_open,
            _group=group,
            _mixing=Mixing(catalog, distractors),
            _failures=failures,
            _emulator=emulator,
            _tasks=tasks,
            _sinks=sinks,
            _room=DiskRoom(home / f"reserve-{worker}"),
            _now=now or steady_clock(home),
            _worker=worker,
            _workers=workers,
        )
        group.start_soon(episodes.sweep_on)
        try:
            yield episodes
        finally:
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await episodes.release_all()
