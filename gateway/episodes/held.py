"""Episodes in memory: those that take calls, those that are parked in their records, those that ended lately.

Parked is an episode whose processes were given back; whoever asks for it restores it. Knows nothing of how an
episode is made, restored or ended.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator

import anyio

from astra_mcp.errors import CapacityError, UnknownNameError
from gateway.episodes.episode import Episode
from gateway.machine.files import OpenFiles, files_of

__all__ = ["NO_EPISODE", "Held"]

NO_EPISODE = "there is no such episode: create one with POST /v1/episodes"
_MAX_ENDED = 256
_MAX_STATES = 1024
"""Live states of interactive endpoints; beyond, one that was long left alone is parked."""


class Held:
    """The episodes of one gateway process that are in memory, and the files that they take."""

    def __init__(self, now: Callable[[], float], max_open: int) -> None:
        self._now, self._max_open = now, max_open
        self._live: dict[str, Episode] = {}
        self._parked: dict[str, float] = {}
        self._ended: OrderedDict[str, Episode] = OrderedDict()
        self._asked: dict[str, float] = {}
        self._is_wanted = anyio.Event()
        """Set once an episode is held; there is nothing to sweep before."""
        self.files = OpenFiles()

    def __contains__(self, episode: str) -> bool:
        """Whether an episode takes calls, in memory or parked, or did so a moment ago."""
        return episode in self._live or episode in self._parked

    def live(self) -> list[Episode]:
        """Those in memory that take calls, or did so a moment ago."""
        return list(self._live.values())

    def get(self, episode: str) -> Episode | None:
        """One of :meth:`live`; does not count as use."""
        return self._live.get(episode)

    def find(self, episode: str) -> Episode | None:
        """One of :meth:`live`, or one that ended lately; does not count as use."""
        return self._live.get(episode) or self._ended.get(episode)

    def ask(self, episode: str) -> Episode | None:
        """One of :meth:`live`, which is in use now."""
        found = self._live.get(episode)
        if found is not None:
            self._asked[episode] = self._now()
        return found

    def ask_any(self, episode: str) -> Episode | None:
        """One of :meth:`live`, which is in use now, or one that ended lately."""
        return self.ask(episode) or self._ended.get(episode)

    def at_hand(self, episode: str) -> Episode:
        """The same.

        Raises:
            UnknownNameError: It is not in memory.
        """
        found = self.ask_any(episode)
        if found is None:
            raise UnknownNameError(NO_EPISODE)
        return found

    def is_open(self, episode: str) -> bool:
        """Tell whether an episode takes calls, in memory or parked; does not count as use."""
        found = self._live.get(episode)
        return found.is_open if found is not None else episode in self._parked

    def proper(self) -> Iterator[Episode]:
        """Those that take calls and are no interactive states."""
        return (e for e in self.live() if e.is_open and e.endpoint is None)

    def count_open(self) -> int:
        """How many take calls here; parked ones are not among them."""
        return sum(e.is_open for e in self._live.values())

    def hold(self, episode: Episode) -> None:
        """Keep an episode in memory, as asked for now."""
        self._live[episode.id] = episode
        self.files.taken += files_of(episode.upstreams)
        self._asked[episode.id] = self._now()
        self._is_wanted.set()

    def retire(self, episode: Episode) -> None:
        """Keep an episode as one that ended lately; what it holds is its owner's to release."""
        self._forget(episode)
        self._ended[episode.id] = episode
        while len(self._ended) > _MAX_ENDED:
            self._ended.popitem(last=False)

    async def park(self, episode: Episode) -> None:
        """Give an open episode's processes back; it is restored when it is asked for, or is due."""
        self._forget(episode)
        self._parked[episode.id] = episode.expires_at.timestamp()
        await episode.release()

    def unpark(self, episode: str) -> None:
        """Forget that an episode is parked: it was restored, or cannot be."""
        self._parked.pop(episode, None)

    def due(self) -> list[str]:
        """Parked episodes whose time is over."""
        return [episode for episode, due in self._parked.items() if self._now() >= due]

    def seconds_alone(self, episode: Episode) -> float:
        """For how long nobody has asked for an episode."""
        return self._now() - self._asked.get(episode.id, 0.0)

    async def wait_for_any(self) -> None:
        """Wait until something is in memory or parked."""
        if not self._live and not self._parked:
            self._is_wanted = anyio.Event()
            await self._is_wanted.wait()

    def require_room(self) -> None:
        """Let one more be created.

        Raises:
            CapacityError: As many episodes as allowed are open.
        """
        live = self._live.values()
        if len(live) >= self._max_open <= sum(e.endpoint is None for e in live):
            msg = f"{self._max_open} episodes are open: close some, or raise serve.max_episodes"
            raise CapacityError(msg)

    async def make_room_for_state(self, num_files: int) -> None:
        """Park until there may be one more state of an interactive endpoint, with so many files.

        Raises:
            NoFilesError: All others are at work, or hold what would be lost.
        """
        if sum(e.endpoint is not None for e in self._live.values()) >= _MAX_STATES:
            for idle in [e for e in self._idle() if e.endpoint is not None][:1]:
                await self.park(idle)
        await self.make_room_for_files(num_files)

    async def make_room_for_files(self, num_files: int) -> None:
        """Park until an episode that there was before can take so many.

        Raises:
            NoFilesError: All others are at work, or hold what would be lost.
        """
        for episode in () if self.files.has(num_files, is_new=False) else self._idle():
            if self.files.has(num_files, is_new=False):
                return
            if episode.is_open and not episode.is_busy and not episode.keeps_processes:
                await self.park(episode)
        self.files.require(num_files, is_new=False)

    async def release_all(self) -> None:
        """Release all that is in memory; open episodes stay open in their records."""
        for episode in self.live():
            await episode.release()
        self._live.clear()
        self._asked.clear()
        self._ended.clear()

    def _idle(self) -> list[Episode]:
        """What runs no call, longest left alone first; those whose servers would lose something last."""
        idle = (e for e in self._live.values() if not e.is_busy)
        return sorted(idle, key=lambda e: (e.keeps_processes, self._asked.get(e.id, 0.0)))

    def _forget(self, episode: Episode) -> None:
        if self._live.pop(episode.id, None) is not None:
            self.files.taken -= files_of(episode.upstreams)
        self._asked.pop(episode.id, None)
