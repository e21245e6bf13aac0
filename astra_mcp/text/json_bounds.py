"""How much one JSON text may hold: how many values, how deep; decided before anything parses it.

A body within its size can still hold a million values, each of which costs every reader of it some
microseconds. They are counted here by bytes, which costs next to nothing: first an upper bound, which texts
can raise by what they hold; exactly, without the texts, where that bound is exceeded. Knows bytes alone.
"""

from itertools import accumulate
from typing import Final

__all__ = ["BATCH_VALUES", "MAX_DEPTH", "MAX_VALUES", "bounds_fault"]

MAX_VALUES: Final = 10_000
"""Objects, lists, texts, numbers, true, false and null of one body, and the names of members.

Whatever is not plain is read several times, at 3 to 4 µs for each of them, so that one body holds the event
loop for 40 ms at most. A call that people and models make holds tens.
"""
MAX_DEPTH: Final = 200
"""Levels of objects and lists. What is written again is written by orjson, which goes 254 levels deep;
arguments of a call may have 100, beyond which their answer says so in words, and lie 3 deep themselves."""
_BYTES_OF_VALUE: Final = 32
_USUAL_BYTES: Final = 64 << 10
"""Outside of texts a body has 32 bytes for each value that it may hold, and these in any case: integers of
thousands of digits are costly to read."""
BATCH_VALUES: Final = 80 * 1024
"""Of a batch of 1,024 requests. One that says all that can be said, with a dozen labels, has 75."""

_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_BLANKS: Final = b" \t\r\n"
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""One level down or, as a signed byte, up."""


def bounds_fault(body: bytes, max_values: int = MAX_VALUES) -> str | None:
    """Say which bound a body exceeds; None where it exceeds none.

    One that is no JSON is judged up to where it ceases to be any, which is as far as a parser reads.

    Args:
        body: In UTF-8.
        max_values: So many names and values it may hold.
    """
    if len(body) <= 2 * MAX_DEPTH:  # a level takes two bytes
        return None
    brackets = body.translate(None, _OTHERS)
    is_flat = len(brackets) <= 2 * MAX_DEPTH
    if len(body) <= max_values:  # each of them takes one
        if is_flat or _depth(brackets) <= MAX_DEPTH:
            return None
    elif (
        is_flat
        and len(body) <= _most_outside(max_values)
        and len(brackets) + body.count(b",") + body.count(b":") < max_values
    ):
        return None
    return _exact_fault(body, max_values)


def _exact_fault(body: bytes, max_values: int) -> str | None:
    if b"\0" in body:  # the bytes of UTF-16, in which a letter can look like a quote
        return "a body in UTF-8 is accepted, and this one is no JSON in UTF-8"
    outside = _without_texts(body, max_values)
    if outside is None or _count(outside) > max_values:
        return f"at most {max_values} names and values are accepted in one body: send less at once"
    if len(outside.translate(None, _BLANKS)) > _most_outside(max_values):
        return "the numbers of one body are too long: send fewer digits"
    if _depth(outside.translate(None, _OTHERS)) > MAX_DEPTH:
        return f"at most {MAX_DEPTH} levels of objects and lists are accepted in one body"
    return None


def _most_outside(max_values: int) -> int:
    return max(_BYTES_OF_VALUE * max_values, _USUAL_BYTES)


def _without_texts(body: bytes, max_values: int) -> bytes | None:
    """Put a 0 in the place of each text; None where there are more texts than values allow."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if body.count(b'"') > 4 * max_values:  # two of a key, two of its value
        return None
    return b"0".join(body.split(b'"')[::2])


def _count(outside: bytes) -> int:
    """Count the names and values of a body without its texts, of which the other characters tell."""
    outside = outside.translate(None, _BLANKS)
    openings = outside.count(b"[") + outside.count(b"{")
    # An object or list that is not empty holds one value more than commas.
    values = 1 + outside.count(b",") + openings - outside.count(b"[]") - outside.count(b"{}")
    return values + outside.count(b":")


def _depth(brackets: bytes) -> int:
    """The deepest level that is opened before more is closed than was opened."""
    openings = brackets.count(b"[") + brackets.count(b"{")
    steps = memoryview(brackets[: 2 * openings].translate(_STEPS)).cast("b")
    return max(accumulate(steps), default=0)
