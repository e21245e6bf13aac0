"""Texts and numbers that a schema takes: what the name of the field suggests, bent until it fits."""

import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, cast
from uuid import UUID

import jsonschema_rs

from astra_mcp.schemas import compile_validator
from astra_mcp.types import JsonValue
from astra_mcp.values.merging import Schema, kinds_of, same
from astra_mcp.values.nouns import key_of
from astra_mcp.values.patterns import PatternError, matching_text
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.vocabulary import Meaning, Numbers, meaning_of, numbers_of, usual_values
from astra_mcp.values.wording import Wording

__all__ = [
    "NoValueError",
    "TooLargeError",
    "UnmetError",
    "make_id",
    "make_number",
    "make_text",
    "takes",
]

_ID_NUMBERS: Final = Numbers(10_000, 9_999_999, 0)
_ANY_NUMBERS: Final = Numbers(1, 400, 0)
_DRAWS: Final = 8
_MAX_TIMES: Final = 256
_MAX_LENGTH: Final = 100_000
_DISTINCT: Final = 1024
_ENDINGS: Final = frozenset(("id", "ids", "uuid", "guid", "uid", "key", "identifier"))


class NoValueError(ValueError):
    """No value was found that a schema takes."""


class UnmetError(Exception):
    """No value is found that a schema takes."""


class TooLargeError(UnmetError):
    """Values of a schema have more parts than are made; so it is at each attempt."""


def make_text(schema: Schema, rng: RandomStream, wording: Wording, *, key: str, noun: str) -> str:
    """Write a text that a schema takes.

    Args:
        schema: Of type string, without references and alternatives.
        rng: Decide it.
        wording: Has the words.
        key: The field's name in normal form.
        noun: What the field belongs to.

    Raises:
        UnmetError: Its pattern and its length cannot be met.
    """
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        return _matching(pattern, schema, rng)
    form = schema.get("format")
    if isinstance(form, str) and form in _FORMATS:
        return _FORMATS[form](wording, rng)
    return _sized(_suggested(key, noun, rng, wording), schema, rng, wording)


def _suggested(key: str, noun: str, rng: RandomStream, wording: Wording) -> str:
    meaning, name = meaning_of(key)
    match meaning:
        case Meaning.TEXT:
            return wording.text(name, rng, noun)
        case Meaning.NUMBER:
            size = numbers_of(name)
            exact = size.low + rng.fraction() * (size.high - size.low)
            return str(_rounded(exact, size.decimals))
        case Meaning.FLAG:
            return name
        case Meaning.ID:
            return make_id(_owner(key) or noun, rng)
        case Meaning.UNKNOWN:
            values = usual_values(key)
            return rng.choose(values) if values else wording.plain(rng)


def _owner(key: str) -> str:
    """What an identifier names: ``parent_task_id`` a ``parent_task``."""
    words = key.split("_")
    return "_".join(words[:-1]) if words[-1] in _ENDINGS else ""


def make_id(noun: str, rng: RandomStream) -> str:
    """An identifier in the style that is always that of the noun."""
    head = noun.rpartition("_")[2]
    match RandomStream.of_seed(0).at("style of ids", noun).below(5):
        case 0:
            return _uuid(rng)
        case 1:
            return rng.digits(24)
        case _ if head.isascii() and 1 < len(head) <= 12:
            return f"{head}_{rng.digits(8)}"
        case _:
            return rng.digits(12)


def _uuid(rng: RandomStream) -> str:
    return str(UUID(int=rng.number << 64 | rng.at(1).number, version=4))


def _matching(pattern: str, schema: Schema, rng: RandomStream) -> str:
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength", math.inf)
    freely = [None] * _DRAWS
    by_length = range(min(least, _MAX_TIMES), max(least - _MAX_TIMES, -1), -1)
    try:
        for draw, times in enumerate((*freely, *by_length)):
            text = matching_text(pattern, rng.at("pattern", draw), times=times)
            if least <= len(text) <= most:
                return text
    except PatternError as error:
        raise UnmetError(f"pattern {pattern!r}: {error}") from None
    raise UnmetError(f"pattern {pattern!r} with {least} to {most} characters")


def _sized(text: str, schema: Schema, rng: RandomStream, wording: Wording) -> str:
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    if least > _MAX_LENGTH:
        raise UnmetError(f"a text of at least {least} characters")
    at = 0
    while len(text) < least:
        text += f" {wording.sentence(rng.at('more', at))}"
        at += 1
    if most is not None and len(text) > most:
        text = text[: int(most)]
        text = text.rstrip() if len(text.rstrip()) >= least else text
    return text


def make_number(schema: Schema, rng: RandomStream, *, key: str, is_integer: bool) -> int | float:
    """Choose a number that a schema takes; of the size that the field's name suggests where it may be.

    Raises:
        UnmetError: There is none between its bounds.
    """
    size = _size(key)
    try:
        low, high = _span(*_bounds(schema), size)
        step = schema.get("multipleOf", 1 if is_integer else None)
        if is_integer and step is not None and float(step) != int(step):
            step = _whole_step(float(step))
        if step is not None:
            return _stepped(low, high, step, rng)
        return _between(schema, low, high, size, rng)
    except OverflowError:
        raise UnmetError("its bounds or its step are beyond what is counted with") from None


def _size(key: str) -> Numbers:
    meaning, name = meaning_of(key)
    if meaning is Meaning.NUMBER:
        return numbers_of(name)
    return _ID_NUMBERS if meaning is Meaning.ID else _ANY_NUMBERS


def _bounds(schema: Schema) -> tuple[float, float]:
    """Least and greatest, excluded ones included."""
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
    if low == schema.get("exclusiveMinimum"):
        low = math.nextafter(low, math.inf)
    if high == schema.get("exclusiveMaximum"):
        high = math.nextafter(high, -math.inf)
    if low > high:
        raise UnmetError(f"no number between {low} and {high}")
    return low, high


def _span(low: float, high: float, size: Numbers) -> tuple[float, float]:
    """Where a number is to be: within the bounds, and of the usual size where they leave that."""
    usual_low, usual_high = max(low, size.low), min(high, size.high)
    if usual_low <= usual_high:
        return usual_low, usual_high
    room = max(1.0, size.high - size.low)
    if math.isinf(low):
        return max(-1.7e308, high - room), high
    return low, min(high, max(low + room, low))


def _stepped(low: float, high: float, step: float, rng: RandomStream) -> int | float:
    first, last = math.ceil(low / step), math.floor(high / step)
    if first > last:
        raise UnmetError(f"no multiple of {step} between {low} and {high}")
    number = rng.between(first, last) * step
    return int(number) if float(step).is_integer() else round(number, 10)


def _whole_step(step: float) -> int:
    """The least whole number that is a multiple of a step."""
    for times in range(1, 1000):
        if (times * step).is_integer():
            return int(times * step)
    raise UnmetError(f"no whole multiple of {step}")


def _between(
    schema: Schema, low: float, high: float, size: Numbers, rng: RandomStream
) -> int | float:
    exact = low + rng.fraction() * (high - low)
    for decimals in range(size.decimals, 16):
        number = _rounded(exact, decimals)
        if low <= number <= high:
            return number
    return exact if takes(schema, exact) else low


def _rounded(exact: float, decimals: int) -> int | float:
    return round(exact, decimals) if decimals else round(exact)


_FORMATS: Final[Mapping[str, Callable[[Wording, RandomStream], str]]] = {
    "date": lambda w, rng: w.text("date", rng),
    "date-time": lambda w, rng: w.text("datetime", rng),
    "time": lambda w, rng: w.text("datetime", rng)[11:],
    "duration": lambda _, rng: f"PT{rng.between(5, 90)}M",
    **dict.fromkeys(("email", "idn-email"), lambda w, rng: w.text("email", rng)),
    **dict.fromkeys(("hostname", "idn-hostname"), lambda w, rng: w.text("domain", rng)),
    "ipv4": lambda w, rng: w.text("ip", rng),
    "ipv6": lambda _, rng: f"fd{rng.digits(2)}:" + ":".join(rng.at(i).digits(4) for i in range(7)),
    **dict.fromkeys(
        ("uri", "uri-reference", "iri", "iri-reference", "url"), lambda w, rng: w.text("url", rng)
    ),
    "uri-template": lambda w, rng: w.text("url", rng) + "/{id}",
    "uuid": lambda _, rng: _uuid(rng),
    "json-pointer": lambda w, rng: f"/{w.text('tag', rng)}/{rng.below(9)}",
    "relative-json-pointer": lambda w, rng: f"{rng.below(3)}/{key_of(w.text('tag', rng))}",
    "regex": lambda w, rng: f"^{w.text('slug', rng)}$",
    "byte": lambda w, rng: b64encode(w.phrase(rng).encode()).decode(),
}


def takes(schema: Schema, value: JsonValue) -> bool:
    """Say whether the keywords of a flat schema take a text, a number, a flag or null."""
    members: Any = schema.get("enum")
    if isinstance(members, list) and not any(same(value, m) for m in cast("list[Any]", members)):
        return False
    if "const" in schema and not same(value, schema["const"]):
        return False
    if schema.get("type") is not None and _kind(value).isdisjoint(kinds_of(schema)):
        return False
    if isinstance(value, str):
        return _takes_text(schema, value)
    return isinstance(value, bool | None) or _takes_number(schema, cast("float", value))


_KINDS: Final[Mapping[type, frozenset[str]]] = {
    type(None): frozenset(("null",)),
    bool: frozenset(("boolean",)),
    int: frozenset(("integer", "number")),
    float: frozenset(("number",)),
    str: frozenset(("string",)),
    list: frozenset(("array",)),
    dict: frozenset(("object",)),
}


def _kind(value: JsonValue) -> frozenset[str]:
    is_whole = isinstance(value, float) and value.is_integer()
    return _KINDS[int if is_whole else type(value)]


def _takes_text(schema: Schema, text: str) -> bool:
    if not schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", math.inf):
        return False
    checks = ((word, schema.get(word)) for word in ("pattern", "format"))
    return all(_is_so(word, value, text) for word, value in checks if isinstance(value, str))


def _is_so(keyword: str, value: str, text: str) -> bool:
    """Say whether a text has a format or matches a pattern, by the library that decides it in the end."""
    if keyword == "format" and value not in _FORMATS:
        return True
    try:
        return _check(keyword, value).is_valid(text)
    except ValueError:  # not a schema, or a pattern beyond what can be checked
        return False


@lru_cache(_DISTINCT)
def _check(keyword: str, value: str) -> jsonschema_rs.Validator:
    return compile_validator({keyword: value})


def _takes_number(schema: Schema, number: float) -> bool:
    try:
        low, high = _bounds(schema)
        step = schema.get("multipleOf")
        return low <= number <= high and (
            step is None or math.isclose(number / step, round(number / step))
        )
    except (UnmetError, OverflowError):
        return False
