"""The calls of two episodes put beside one another, and what differs, in words."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from astra_mcp.call_record import CallRecord
from astra_mcp.types import canonical_json

__all__ = ["MAX_ALIGNED", "Difference", "Pair", "are_aligned", "differences_in", "pairs_of"]

MAX_ALIGNED = 500
"""Calls a side; to align more would hold a page up, as it takes the product of both."""
_TOOL, _ARGUMENTS, _RESULT = "other tool", "other arguments", "same call, other result"
_COUNTED = {
    _TOOL: "with another tool",
    _ARGUMENTS: "with other arguments",
    _RESULT: "with another result",
}

_Calls = Sequence[CallRecord]
_Both = tuple[CallRecord | None, CallRecord | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A call of one episode beside one of the other, or beside none."""

    place: int
    """Among the pairs."""
    left: CallRecord | None
    right: CallRecord | None
    kind: str
    """For the style: ``same``, ``other`` or ``alone``."""
    words: str
    """What differs."""

    @property
    def numbers(self) -> str:
        """Name the call, or both where they have other numbers."""
        found = [str(call.n) for call in (self.left, self.right) if call is not None]
        return " beside ".join(dict.fromkeys(found))


class Difference(NamedTuple):
    """The pairs that differ in the same way."""

    words: str
    """As they stand behind a number of calls."""
    pairs: Sequence[Pair]


def are_aligned(left: _Calls, right: _Calls) -> bool:
    """Tell whether calls are put together by what they are, and not by their places alone."""
    return max(len(left), len(right)) <= MAX_ALIGNED


def pairs_of(left: _Calls, right: _Calls) -> list[Pair]:
    """Put the calls of both beside one another, in their order, and say in words what differs.

    As many as can be stand beside a call of the same tool with the same arguments; of those between, as
    many as can be beside one of the same tool; the others by their places. So do all where a side has
    more than ``MAX_ALIGNED`` calls.
    """
    keys = (_call_of, _tool_of) if are_aligned(left, right) else ()
    return [
        Pair(place=place, left=one, right=other, kind=kind, words=words)
        for place, (one, other) in enumerate(_aligned(left, right, keys))
        for kind, words in (_difference(one, other),)
    ]


def differences_in(pairs: Sequence[Pair]) -> list[Difference]:
    """Group the pairs that differ by how they do, in the order in which that comes first."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.kind != "same":
            found.setdefault(pair.words, []).append(pair)
    return [Difference(_COUNTED.get(words, words), alike) for words, alike in found.items()]


def _tool_of(call: CallRecord) -> str:
    return call.tool or call.shown


def _call_of(call: CallRecord) -> Hashable:
    return _tool_of(call), canonical_json(call.arguments)


def _aligned(
    left: _Calls, right: _Calls, keys: Sequence[Callable[[CallRecord], Hashable]]
) -> Iterator[_Both]:
    """Align by the first key, and what lies between by the next ones."""
    if not keys or not left or not right:
        yield from zip_longest(left, right)
        return
    key, *rest = keys
    i = j = 0
    for m, n in _common(list(map(key, left)), list(map(key, right))):
        yield from _aligned(left[i:m], right[j:n], rest)
        yield left[m], right[n]
        i, j = m + 1, n + 1
    yield from _aligned(left[i:], right[j:], rest)


def _common(left: Sequence[Hashable], right: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Find a longest common subsequence; the places of its members on both sides."""
    numbers: dict[Hashable, int] = {}
    ours, theirs = (
        [numbers.setdefault(key, len(numbers)) for key in side] for side in (left, right)
    )
    # lengths[i][j]: of a longest one of ours[i:] and theirs[j:]
    lengths = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in range(len(ours) - 1, -1, -1):
        row, below, wanted = lengths[i], lengths[i + 1], ours[i]
        for j in range(len(theirs) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if theirs[j] == wanted else max(below[j], row[j + 1])
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if ours[i] == theirs[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1


def _difference(one: CallRecord | None, other: CallRecord | None) -> tuple[str, str]:
    if one is None or other is None:
        return "alone", "only on the right" if one is None else "only on the left"
    if _tool_of(one) != _tool_of(other):
        return "other", _TOOL
    if _call_of(one) != _call_of(other):
        return "other", _ARGUMENTS
    if one.result is None or other.result is None:
        return "same", "same call"
    if one.result == other.result:
        return "same", "same call, same result"
    return "other", _RESULT
