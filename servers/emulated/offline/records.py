"""Answers of tools that keep nothing: what they were asked, and what such tools say beside it."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from astra_mcp.types import JsonObject, JsonValue, ToolSpec, json_fault
from astra_mcp.values.dice import Dice
from astra_mcp.values.making import Making, Spot
from astra_mcp.values.nouns import words_of
from astra_mcp.values.vocabulary import Meaning, meaning_of
from astra_mcp.values.wording import Wording
from servers.emulated.offline.selection import RefusedError
from servers.emulated.parameters import Role
from servers.emulated.verbs import ToolReading

__all__ = ["echo", "is_fact", "named_values", "outcome"]

_MAX_ECHOED: Final = 200
_MAX_TOLD: Final = 5
_READ: Final = 400
"""So much of a description is read for what the tool gives."""
_TELLING: Final = frozenset(
    (
        "temperature", "humidity", "pressure", "wind_speed", "precipitation", "price", "cost", "amount",
        "fee", "balance", "volume", "market_cap", "rating", "score", "rank", "views", "likes",
        "followers", "downloads", "subscribers", "latitude", "longitude", "elevation", "altitude",
        "distance", "duration", "speed", "probability", "confidence", "calories", "population", "title",
        "author", "summary", "category", "tags", "currency", "version", "email", "phone", "company",
        "quantity", "percentage", "rate", "width", "height", "weight", "language", "magnitude", "sentiment",
    )
)  # fmt: skip
"""Words of a description that name what an answer holds."""
_FACTS: Final = frozenset(
    (
        "info", "information", "data", "details", "status", "stats", "statistics", "price", "prices", "rate",
        "rates", "forecast", "weather", "timestamp", "time", "date", "balance", "summary", "overview",
        "history", "performance", "quote", "profile", "metadata", "version", "score", "news", "report",
        "conditions", "alerts", "dns", "location", "elevation", "definition",
    )
)  # fmt: skip
"""Names that end so tell something, if no verb says otherwise."""
_TELLING_TEXTS: Final = frozenset(("datetime", "date", "timezone", "version", "ip", "hash", "url"))
_KINDS: Final[Mapping[str, str]] = {
    word: kind
    for kind, words in {
        "text": "generate summarize translate explain analyze analyse ask chat extract parse transcribe"
        " review suggest recommend compare think evaluate answer execute run describe scrape crawl"
        " interpret predict classify rewrite refactor complete invoke eval",
        "check": "check validate verify test is has can should lint compile",
        "count": "count",
        "number": "calculate convert compute sum estimate measure multiply divide subtract add",
        "file": "download export render capture screenshot take record print",
        "sent": "send notify share invite forward reply broadcast submit",
    }.items()
    for word in words.split()
}
_SUMS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "add": lambda first, second: first + second,
    "sum": lambda first, second: first + second,
    "subtract": lambda first, second: first - second,
    "multiply": lambda first, second: first * second,
    "divide": lambda first, second: first / second,
}
_EXTRAS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "text": (("result", "content"),),
    "check": (("valid", "valid"), ("status", "")),
    "number": (("result", "amount"),),
    "count": (("result", "count"),),
    "file": (("path", "path"), ("size", "size"), ("status", "")),
    "sent": (("id", "message_id"), ("status", ""), ("sent_at", "sent_at")),
    "done": (("status", ""), ("success", "success")),
}
_STATUS: Final = {"sent": "sent", "check": "ok", "file": "completed", "done": "completed"}


def echo(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> JsonObject:
    """The arguments that say what was asked for."""
    fields = {p.name for p in reading.parameters if p.role in (Role.FIELD, Role.QUERY)}
    return {
        name: value
        for name, value in arguments.items()
        if name in fields
        and not isinstance(value, dict | list | None)
        and len(str(value)) <= _MAX_ECHOED
    }


def named_values(tool: ToolSpec, noun: str, wording: Wording, dice: Dice) -> JsonObject:
    """The values that the name and the description of a tool speak of.

    Args:
        tool: Tells of something.
        noun: What it tells of.
        wording: Has the words.
        dice: Decide the values.
    """
    making = Making({}, wording)
    return {
        key: making.value({}, Spot(dice=dice.at(key), key=key, noun=noun, depth=1))
        for key in dict.fromkeys((*_own_value(noun), *_told(tool)))
    }


def _own_value(noun: str) -> Iterator[str]:
    """``stock_price`` is a price."""
    last = noun.rpartition("_")[2]
    meaning, name = meaning_of(last)
    if meaning is Meaning.NUMBER or name in _TELLING_TEXTS:
        yield last


def _told(tool: ToolSpec) -> list[str]:
    words = words_of(tool.description[:_READ])
    pairs = [f"{first}_{second}" for first, second in pairwise(words)]
    return [word for word in dict.fromkeys((*pairs, *words)) if word in _TELLING][:_MAX_TOLD]


def is_fact(tool: ToolSpec, reading: ToolReading) -> bool:
    """Say whether a tool whose name has no verb tells of a thing, such as ``uv_forecast``."""
    words = words_of(tool.name)
    return not reading.word and _KINDS.keys().isdisjoint(words) and words[-1] in _FACTS


def outcome(
    tool: ToolSpec,
    reading: ToolReading,
    arguments: Mapping[str, JsonValue],
    wording: Wording,
    dice: Dice,
) -> JsonObject:
    """What a tool says that did something.

    Raises:
        RefusedError: It was to divide by zero.
    """
    verb = reading.word or next(iter(words_of(tool.name)), "")
    kind = next((_KINDS[w] for w in (verb, *words_of(tool.name)) if w in _KINDS), "done")
    record = echo(reading, arguments)
    making = Making({}, wording)
    for name, key in _EXTRAS[kind]:
        spot = Spot(dice=dice.at(name), key=key, noun=reading.noun or "", depth=1)
        said = making.value({}, spot) if key else reading.state or _STATUS[kind]
        record.setdefault(name, said)
    if kind == "done":
        record.setdefault("message", wording.done(" ".join(words_of(tool.name))))
    if kind == "number":
        record["result"] = _sum(verb, arguments, record["result"])
    for key in _told(tool) if kind not in ("sent", "done") else ():
        record.setdefault(key, making.value({}, Spot(dice=dice.at(key), key=key, depth=1)))
    return record


def _sum(verb: str, arguments: Mapping[str, JsonValue], otherwise: JsonValue) -> JsonValue:
    """Two numbers added, subtracted, multiplied or divided, where that is what a tool is asked for."""
    numbers = [
        v for v in arguments.values() if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    if verb not in _SUMS or len(numbers) != 2 or len(arguments) != 2:
        return otherwise
    try:
        result = _SUMS[verb](numbers[0], numbers[1])
    except ZeroDivisionError:
        raise RefusedError("Division by zero") from None
    except OverflowError:
        result = math.inf
    if json_fault(result) is not None:
        raise RefusedError("The result is out of range")
    return result
