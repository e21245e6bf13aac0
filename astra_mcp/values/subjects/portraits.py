"""One thing as it is told of: a real one where the tables have it, and members that fit each other.

A portrait is decided once, by its dice and by what is asked for; then each member is what it says,
whichever tool asks, and in whatever order: the highest price is not below the lowest, what ends does so
after it began, and a city lies where it lies.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, cast

from astra_mcp.types import JsonValue
from astra_mcp.values.nouns import singular
from astra_mcp.values.patterns import matching_text
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.subjects.finding import LISTS, Found, Row, Subject
from astra_mcp.values.vocabulary import Meaning, Numbers, meaning_of

__all__ = ["Portrait", "drawn", "portrait_of"]

_SHOWN: Final = ("name", "title", "subject", "text", "label", "headline", "description")
"""Columns, in this order, that a thing is called by."""
_CALLED: Final = frozenset(("name", "title", "label", "headline", "subject", "display_name"))
_NAMING: Final = _CALLED | {*_SHOWN, "message", "content", "comment"}
"""Members by which one thing is told from its like."""
_TELLING: Final = frozenset(("sentence", "paragraph"))
_QUOTED: Final = frozenset(("stock", "coin"))
"""Subjects whose prices move within a day."""
_PRICES: Final[Mapping[str, float]] = {
    "price": 0.0, "current_price": 0.0, "last_price": 0.0, "close": 0.0, "last": 0.0, "mark_price": 0.0,
    "index_price": 0.0, "price_usd": 0.0, "usd": 0.0, "value_usd": 0.0, "regular_market_price": 0.0,
    "bid": -0.0004, "ask": 0.0004, "best_bid": -0.0004, "best_ask": 0.0004, "vwap": -0.001,
}  # fmt: skip
"""How far from the price a member is, as a share of it."""
_OPENS: Final = frozenset(("open", "open_price", "previous_close", "prev_close", "entry_price"))
_HIGHS: Final = frozenset(("high", "day_high", "high_price", "high_24h", "max_price"))
_LOWS: Final = frozenset(("low", "day_low", "low_price", "low_24h", "min_price"))
_CHANGES: Final = frozenset(("change", "price_change", "change_24h", "price_change_24h"))
_PERCENTS: Final = frozenset(
    (
        "change_percent", "change_percent_24h", "price_change_percent", "price_change_percentage_24h",
        "percent_change", "percent_change_24h", "change_percentage", "price_change_percentage",
    )
)  # fmt: skip
_WARMTH: Final[Mapping[str, int]] = {
    "temperature": 0, "temp": 0, "current_temperature": 0, "temperature_c": 0, "feels_like": -1,
    "apparent_temperature": -1, "temp_max": 4, "max_temp": 4, "high": 4, "temperature_max": 4,
    "max_temperature": 4, "temp_min": -5, "min_temp": -5, "low": -5, "temperature_min": -5,
    "min_temperature": -5, "dew_point": -7,
}  # fmt: skip
_SEVERAL: Final = 4
"""So many values, less those that are drawn twice, a member has that is a list."""
_FEW: Final = 3
"""So many things make a list."""
_NEAR: Final = 0.6
"""Degrees, of latitude and longitude together."""
_IMPERIAL: Final = frozenset(("imperial", "fahrenheit", "f", "us", "°f"))


@dataclass(frozen=True, slots=True)
class Portrait:
    """One thing of a subject."""

    subject: Subject
    row: Row | None
    """What is known of it; None for one that the tables do not have."""
    dice: RandomStream
    """Decide the rest."""
    is_thing: bool = True
    """It is one of the things of the subject, not only something that has to do with them."""
    has_states: bool = True
    """The states of the subject are its own; its categories are those of its things alone."""
    is_imperial: bool = False
    turn: int | None = None
    """Its place among its like, so that no two of them are called the same; None where it has none."""

    def member(self, key: str) -> Iterator[JsonValue]:
        """What a member is, if the subject says it.

        Args:
            key: Its name in normal form.
        """
        ways = (self._related, self._known, self._suggested)
        for way in ways if self.is_thing else (self._related, self._suggested, self._known):
            for value in way(key):
                yield value
                return

    @property
    def is_quoted(self) -> bool:
        """It has a price that moves within a day."""
        return self.subject.name in _QUOTED and self.row is not None

    def lacks(self, key: str) -> bool:
        """Say whether only the tables could say what a member is, and they do not have the thing."""
        subject = self.subject
        if self.row is not None or key not in subject.columns:
            return False
        return key not in subject.lists and key not in subject.numbers and key not in subject.live

    def neighbour(self, at: int) -> "Portrait":
        """Another thing of the subject, such as the next one of a list."""
        rows, dice = self.subject.rows, self.dice.at("neighbour", at)
        start = dice.at("row").below(len(rows)) if self.row is None and rows else 0
        if self.row is not None:
            start = next((n for n, row in enumerate(rows) if row is self.row), 0)
        row = rows[(start + at) % len(rows)] if rows and self.row is not None else None
        return replace(self, row=row, dice=dice, turn=at)

    def called(self) -> str | None:
        """What people call it."""
        row = (self.row or {}) if self.is_thing else {}
        columns = (*_SHOWN, *self.subject.columns[: len(self.subject.known_by) and 1])
        found = (row[key] for key in columns if isinstance(row.get(key), str))
        return cast("str | None", next(found, None))

    def told(self) -> str | None:
        """A sentence on it; None where nothing is known."""
        if self.row is None or not self.is_thing or not self.subject.about:
            return None
        words = {key: _written(value) for key, value in self.row.items()}
        fitting = [each for each in self.subject.about if _names(each) <= words.keys()]
        return self.dice.at("about").choose(fitting).format_map(words) if fitting else None

    def _known(self, key: str) -> Iterator[JsonValue]:
        if self.row is None or (not self.is_thing and not self._is_own(key)):
            return
        if not self.is_thing and key in (*_SHOWN, "id"):
            return
        column = _column(self.subject, key)
        if column is not None and self.row[column] is not None:
            value = self.row[column]
            is_live = column in self.subject.live and isinstance(value, int | float)
            yield self._moved(cast("float", value)) if is_live else value
        elif key in _CALLED:
            called = self.called()
            if called is not None:
                yield called

    def _is_own(self, key: str) -> bool:
        """Say whether a column of the things is told of what has to do with them, too."""
        return self.has_states and key in self.subject.columns

    def _suggested(self, key: str) -> Iterator[JsonValue]:
        way = _way(self.subject, key)
        if way.numbers is not None:
            yield drawn(way.numbers, self.dice.at("member", key))
        elif way.form is not None:
            yield matching_text(way.form, self.dice.at("member", key))
        elif way.values and key in LISTS:
            place = self.dice.at("member", key)
            yield [*dict.fromkeys(place.at(each).choose(way.values) for each in range(_SEVERAL))]
        elif way.values and key in _NAMING and self.turn is not None:
            yield way.values[self.turn % len(way.values)]
        elif way.values:
            yield self.dice.at("member", key).choose(way.values)
        elif way.word:
            yield from self._said(way.word, self.dice.at("member", key))

    def _said(self, word: str, place: RandomStream) -> Iterator[JsonValue]:
        """A text by what it is."""
        states = self.subject.statuses if word == "status" and self.has_states else ()
        if word == "category" and self.is_thing:
            states = self.subject.categories
        if states:
            yield place.choose(states)
        told = self.told() if word in _TELLING else None
        if told is not None:
            yield told

    def _moved(self, value: float) -> JsonValue:
        """A number of the tables, as it stands in this session."""
        moved = value * (1 + (self.dice.at("moved").fraction() - 0.5) * 0.06)
        return round(moved) if isinstance(value, int) else _fine(moved)

    def _related(self, key: str) -> Iterator[JsonValue]:
        """A member that depends on others."""
        if self.is_quoted:
            yield from self._quoted(key)
        elif self.subject.name == "weather" and key in _WARMTH:
            yield self._warmth(_WARMTH[key])

    def _quoted(self, key: str) -> Iterator[float]:
        assert self.row is not None  # noqa: S101 - the caller looked
        price = float(cast("float", self._moved(cast("float", self.row["price"]))))
        opened = price * (1 + (self.dice.at("open").fraction() - 0.5) * 0.05)
        if key in _PRICES:
            yield _fine(price * (1 + _PRICES[key]))
        elif key in _OPENS:
            yield _fine(opened)
        elif key in _HIGHS:
            yield _fine(max(price, opened) * (1 + self.dice.at("high").fraction() * 0.02))
        elif key in _LOWS:
            yield _fine(min(price, opened) * (1 - self.dice.at("low").fraction() * 0.02))
        elif key in _CHANGES:
            yield _fine(price - opened)
        elif key in _PERCENTS:
            yield round((price / opened - 1) * 100, 2)

    def _warmth(self, offset: int) -> float:
        """Degrees, by the latitude where it is known."""
        latitude = (self.row or {}).get("latitude")
        usual = 27 - 0.33 * abs(latitude) if isinstance(latitude, int | float) else 15.0
        celsius = usual + self.dice.at("warmth").fraction() * 9 - 5 + offset
        return round(celsius * 9 / 5 + 32 if self.is_imperial else celsius, 1)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a subject makes a member: the first of these that is there."""

    numbers: Numbers | None
    form: str | None
    values: tuple[str, ...]
    word: str
    """What kind of text it is; empty for other members."""


@lru_cache(8192)
def _way(subject: Subject, key: str) -> _Way:
    endings = _endings(key)
    numbers = next((subject.numbers[name] for name in endings if name in subject.numbers), None)
    form = next((subject.formats[name] for name in endings if name in subject.formats), None)
    names = (*endings, *_endings(singular(key)))
    values = next((subject.lists[name] for name in names if name in subject.lists), ())
    meaning, word = meaning_of(key)
    return _Way(numbers, form, values, word if meaning is Meaning.TEXT else "")


def portrait_of(
    found: Found, dice: RandomStream, asked: Mapping[str, JsonValue], turn: int | None
) -> Portrait:
    """Choose what is shown.

    Args:
        found: The subject, and whether the thing is one of it.
        dice: Decide what is not asked for.
        asked: Members that it is to have, by their names in normal form.
        turn: Its place among its like, so that neighbours differ; None where it has none.
    """
    subject = found.subject
    units = {str(v).casefold() for k, v in asked.items() if k.endswith(("unit", "units"))}
    is_imperial = not units.isdisjoint(_IMPERIAL)
    rows: Sequence[Row] | None = subject.rows
    for key, value in asked.items():
        if rows and isinstance(value, str | int | float) and not isinstance(value, bool):
            rows = _fitting(subject, rows, key, value)
    if rows and {"latitude", "longitude"} <= rows[0].keys():
        rows = _nearest(rows, asked)
    if rows is subject.rows and found.is_thing:
        rows = _hinted(subject, found.hints, is_many=turn is not None)
    has_states = bool(found.fields)
    if not rows:
        return Portrait(subject, None, dice, found.is_thing, has_states, is_imperial, turn)
    at = dice.at("row").below(len(rows)) if turn is None else turn % len(rows)
    return Portrait(subject, rows[at], dice, found.is_thing, has_states, is_imperial, turn)


@lru_cache(2048)
def _hinted(subject: Subject, hints: frozenset[str], *, is_many: bool) -> Sequence[Row]:
    """The things that the documents speak of; all where they speak of none, or of too few for a list."""
    found = [row for row in subject.rows if not hints.isdisjoint(_texts_of(row))] if hints else []
    return found if len(found) >= (_FEW if is_many else 1) else subject.rows


def _texts_of(row: Row) -> Iterator[str]:
    return (value.casefold() for value in row.values() if isinstance(value, str))


def _nearest(rows: Sequence[Row], asked: Mapping[str, JsonValue]) -> Sequence[Row] | None:
    """The one row that lies where is asked for; all where nothing is asked, None where none does."""
    wanted = [asked.get(a, asked.get(b)) for a, b in (("latitude", "lat"), ("longitude", "lon"))]
    if not all(isinstance(each, int | float) for each in wanted):
        return rows
    latitude, longitude = (float(cast("float", each)) for each in wanted)

    def far(row: Row) -> float:
        return abs(float(cast("float", row["latitude"])) - latitude) + abs(
            float(cast("float", row["longitude"])) - longitude
        )

    best = min(rows, key=far)
    return [best] if far(best) < _NEAR else None


def _fitting(
    subject: Subject, rows: Sequence[Row], key: str, value: JsonValue
) -> Sequence[Row] | None:
    """The rows that have what is asked for; None where it names a thing that they do not have."""
    column = _column(subject, key)
    of, _, last = key.rpartition("_")
    names_it = key in subject.known_by or (last in ("name", "id", "symbol") and of == subject.name)
    if column is None and not names_it:
        return rows
    wanted = _spellings(str(value))
    if names_it:
        first = re.split(r"[,/|:]", str(value).casefold())[0].strip()  # of a pair
        named = [row for row in rows if first in _names_of(row)]
        return named or [row for row in rows if not wanted.isdisjoint(_names_of(row))] or None
    assert column is not None  # noqa: S101 - decided above
    found = [row for row in rows if not wanted.isdisjoint(_spellings(_written(row[column])))]
    if found:
        return found
    return None if column in _CALLED else rows


def _names_of(row: Row) -> frozenset[str]:
    """What a thing may be asked for by."""
    texts = [each for each in [*row.values()][:4] if isinstance(each, str)]
    return frozenset(text.casefold() for text in texts)


_QUOTES: Final = re.compile(r"(?<=[a-z]{3})(usdt|usdc|busd|usd|eur|perp)$")


def _spellings(text: str) -> frozenset[str]:
    """A name as it may be written: ``Paris, France``, ``BTC/USDT`` and ``BTCUSDT`` name Paris and BTC."""
    whole = text.strip().casefold()
    parts = [part.strip() for part in re.split(r"[,/|:]|-(?=usd)", whole)]
    return frozenset((whole, *parts, _QUOTES.sub("", whole))) - {""}


@lru_cache(8192)
def _column(subject: Subject, key: str) -> str | None:
    """The column of a member, whatever stands before its name."""
    columns = subject.columns
    if key in columns:
        return key
    if key in _CALLED:
        return next((name for name in _SHOWN[:3] if name in columns), None)
    for name in _endings(key.removeprefix(f"{subject.name}_")):
        if name in columns and (name != "name" or key.startswith(subject.name)):
            return name
    return None


def _endings(key: str) -> tuple[str, ...]:
    """A name, and its last two words and its last one."""
    words = key.split("_")
    starts = dict.fromkeys((0, max(len(words) - 2, 0), len(words) - 1))
    return tuple("_".join(words[start:]) for start in starts)


def _names(template: str) -> frozenset[str]:
    return frozenset(re.findall(r"\{(\w+)\}", template))


def _written(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def drawn(size: Numbers, rng: RandomStream) -> int | float:
    """A number of a usual size."""
    exact = size.low + rng.fraction() * (size.high - size.low)
    return round(exact, size.decimals) if size.decimals else round(exact)


def _fine(value: float) -> float:
    """Round as prices are written: the smaller, the finer."""
    return round(value, 2 if abs(value) >= 1 else 6)
