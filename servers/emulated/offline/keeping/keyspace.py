"""The keys of one session, each with a value of one kind and perhaps a time at which it goes."""

import copy
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from astra_mcp.types import JsonValue, canonical_json
from servers.emulated.offline.selection import EntityRefusedError

__all__ = ["Keyspace"]

T = TypeVar("T", bound="list[JsonValue] | dict[str, JsonValue] | set[str]")
Kept = Any
"""A JSON value in a box, a list, a dict or a set of texts; ranked sets are dicts of numbers."""
MAX_KEYS: Final = 2000
_MAX_CHANGES: Final = 20_000
_MAX_BYTES: Final = 4 << 20


class Keyspace:
    """Holds what was stored; every change can be undone until it is committed."""

    def __init__(
        self, on_undo: Callable[[Callable[[], object]], None], *, gives_null: bool
    ) -> None:
        """Begin empty.

        Args:
            on_undo: Takes what undoes a change.
            gives_null: A key that is not there is read as null; else it is an error.
        """
        self.gives_null = gives_null
        self.now = 0
        """Seconds since 1970; set before each command."""
        self._on_undo = on_undo
        self._kept: dict[str, tuple[str, Kept]] = {}
        self._ends: dict[str, int] = {}
        self._size = 0
        self._changes = 0

    def all_keys(self) -> list[str]:
        """All that are there now, in the order in which they came."""
        return [key for key in self._kept if not self._is_over(key)]

    def kind(self, key: str) -> str | None:
        """What a key holds; None where it is not there."""
        return None if key not in self._kept or self._is_over(key) else self._kept[key][0]

    def value(self, key: str, kind: str) -> Any:
        """What a key holds; None where it is not there.

        Raises:
            EntityRefusedError: It holds something else.
        """
        found = self.kind(key)
        if found is not None and found != kind:
            raise EntityRefusedError(
                "WRONGTYPE Operation against a key holding the wrong kind of value"
            )
        return None if found is None else self._kept[key][1]

    def for_change(self, key: str, kind: str, new: Callable[[], T], added: object = "") -> T:
        """What a key holds, to be changed in place; made where it is not there.

        Args:
            key: Which.
            kind: What it must hold.
            new: Makes an empty one.
            added: What is going to be put in.

        Raises:
            EntityRefusedError: It holds something else, or nothing more can be stored.
        """
        found = self.value(key, kind)
        self._remember(key)
        self._grow(added)
        if found is None:
            self.put(key, kind, new())
        return cast("T", self._kept[key][1])

    def put(self, key: str, kind: str, value: Kept) -> None:
        """Let a key hold a value, whatever it held; it stays until it is taken away."""
        self._remember(key)
        self._grow(value if kind == "string" else "")
        if len(self._kept) >= MAX_KEYS and key not in self._kept:
            raise EntityRefusedError("Quota exceeded: no more keys can be stored")
        self._kept[key] = (kind, value)
        self._ends.pop(key, None)

    def drop(self, key: str) -> bool:
        """Take a key away; says whether it was there."""
        was_there = self.kind(key) is not None
        self._remember(key)
        self._kept.pop(key, None)
        self._ends.pop(key, None)
        return was_there

    def drop_empty(self, key: str) -> None:
        """Take a key away that holds nothing any more."""
        if key in self._kept and not self._kept[key][1]:
            self.drop(key)

    def end(self, key: str) -> int | None:
        """When a key goes, in seconds since 1970; None where it stays."""
        return self._ends.get(key)

    def set_end(self, key: str, end: int | None) -> None:
        """Say when a key goes; None lets it stay."""
        self._remember(key)
        if end is None:
            self._ends.pop(key, None)
        else:
            self._ends[key] = end

    def _is_over(self, key: str) -> bool:
        return key in self._ends and self._ends[key] <= self.now

    def _grow(self, added: object) -> None:
        """Count what is stored over the session's life; what was taken away again counts, too."""
        self._size += len(canonical_json(added))
        self._changes += 1
        if self._size > _MAX_BYTES or self._changes > _MAX_CHANGES:
            raise EntityRefusedError("Quota exceeded: nothing more can be stored")

    def _remember(self, key: str) -> None:
        """Have what a key is now restored if the call fails; what is over goes first."""
        if self._is_over(key):
            self._kept.pop(key)
            self._ends.pop(key)
        before = copy.deepcopy(self._kept.get(key))
        end, size, changes = self._ends.get(key), self._size, self._changes

        def undo() -> None:
            self._size, self._changes = size, changes
            for whole, old in ((self._kept, before), (self._ends, end)):
                restored = cast("dict[str, Any]", whole)
                restored.pop(key, None) if old is None else restored.__setitem__(key, old)

        self._on_undo(undo)
