"""Days and moments: how far apart they are, what comes after them, and what they are called elsewhere.

Moments are those of the caller or of the session's clock; time zones are those of the IANA database.
"""

import re
from calendar import isleap, monthrange
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    Moment,
    Operand,
    computation,
    integer,
    number,
    option,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS", "business_days", "moment_of"]

_FORMS: Final = (
    "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%d.%m.%Y",
    "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M",
)  # fmt: skip
"""Besides ISO 8601: those in which day and month cannot be taken for each other."""
_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?:\s*([AaPp])\.?[Mm]\.?)?")
_MAX_SPAN: Final = 4_000_000
"""Days that are added or counted."""


def moment_of(written: str) -> datetime:
    """A date or a date and time, in ISO 8601 or another form that can be read in one way alone.

    Raises:
        UnfitError: It is none.
    """
    plain = written.strip()
    try:
        return datetime.fromisoformat(plain)
    except ValueError:
        pass
    for form in _FORMS:
        try:
            return datetime.strptime(plain, form)  # noqa: DTZ007 - a date without a zone stays one
        except ValueError:
            continue
    raise UnfitError(f"Invalid date: {written[:40]!r}; use the form YYYY-MM-DD")


@lru_cache(1024)
def zone_of(name: str) -> tzinfo:
    """A time zone by its IANA name or its offset from UTC.

    Raises:
        UnfitError: There is none of this name.
    """
    offset = _OFFSET.fullmatch(name.strip())
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes <= 14 * 60:
            return (
                datetime.strptime(f"{offset[1]}{minutes // 60:02}{minutes % 60:02}", "%z").tzinfo
                or UTC
            )
    try:
        return ZoneInfo(name.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UnfitError(f"Invalid time zone: {name[:60]}") from None


def _apart(start: str, end: str) -> JsonObject:
    first, last = moment_of(start), moment_of(end)
    if (first.tzinfo is None) != (last.tzinfo is None):
        first, last = (m if m.tzinfo else m.replace(tzinfo=UTC) for m in (first, last))
    span = last - first
    told: JsonObject = {
        "result": span.days if span.seconds == 0 else int(span / timedelta(days=1)),
        "unit": "days",
    }
    return {**told, "weeks": span / timedelta(weeks=1), "hours": span / timedelta(hours=1)}


def _days_apart(start: str, end: str, unit: str) -> JsonValue:
    told = _apart(start, end)
    kind = unit.lower().rstrip("s")
    if kind in ("hour", "week"):
        return {"result": told[f"{kind}s"], "unit": f"{kind}s"}
    if kind in ("minute", "second"):
        hours = told["hours"]
        assert isinstance(hours, float)  # noqa: S101 - as made above
        return {"result": round(hours * (60 if kind == "minute" else 3600), 6), "unit": f"{kind}s"}
    if kind in ("month", "year"):
        months = _months_between(moment_of(start), moment_of(end))
        return {"result": months if kind == "month" else int(months / 12), "unit": f"{kind}s"}
    if kind != "day":
        raise UnfitError(f"Invalid unit of time: {unit[:40]}")
    return told


def _months_between(first: datetime, last: datetime) -> int:
    """Whole months; towards zero."""
    if last.replace(tzinfo=None) < first.replace(tzinfo=None):
        return -_months_between(last, first)
    months = (last.year - first.year) * 12 + last.month - first.month
    return months - ((last.day, last.time()) < (first.day, first.time()))


def _written(moment: datetime, like: str) -> str:
    """A moment with a time only where it was given with one."""
    has_time = moment.time() != datetime.min.time() or "T" in like or ":" in like
    return moment.isoformat() if has_time else moment.date().isoformat()


def later(start: str, amount: int, unit: str) -> str:
    """A date so many units later; of a month that is too short, its last day.

    Raises:
        UnfitError: The unit has another name, or the date is out of range.
    """
    moment, kind = moment_of(start), unit.lower().rstrip("s")
    if abs(amount) > _MAX_SPAN * 86400:
        raise UnfitError(f"{amount} {unit} is too much to add")
    try:
        if kind in ("month", "year"):
            return _written(_months_later(moment, amount * (12 if kind == "year" else 1)), start)
        if kind not in ("second", "minute", "hour", "day", "week"):
            raise UnfitError(f"Invalid unit of time: {unit[:40]}")
        return _written(moment + timedelta(**{f"{kind}s": amount}), start)
    except (OverflowError, ValueError):
        raise UnfitError("The date is out of range") from None


def _months_later(moment: datetime, months: int) -> datetime:
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return moment.replace(
        year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1])
    )


def _earlier(start: str, amount: int, unit: str) -> str:
    return later(start, -amount, unit)


def _weekday(start: str) -> JsonObject:
    moment = moment_of(start)
    return {"result": f"{moment:%A}", "iso_weekday": moment.isoweekday()}


def _leap(year: int) -> bool:
    if not 1 <= year <= 9999:
        raise UnfitError("The year must be between 1 and 9999")
    return isleap(year)


def _days_of_month(year: int, month: int) -> int:
    if not 1 <= month <= 12 or not 1 <= year <= 9999:
        raise UnfitError("The month must be between 1 and 12")
    return monthrange(year, month)[1]


def _age(birth: str, at: str | None, moment: Moment) -> JsonObject:
    born = moment_of(birth).replace(tzinfo=None)
    now = datetime.fromtimestamp(moment.now, UTC) if at is None else moment_of(at)
    now = now.replace(tzinfo=None)
    if born > now:
        raise UnfitError("The birth date lies in the future")
    months = _months_between(born, now)
    return {"age": months // 12, "years": months // 12, "months": months % 12}


def business_days(start: str, end: str) -> int:
    """Mondays to Fridays from one day to another, both included."""
    first, last = moment_of(start).date(), moment_of(end).date()
    if last < first:
        raise UnfitError("The end date lies before the start date")
    days = (last - first).days + 1
    weeks, rest = divmod(days, 7)
    return weeks * 5 + sum((first.weekday() + at) % 7 < 5 for at in range(rest))


def _business_days_later(start: str, amount: int) -> str:
    day = moment_of(start).date()
    if abs(amount) > 10_000:
        raise UnfitError("At most 10000 business days can be added")
    step = timedelta(days=1 if amount > 0 else -1)
    left = abs(amount)
    try:
        while left:
            day += step
            left -= day.weekday() < 5
    except OverflowError:
        raise UnfitError("The date is out of range") from None
    return day.isoformat()


def _described(moment: datetime, name: str) -> JsonObject:
    saving = moment.dst()
    return {
        "timezone": name,
        "datetime": moment.isoformat(timespec="seconds"),
        "is_dst": bool(saving),
        "day_of_week": f"{moment:%A}",
    }


def _now(zone: str, moment: Moment) -> JsonObject:
    return _described(datetime.fromtimestamp(moment.now, zone_of(zone)), zone)


def _today(zone: str, moment: Moment) -> JsonObject:
    now = datetime.fromtimestamp(moment.now, zone_of(zone))
    return {"date": now.date().isoformat(), "day_of_week": f"{now:%A}", "timezone": zone}


def _elsewhere(time: str, source: str, target: str, moment: Moment) -> JsonObject:
    """A moment of one zone by the clocks of another; a time alone is of the session's day."""
    here, there = zone_of(source), zone_of(target)
    clock = _CLOCK.fullmatch(time.strip())
    if clock is None:
        asked = moment_of(time)
    else:
        hour = int(clock[1])
        if clock[4]:
            hour = hour % 12 + (12 if clock[4].lower() == "p" else 0)
        today = datetime.fromtimestamp(moment.now, here)
        asked = today.replace(
            hour=hour, minute=int(clock[2]), second=int(clock[3] or 0), tzinfo=None
        )
    asked = asked.replace(tzinfo=here) if asked.tzinfo is None else asked.astimezone(here)
    try:
        found = asked.astimezone(there)
    except OverflowError:
        raise UnfitError("The date is out of range") from None
    offsets = (m.utcoffset() or timedelta() for m in (found, asked))
    hours = (next(offsets) - next(offsets)) / timedelta(hours=1)
    return {
        "source": _described(asked, source),
        "target": _described(found, target),
        "time_difference": f"{hours:+g}h",
    }


def _from_unix(timestamp: float, zone: str) -> JsonObject:
    seconds = timestamp / 1000 if abs(timestamp) > 1e11 else timestamp
    try:
        found = datetime.fromtimestamp(seconds, zone_of(zone))
    except (OverflowError, ValueError, OSError):
        raise UnfitError(f"Invalid timestamp: {timestamp}") from None
    return {"result": found.isoformat(), "timezone": zone}


def _to_unix(moment: str, zone: str) -> int:
    found = moment_of(moment)
    found = found if found.tzinfo else found.replace(tzinfo=zone_of(zone))
    return int((found - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1))


def _unix_now(form: str, moment: Moment) -> int:
    return moment.now * (1000 if form == "milliseconds" else 1)


_DATE: Final = "date date_string date_str day datetime value d input start_date from_date base_date"
_START: Final = "start_date start date1 from_date from start_time begin_date first_date date_from begin datetime1 date_1"
_END: Final = (
    "end_date end date2 to_date to end_time finish_date second_date date_to finish datetime2 date_2"
)
_ZONE: Final = "timezone tz time_zone zone timezone_name tz_name"


def _zone(default: object = "UTC") -> Operand:
    return text("zone", _ZONE, default=default)


def _span(name: str, unit: str) -> Operand:
    return integer(
        "amount",
        f"{name} {unit} number_of_{unit} num_{unit} count amount n value number offset {unit}_to_add",
    )


def _in_units(run: Callable[..., str], word: str) -> list[Computation]:
    """``add_days(date, days)`` and its likes: the unit stands in the name."""
    made: list[Computation] = []
    for unit in ("days", "weeks", "months", "years", "hours", "minutes"):
        name = unit

        def moved(start: str, amount: int, unit: str = name) -> str:
            return run(start, amount, unit)

        phrases = f"{word} {unit}, date {word} {unit}"
        made.append(
            computation(phrases, moved, text("start", _DATE), _span("", unit), beside="date")
        )
    return made


_PAIR: Final = (text("start", _START), text("end", _END))
_UNIT: Final = option(
    "unit", "units output_unit", "days", "hour=hours day=days week=weeks minute=minutes"
)
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("business day, working day, workday, weekday", business_days, *_PAIR, beside="between count"),
    computation("add business day, add working day", _business_days_later, text("start", _DATE), _span("", "days"), beside="date"),
    computation("day between, date difference, date diff, difference date, datediff, time between, time difference, difference between date, duration between date, date between",
                _days_apart, *_PAIR, _UNIT, beside="date count day between difference"),
    *_in_units(later, "add"),
    *_in_units(_earlier, "subtract"),
    computation("add date, date add, add time, add duration", later, text("start", _DATE), integer("amount", "value number n count"),
                text("unit", "units period")),
    computation("add date, date add, add day", later, text("start", _DATE), integer("amount", "days number_of_days n"), option("unit", "units", "days")),
    computation("subtract date, date subtract", _earlier, text("start", _DATE), integer("amount", "days value number n count"), option("unit", "units period", "days")),
    computation("day of week, weekday, day week, dayofweek", _weekday, text("start", _DATE), beside="date name"),
    computation("leap year, leap", _leap, integer("year", "y"), beside="year"),
    computation("day month, day in month", _days_of_month, integer("year", "y"), integer("month", "m"), beside="in"),
    computation("age", _age, text("birth", "birth_date birthdate date_of_birth dob birthday birth_day"), text("at", "reference_date as_of on_date target_date current_date", default=None),
                is_of_session=True),
    computation("convert time, convert timezone, timezone convert, time convert, timezone conversion, convert time zone, timezone converter, time zone converter, time zone convert", _elsewhere,
                text("time", "datetime date_time time_string timestamp date time_str"), text("source", "source_timezone from_timezone from_tz source_tz from timezone_from from_zone source_time_zone from_time_zone"),
                text("target", "target_timezone to_timezone to_tz target_tz to timezone_to to_zone target_time_zone to_time_zone"),
                beside="between datetime zone", is_of_session=True),
    computation("current time, current datetime, now, current date time, time, datetime, system time, local time", _now, _zone(), is_of_session=True, beside="current zone utc"),
    computation("current date, today, today date", _today, _zone(), is_of_session=True, beside="date"),
    computation("current timestamp, unix timestamp, timestamp, current unix timestamp, unix time", _unix_now,
                option("form", "", "seconds", "millisecond=milliseconds ms=milliseconds"), is_of_session=True, beside="current unix epoch"),
    computation("timestamp date, unix date, timestamp datetime, convert timestamp, unix timestamp date, timestamp converter, format timestamp, parse timestamp", _from_unix,
                number("timestamp", "unix_timestamp unix_time ts epoch unix value seconds"), _zone(), beside="unix convert epoch human readable"),
    computation("date timestamp, date unix, datetime timestamp, date unix timestamp, convert timestamp, datetime unix", _to_unix,
                text("moment", "date datetime date_string datetime_string date_time"), _zone(), beside="unix convert epoch"),
)  # fmt: skip
