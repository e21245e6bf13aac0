"""Bounds what all processes of a sandbox hold together: where it is too much, the largest is stopped.

One that goes on working behind its answer is stopped, too: nobody waits for it, and its limits are of calls.
The kernel tells of each process how much memory it holds and how many pages it was given since it began;
what it shares with the process that it came from is counted there alone. Knows processes by their ids; does
not know what they run.
"""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "LOOK_SECONDS",
    "NOTHING",
    "Account",
    "MemoryBudget",
    "Usage",
    "machine_memory",
    "usage_of",
]

LOOK_SECONDS = 0.1
"""How often it is looked. What grows in between is over the budget until then."""

_LOOKS = 64
"""Processes that are weighed at a time, by turns: half of them such as run a call, where there are both."""
_LOOKS_AT_ONCE = 16
_STAT_BYTES = 4096
_PAGE = os.sysconf("SC_PAGE_SIZE")
_FAULTS, _USER_TICKS, _SYSTEM_TICKS, _MAPPED, _RESIDENT = 7, 11, 12, 20, 21
"""Places in the line that the kernel writes of a process, after its name."""
_PAGES_PER_PAGE_OF_MAPPINGS = 16
"""The kernel takes some 200 bytes for each piece of memory that is mapped, of a page at least."""
_IDLE_SECONDS = 0.2
"""Of the processor, behind an answer: an honest process waits for the next call at once."""
_IDLE_TICKS = max(2, int(_IDLE_SECONDS * os.sysconf("SC_CLK_TCK")))
_PAGES_PER_BRANCH = 256
"""So many pages may a template change for each session; an honest one changes some thirty."""

_log = logging.getLogger(__name__)


class Usage(NamedTuple):
    """What a process holds, in pages."""

    resident: int
    faults: int
    """Pages that it was given since it began."""
    mapped: int = 0
    """Of its address space, be there memory or not."""
    ticks: int = 0
    """Not pages but time: of the processor, since it began."""


NOTHING = Usage(0, 0)


def usage_of(pid: int) -> Usage:
    """Ask the kernel; nothing for a process that is gone."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return NOTHING
    try:
        text = os.read(file, _STAT_BYTES)
    except OSError:
        return NOTHING
    finally:
        os.close(file)
    fields = text.rpartition(b")")[2].split()
    return Usage(
        resident=int(fields[_RESIDENT]),
        faults=int(fields[_FAULTS]),
        mapped=int(fields[_MAPPED]) // _PAGE,
        ticks=int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS]),
    )


def machine_memory() -> int:
    """Bytes of this machine, or of the container where that has less."""
    total = os.sysconf("SC_PHYS_PAGES") * _PAGE
    try:
        bound = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(bound)) if bound.isdigit() else total


@dataclass(eq=False, slots=True, kw_only=True)
class Account:
    """What one process holds beyond what it began with, at most: what it may have copied counts as copied."""

    pid: int
    began: int
    """Pages of the process that it was forked from."""
    mapped: int = 0
    """Pages of the address space of that process."""
    is_busy: Callable[[], bool]
    """Whether it runs a call, and so may be growing."""
    stop: Callable[[], None]
    """End the process, and those that came from it."""
    num_calls: Callable[[], int] | None = None
    """Calls that it was asked so far; None where it may work while nobody asks it anything."""
    stop_working: Callable[[], None] | None = None
    """End the process that works behind its answer, which is to blame."""
    parent: "Account | None" = None
    """Of a session: its template."""
    held: int = field(default=0, init=False)
    """Bytes."""
    branches: int = field(default=0, init=False)
    loaded: Usage | None = field(default=None, init=False)
    """Of a template: what it held when it had loaded."""
    _idle: tuple[int, int] | None = field(default=None, init=False)
    """Calls and ticks, when it was first seen idle behind the last of these calls."""
    _ticks: int = field(default=0, init=False)

    def weigh(self) -> int:
        """Look again; returns by how much it has grown, in bytes."""
        before = self.held
        now = usage_of(self.pid)
        pages = max(0, now.resident - self.began) + min(self.began, now.faults)
        if self.loaded is not None:  # what it changed may still be held by sessions as it was
            changed = now.faults - self.loaded.faults
            pages += max(0, changed - _PAGES_PER_BRANCH * (1 + self.branches))
        # Memory of the kernel: what is mapped may be of as many pieces as there are pages.
        pages += max(0, now.mapped - self.mapped) // _PAGES_PER_PAGE_OF_MAPPINGS
        self.held = pages * _PAGE
        self._note_idle(now.ticks)
        return self.held - before

    @property
    def is_working_unasked(self) -> bool:
        """Whether it worked on while nobody waited for it, as was last seen."""
        return self._idle is not None and self._ticks - self._idle[1] >= _IDLE_TICKS

    def _note_idle(self, ticks: int) -> None:
        self._ticks = ticks
        if self.num_calls is None or self.is_busy():
            self._idle = None
        elif self._idle is None or self._idle[0] != self.num_calls():
            self._idle = (self.num_calls(), ticks)


class MemoryBudget:
    """The accounts of all processes, and their sum."""

    def __init__(self, limit: int) -> None:
        """Begin with no process.

        Args:
            limit: Bytes of all processes together.
        """
        self.limit = limit
        self.held = 0
        """Bytes, as they were last seen."""
        self._accounts: dict[Account, None] = {}
        """Last looked at last."""

    def open(self, account: Account) -> None:
        """Count a process from now on."""
        self._accounts[account] = None
        if account.parent is not None:
            account.parent.branches += 1

    def close(self, account: Account) -> None:
        """Count it no longer; closing twice is allowed."""
        if account in self._accounts:
            del self._accounts[account]
            self.held -= account.held

    def look(self) -> Iterator[None]:
        """Weigh those whose turn it is, and stop the largest until the others are within the budget.

        Comes between any two of a few, for others to have their turn; processes may come and go then.
        """
        busy: list[Account] = []
        idle: list[Account] = []
        for account in self._accounts:
            (busy if account.is_busy() else idle).append(account)
        # An idle one is not believed to be idle: its code can have answered, and go on.
        num_idle = min(len(idle), max(_LOOKS // 2, _LOOKS - len(busy)))
        for number, account in enumerate((*busy[: _LOOKS - num_idle], *idle[:num_idle]), start=1):
            if number % _LOOKS_AT_ONCE == 0:
                yield
            if account not in self._accounts:
                continue
            self.held += account.weigh()
            del self._accounts[account]
            self._accounts[account] = None
            if account.is_working_unasked and account.stop_working is not None:
                self.close(account)
                account.stop_working()
        while self.held > self.limit and self._accounts:
            self._relieve()

    def _relieve(self) -> None:
        """Stop the largest; of a template, which ends its sessions, each counts for its share.

        One that has no sessions goes first: it is built anew when it is needed.
        """
        sessions: dict[Account, list[Account]] = {}
        for account in self._accounts:
            if account.parent is not None:
                sessions.setdefault(account.parent, []).append(account)

        def relief(account: Account) -> tuple[bool, float]:
            ending = sessions.get(account, [])
            is_unused = account.parent is None and not ending and not account.is_busy()
            return is_unused, account.held / max(1, len(ending))

        largest = max(self._accounts, key=relief)
        _log.warning(
            "all tools together hold %d bytes, more than sandbox.total_memory_bytes (%d); "
            "stopping process %d, which holds %d",
            *(self.held, self.limit, largest.pid, largest.held),
        )
        for ending in (*sessions.get(largest, ()), largest):
            self.close(ending)
        largest.stop()
