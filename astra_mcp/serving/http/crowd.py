"""How many connections a process holds: beyond a number, who asks for nothing gives its place up.

A flood of connections must not take the files that calls, records and processes need. Knows when each was
last asked for something, and how to close it; knows no HTTP.
"""

from itertools import chain
from typing import Protocol

__all__ = ["Crowd", "Guest"]


class Guest(Protocol):
    """A connection."""

    @property
    def is_idle(self) -> bool:
        """True where nobody waits for an answer there."""
        ...

    @property
    def is_sending(self) -> bool:
        """True where what is waited for is the rest of the one request that was begun there."""
        ...

    def leave(self) -> None:
        """Close it, which must have it removed."""
        ...


class Crowd:
    """The connections of one process, in the order in which they were last used."""

    def __init__(self, most: int | None = None) -> None:
        """Hold at most so many; None holds all that come."""
        self._most = most
        self._silent: dict[Guest, None] = {}
        """Those that have not asked for anything yet."""
        self._known: dict[Guest, None] = {}

    def __len__(self) -> int:
        return len(self._silent) + len(self._known)

    def add(self, guest: Guest) -> bool:
        """Give a connection a place, if need be that of another; False where all are waited at."""
        if self._most is not None and len(self) >= self._most and not self._make_room():
            return False
        self._silent[guest] = None
        return True

    def note_use(self, guest: Guest) -> None:
        """Note that something was asked for there."""
        self.remove(guest)
        self._known[guest] = None

    def remove(self, guest: Guest) -> None:
        """Forget a connection; one that is not held is left alone."""
        self._silent.pop(guest, None)
        self._known.pop(guest, None)

    def _make_room(self) -> bool:
        """Close the one that has been silent, or was left alone, for the longest time.

        Where there is none, the one that has been sending its request for the longest time: an honest one
        takes no time for that, and a flood that never comes to an end would keep everyone out.
        """
        leaving = chain(
            (g for g in self._silent if g.is_idle),
            (g for g in self._known if g.is_idle),
            (g for g in self._known if g.is_sending),
        )
        guest = next(leaving, None)
        if guest is None:
            return False
        self.remove(guest)
        guest.leave()
        return True
