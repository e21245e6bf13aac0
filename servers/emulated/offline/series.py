"""The times of what is told over time: forecasts, histories, candles; in the range and steps asked for."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import words_of
from astra_mcp.values.subjects.finding import Found
from servers.emulated.offline.finding import Call
from servers.emulated.offline.promises import Form, Promise
from servers.emulated.parameters import Role

__all__ = ["chained", "is_series", "moments_of", "steadied"]

_SERIES: Final = frozenset(("history", "historical", "series", "hourly", "daily", "aggregates"))
_CANDLES: Final = frozenset(
    ("candle", "candles", "kline", "klines", "ohlcv", "ohlc", "bars", "timeseries")
)
_MEASURED: Final = frozenset(("weather", "space", "quake"))
"""Subjects beside those with numbers of the day of which times are told."""
_VALUES: Final = frozenset(("price", "prices", "rate", "rates", "weather", "volume", "temperature"))
_AHEAD: Final = frozenset(("forecast", "forecasts", "nowcast", "upcoming"))
_STARTS: Final = frozenset(
    (
        "start_date",
        "from_date",
        "start",
        "since",
        "date_from",
        "start_time",
        "from",
        "begin_date",
        "startdate",
    )
)
_ENDS: Final = frozenset(
    ("end_date", "to_date", "end", "until", "date_to", "end_time", "to", "enddate")
)
_LENGTHS: Final = frozenset(
    ("days", "num_days", "forecast_days", "hours", "lookback_days", "day", "count", "period_days")
)
_STEPS: Final = frozenset(
    ("interval", "timeframe", "granularity", "resolution", "frequency", "step")
)
_UNITS: Final = {
    "m": timedelta(minutes=1), "min": timedelta(minutes=1), "minute": timedelta(minutes=1),
    "h": timedelta(hours=1), "hour": timedelta(hours=1), "hourly": timedelta(hours=1),
    "d": timedelta(days=1), "day": timedelta(days=1), "daily": timedelta(days=1),
    "w": timedelta(weeks=1), "week": timedelta(weeks=1), "weekly": timedelta(weeks=1),
    "wk": timedelta(weeks=1),
    "mo": timedelta(days=30), "month": timedelta(days=30), "monthly": timedelta(days=30),
}  # fmt: skip
_STEP: Final = re.compile(r"^(\d*)\s*([a-z]+?)s?$", re.IGNORECASE)
_USUAL: Final = 5
_SWING: Final = 0.25
"""Such a share of the usual range is kept from one time to another."""
_MOST: Final = 60


def is_series(call: Call, promise: Promise, found: Found | None) -> bool:
    """Say whether a tool tells of a thing over time.

    Args:
        call: To the tool.
        promise: What it is said to give.
        found: The subject of its noun: numbers that move have a history, a project has a list of changes.
    """
    if promise.form in (Form.NUMBER, Form.FLAG, Form.IMAGE):
        return False
    keys = {p.key for p in call.reading.parameters}
    is_ranged = not keys.isdisjoint(_STARTS) and not keys.isdisjoint(_ENDS)
    words = words_of(call.tool.name)
    is_told = promise.form is Form.LIST or not _VALUES.isdisjoint(words)
    is_measured = found is not None and (
        bool(found.subject.live) or found.subject.name in _MEASURED
    )
    is_named = not _AHEAD.isdisjoint(words) or not _CANDLES.isdisjoint(words)
    if found is not None and found.is_thing and not (is_measured or is_named):
        return False
    is_named |= not _SERIES.isdisjoint(words) and (is_measured or is_ranged or is_told)
    return is_named or (is_ranged and is_told)


def moments_of(call: Call, now: int) -> tuple[str, list[str]]:
    """The times to tell of, oldest first, and what they are called.

    Args:
        call: May say where they begin and end, how many there are, and how far apart.
        now: Seconds since 1970.
    """
    given = {
        p.key: call.arguments[p.name] for p in call.reading.parameters if p.name in call.arguments
    }
    words = words_of(call.tool.name)
    step = _step_of(given, words)
    today = datetime.fromtimestamp(now, UTC).replace(minute=0, second=0, microsecond=0)
    first, last = (_moment(given, keys) for keys in (_STARTS, _ENDS))
    number = _number(given, call)
    if first is None:
        is_ahead = not _AHEAD.isdisjoint(words)
        end = last or today
        first = today if is_ahead and last is None else end - step * (number - 1)
    elif last is not None:
        number = min(number if _is_counted(given, call) else _MOST, (last - first) // step + 1)
    moments = [first + step * at for at in range(max(1, min(number, _MOST)))]
    if step >= timedelta(days=1):
        return "date", [moment.date().isoformat() for moment in moments]
    return "time", [f"{moment.isoformat()[:19]}Z" for moment in moments]


def _step_of(given: dict[str, JsonValue], words: tuple[str, ...]) -> timedelta:
    """How far the times lie apart."""
    wanted = next((str(given[key]) for key in sorted(_STEPS) if given.get(key)), "")
    match = _STEP.match(wanted.strip())
    if match and match.group(2).lower() in _UNITS:
        times = min(int(match.group(1)[:4] or 1), 1000)
        return _UNITS[match.group(2).lower()] * max(times, 1)
    return _UNITS["h"] if "hourly" in words or "hours" in given else _UNITS["d"]


def _number(given: dict[str, JsonValue], call: Call) -> int:
    limit = call.reading.parameter(Role.LIMIT)
    counts = [given.get(key) for key in sorted(_LENGTHS)]
    if limit is not None:
        counts.append(given.get(limit.key))
    for count in counts:
        if isinstance(count, int | float) and not isinstance(count, bool) and count >= 1:
            return int(min(count, _MOST))
        if isinstance(count, str) and count.isdigit() and int(count[:4]) >= 1:
            return min(int(count[:4]), _MOST)
    return _USUAL


def _is_counted(given: dict[str, JsonValue], call: Call) -> bool:
    limit = call.reading.parameter(Role.LIMIT)
    return limit is not None and given.get(limit.key) is not None


def _moment(given: dict[str, JsonValue], keys: frozenset[str]) -> datetime | None:
    """A time that is asked for, written as a date or counted in seconds or milliseconds."""
    for key in sorted(keys & given.keys()):
        value = given[key]
        try:
            if isinstance(value, str) and not value.isdigit():
                read = datetime.fromisoformat(value)
                return read if read.tzinfo else read.replace(tzinfo=UTC)
            seconds = float(str(value))
            return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)
        except (ValueError, OverflowError, OSError):  # a day in words: the usual ones are told
            continue
    return None


def steadied(rows: list[JsonObject]) -> None:
    """Let numbers stay near those of the first row: what is told of one thing does not leap about."""
    for row in rows[1:]:
        for name, value in row.items():
            first = rows[0].get(name)
            if type(value) is float and isinstance(first, int | float):
                row[name] = round(first + (value - first) * _SWING, 4 if abs(value) < 1 else 2)
            elif type(value) is int and type(first) is int:
                row[name] = round(first + (value - first) * _SWING)


def chained(rows: list[JsonObject]) -> None:
    """Let each row of prices open where the one before it closed."""
    for before, row in pairwise(rows):
        close = before.get("close")
        if not isinstance(close, int | float) or not isinstance(row.get("open"), int | float):
            continue
        row["open"] = close
        for name, choose in (("high", max), ("low", min)):
            bound = row.get(name)
            if isinstance(bound, int | float):
                row[name] = choose(bound, close)
