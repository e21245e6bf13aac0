"""Other values for an argument: those that a schema or a bundle names, then generated ones.

Deterministic: equal questions have equal answers, whatever machine asks.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from difflib import SequenceMatcher
from typing import Any, cast

from astra_mcp.types import JsonValue, ToolSpec, canonical_json
from astra_mcp.values.guesses import guess_value, resolve
from astra_mcp.values.merging import kinds_of

__all__ = [
    "MAX_NEIGHBOURS",
    "Neighbours",
    "find_neighbours",
    "folded",
    "is_alike",
    "known_values",
    "property_of",
    "values_alike",
]

MAX_NEIGHBOURS = 8
_NUM_MADE_UP = 6
_ALIKE = 0.6
"""Share of equal characters above which a text may pass for another one, misspelt."""
_MAX_RANGE = 32
"""So many integers between two bounds are as good as an enumeration of them."""
_INTEGER_STEPS = (1, -1, 2, 3, -2, 7, 10, 100, -10)
_NUMBER_STEPS = (1.0, -1.0, 0.5, 10.0, -10.0, 0.01, 100.0)
_DAY_STEPS = (1, -1, 30, -30, 365, -365, 7, -7)
_GARBAGE = ("zzqx-unknown", "ZZ-99999", "Qwertzu 9981", "unbekannt-0")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Other values of one argument: up to 8, and some that nobody names."""

    known: tuple[JsonValue, ...]
    """Members of an enumeration, ``examples``, and what the bundle declares."""
    generated: tuple[JsonValue, ...]
    """Made up after the type and the shape of the value, where the known ones leave room."""
    made_up: tuple[JsonValue, ...] = ()
    """More of them, counted apart: however many are known, what does not exist is tried too."""

    def unlike(self, value: JsonValue) -> "Neighbours":
        """Leave out what was made up and may pass for a misspelling of a value."""
        generated, made_up = (
            tuple(v for v in values if not is_alike(v, value))
            for values in (self.generated, self.made_up)
        )
        return Neighbours(self.known, generated, made_up)

    def __iter__(self) -> Iterator[JsonValue]:
        return iter((*self.known, *self.generated))


def is_alike(one: JsonValue, other: JsonValue) -> bool:
    """Tell whether a text may pass for another one, misspelt."""
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio() > _ALIKE


def property_of(tool: ToolSpec, name: str) -> Mapping[str, Any]:
    """The schema of one parameter, with a local reference resolved."""
    return resolve(tool.input_schema["properties"][name], tool.input_schema)


def known_values(schema: Mapping[str, Any]) -> tuple[JsonValue, ...]:
    """Values that a schema names: members of an enumeration and examples, those of items too."""
    values: list[JsonValue] = [*schema.get("enum", ()), *schema.get("examples", ())]
    kinds = kinds_of(schema)
    if "boolean" in kinds:
        values.extend((True, False))
    values.extend(_range_of(schema))
    if values and "null" in kinds:
        values.append(None)
    items: Any = schema.get("items")
    if isinstance(items, dict):
        values.extend([v] for v in known_values(cast("dict[str, Any]", items)))
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        values.extend(known_values(branch))
    return tuple(_unique(values, ()))


def _range_of(schema: Mapping[str, Any]) -> Sequence[int]:
    """All integers between two bounds that lie close together."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("type") != "integer" or not isinstance(low, int) or not isinstance(high, int):
        return ()
    return range(low, high + 1) if 0 <= high - low < _MAX_RANGE else ()


def find_neighbours(
    schema: Mapping[str, Any],
    value: JsonValue,
    is_valid: Callable[[JsonValue], bool],
    declared: Sequence[JsonValue] = (),
) -> Neighbours:
    """Choose up to 8 valid values other than the given one: declared, named, then generated.

    Args:
        schema: The parameter's schema.
        value: The value whose neighbours are wanted.
        is_valid: Tells whether the call would be accepted with another value.
        declared: Values that the bundle names.
    """
    named_values = (*declared, *known_values(schema))
    named = _unique(named_values, (value,))
    known = tuple(itertools.islice((v for v in named if is_valid(v)), MAX_NEIGHBOURS))
    room = MAX_NEIGHBOURS - len(known)
    made = _unique(_generate(schema, value), (value, *known))
    generated = tuple(itertools.islice((v for v in made if is_valid(v)), room))
    return Neighbours(known, generated, tuple(_made_up(schema, value, is_valid, named_values)))


def _made_up(
    schema: Mapping[str, Any],
    value: JsonValue,
    is_valid: Callable[[JsonValue], bool],
    named: Sequence[JsonValue],
) -> Iterator[JsonValue]:
    """Scalars in the value's shape that nothing names; where an enumeration names all, none."""
    if isinstance(value, bool | list | dict) or value is None or schema.get("enum"):
        return
    texts = _GARBAGE if isinstance(value, str) else ()
    made = _unique((*texts, *_generate(schema, value)), (value, *named))
    yield from itertools.islice((v for v in made if is_valid(v)), _NUM_MADE_UP)


def values_alike(value: JsonValue) -> tuple[JsonValue, ...]:
    """Values that take the same form as one, whatever form that is: names stay names, multiples multiples."""
    match value:
        case bool() | list() | dict() | None:
            return ()
        case int() | float():
            return tuple(value * times for times in (2, 3, 5, 10)) if value else (1, 2, 5, 10)
        case str():
            return tuple(_turned(value, by) for by in (1, 5, 9, 13))


def _turned(text: str, by: int) -> str:
    """Each letter and digit replaced by a later one of its alphabet."""
    turned = text
    for first, count in (("a", 26), ("A", 26), ("0", 10)):
        letters = "".join(chr(ord(first) + i) for i in range(count))
        turned = turned.translate(
            str.maketrans(letters, letters[by % count :] + letters[: by % count])
        )
    return turned if turned != text else text * (by + 1)


def _unique(values: Iterable[JsonValue], taken: Iterable[JsonValue]) -> Iterator[JsonValue]:
    seen = {folded(v) for v in taken}
    for value in values:
        key = folded(value)
        if key not in seen:
            seen.add(key)
            yield value


def folded(value: JsonValue) -> bytes:
    """Equal for values that a tolerant tool may take for one: other case, surrounding space."""
    return canonical_json(value.strip().casefold() if isinstance(value, str) else value)


def _generate(schema: Mapping[str, Any], value: JsonValue) -> Iterator[JsonValue]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + step for step in _INTEGER_STEPS)
        case float():
            yield from (value + step for step in _NUMBER_STEPS)
        case str():
            yield from _other_texts(value)
        case list():
            yield from _other_lists(schema, value)
        case dict():
            yield from _other_objects(schema, value)
        case None:
            yield from known_values(schema)


def _other_texts(text: str) -> Iterator[str]:
    yield from _other_moments(text)
    for place in reversed([m.start() for m in re.finditer(r"\d", text)]):
        for step in (1, 4):
            digit = str((int(text[place]) + step) % 10)
            yield text[:place] + digit + text[place + 1 :]
    letters = [i for i, c in enumerate(text) if c.isascii() and c.isalpha()]
    for place in letters[-2:]:
        first = ord("A") if text[place].isupper() else ord("a")
        letter = chr(first + (ord(text[place]) - first + 5) % 26)
        yield text[:place] + letter + text[place + 1 :]
    yield from _GARBAGE
    yield text[::-1]
    yield text[1:]
    yield text + text[-1:]


def _other_moments(text: str) -> Iterator[str]:
    """Days around a text that is an ISO date or timestamp."""
    try:
        if len(text) == len("2026-01-05"):
            day = date.fromisoformat(text)
            yield from ((day + timedelta(days=step)).isoformat() for step in _DAY_STEPS)
        elif len(text) > len("2026-01-05"):
            moment, suffix = datetime.fromisoformat(text), ""
            if text.endswith("Z"):
                moment, suffix = moment.replace(tzinfo=None), "Z"
            for step in _DAY_STEPS:
                yield (moment + timedelta(days=step)).isoformat() + suffix
    except (ValueError, OverflowError):
        return


def _other_lists(schema: Mapping[str, Any], value: list[JsonValue]) -> Iterator[JsonValue]:
    items = cast("Mapping[str, Any]", schema.get("items") or {})
    choices = known_values(items)
    if not value:
        yield from ([item] for item in (*choices, guess_value(items)))
    for index, item in enumerate(value):
        rest = value[:index], value[index + 1 :]
        if len(value) > 1:
            yield [*rest[0], *rest[1]]
        others = _unique((*choices, *_generate(items, item)), (item,))
        yield from ([*rest[0], other, *rest[1]] for other in itertools.islice(others, 4))


def _other_objects(schema: Mapping[str, Any], value: dict[str, JsonValue]) -> Iterator[JsonValue]:
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    for name, item in value.items():
        inner = cast("Mapping[str, Any]", properties.get(name) or {})
        others = _unique((*known_values(inner), *_generate(inner, item)), (item,))
        yield from ({**value, name: other} for other in itertools.islice(others, 4))
