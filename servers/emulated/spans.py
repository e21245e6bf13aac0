"""The span of time that a list is asked for, and the times of what stands in it.

Reads ``since``, ``start_date`` and their like, as a day, a moment or seconds since 1970, and ``days`` back
from now.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from astra_mcp.types import JsonValue
from astra_mcp.values.nouns import key_of
from servers.emulated.verbs import ToolReading

__all__ = ["MOMENTS", "Span", "moment_of", "span_of", "time_key"]

_DAY: Final = 86_400
_FIRST: Final = frozenset(
    (
        "since", "after", "from", "start", "start_date", "from_date", "start_time", "date_from", "time_min",
        "from_timestamp", "begin_date", "created_after", "updated_after", "published_after", "begin",
        "start_datetime", "min_date", "after_date", "date_start",
    )
)  # fmt: skip
_LAST: Final = frozenset(
    (
        "until", "before", "to", "end", "end_date", "to_date", "end_time", "date_to", "time_max",
        "to_timestamp", "created_before", "updated_before", "published_before", "end_datetime", "max_date",
        "before_date", "date_end",
    )
)  # fmt: skip
_BACK: Final = {
    "days": _DAY,
    "days_back": _DAY,
    "last_days": _DAY,
    "hours": 3600,
    "lookback_days": _DAY,
}
_TIMES: Final = (
    "date", "start_time", "start", "timestamp", "time", "published_at", "published_date", "sent_at",
    "occurred_at", "received_at", "due_date", "created_at", "created", "updated_at",
)  # fmt: skip
"""Members, in normal form, that say when something is; the first of them counts."""
MOMENTS: Final = frozenset(_TIMES[:5])
"""Of these all that a thing has say the same."""


class Span(NamedTuple):
    """From when to when, in seconds since 1970, both included; None where it is open."""

    first: int | None
    last: int | None

    def holds(self, moment: int) -> bool:
        """Say whether a moment lies within."""
        is_late_enough = self.first is None or moment >= self.first
        return is_late_enough and (self.last is None or moment <= self.last)

    def bounds(self, now: int) -> tuple[int, int]:
        """Two moments within which things may be made up: thirty days where one end is open."""
        last = self.last if self.last is not None else max(now, (self.first or 0) + _DAY)
        first = self.first if self.first is not None else last - 30 * _DAY
        return first, max(first, last)


def span_of(reading: ToolReading, arguments: Mapping[str, JsonValue], now: int) -> Span | None:
    """Read the span that a call asks for; None where it asks for none, or in words of its own."""
    first: int | None = None
    last: int | None = None
    for parameter in reading.parameters:
        value, key = arguments.get(parameter.name), parameter.key
        if key in _BACK and isinstance(value, int | float | str) and str(value).isdigit():
            first = now - int(value) * _BACK[key]
        elif key in _FIRST:
            first = moment_of(value)
        elif key in _LAST:
            last = moment_of(value, is_end=True)
    return None if first is None and last is None else Span(first, last)


def moment_of(value: JsonValue, *, is_end: bool = False) -> int | None:
    """Seconds since 1970 of a time as APIs write it; None for other values.

    Args:
        value: A day, a moment, or seconds or milliseconds since 1970.
        is_end: A day means its last second.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    text = str(value).strip()
    try:
        is_day = re.fullmatch(r"(?:19|20)\d\d[01]\d[0-3]\d", text) is not None
        if is_day or (isinstance(value, str) and not text.replace(".", "", 1).isdigit()):
            read = datetime.fromisoformat(text)
            seconds = int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())
            return seconds + (_DAY - 1 if is_end and len(text) <= len("2025-01-01") else 0)
        number = float(text)
        number = number / 1000 if number > 1e11 else number
        return int(number) if number > 1e8 else None
    except (ValueError, OverflowError):  # a time in words: nothing is left out for it
        return None


def time_key(keys: Iterable[str]) -> str | None:
    """The member of some, in normal form, that says when something is."""
    there = {key_of(key) for key in keys}
    return next((key for key in _TIMES if key in there), None)
