"""What is told of things that have no identity, such as the price of a share, and by tools that keep nothing.

Nothing is kept of them but what a call set; the rest is drawn anew from what was asked.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from astra_mcp.types import JsonObject, JsonValue, ToolSpec, canonical_json, json_fault
from astra_mcp.values.making import Making, ValueContext
from astra_mcp.values.nouns import words_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.vocabulary import Meaning, meaning_of
from astra_mcp.values.wording import Wording
from servers.emulated.offline.finding import Call, not_found
from servers.emulated.offline.learning import CREATED, Noun
from servers.emulated.offline.selection import EntityRefusedError
from servers.emulated.offline.store import Collection, Entity, Store
from servers.emulated.parameters import Role
from servers.emulated.verbs import ToolReading, Verb

__all__ = ["Facts", "is_fact", "outcome", "state_of", "written_arguments"]

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


def _echo(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> JsonObject:
    """The arguments that say what was asked for."""
    fields = {p.name for p in reading.parameters if p.role in (Role.FIELD, Role.QUERY)}
    return {
        name: value
        for name, value in arguments.items()
        if name in fields
        and not isinstance(value, dict | list | None)
        and len(str(value)) <= _MAX_ECHOED
    }


def _named_values(tool: ToolSpec, noun: str, wording: Wording, rng: RandomStream) -> JsonObject:
    """The values that the name and the description of a tool speak of, which tells of a noun."""
    making = Making({}, wording)
    return {
        key: making.value({}, ValueContext(rng=rng.at(key), key=key, noun=noun, depth=1))
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


def outcome(call: Call, wording: Wording, rng: RandomStream) -> JsonObject:
    """What a tool says that did something.

    Raises:
        RefusedError: It was to divide by zero.
    """
    tool, reading, arguments = call.tool, call.reading, call.arguments
    verb = reading.word or next(iter(words_of(tool.name)), "")
    kind = next((_KINDS[w] for w in (verb, *words_of(tool.name)) if w in _KINDS), "done")
    record = _echo(reading, arguments)
    making = Making({}, wording)
    for name, key in _EXTRAS[kind]:
        spot = ValueContext(rng=rng.at(name), key=key, noun=reading.noun or "", depth=1)
        said = making.value({}, spot) if key else reading.state or _STATUS[kind]
        record.setdefault(name, said)
    if kind == "done":
        record.setdefault("message", wording.done(" ".join(words_of(tool.name))))
    if kind == "number":
        record["result"] = _sum(verb, arguments, record["result"])
    for key in _told(tool) if kind not in ("sent", "done") else ():
        record.setdefault(key, making.value({}, ValueContext(rng=rng.at(key), key=key, depth=1)))
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
        raise EntityRefusedError("Division by zero") from None
    except OverflowError:
        result = math.inf
    if json_fault(result) is not None:
        raise EntityRefusedError("The result is out of range")
    return result


_CLEARING: Final = frozenset(("clear", "purge", "trash"))
_STATES: Final = ("status", "state", "stage")


class Facts:
    """Gets, sets and takes away the facts of one session."""

    def __init__(self, store: Store, rng: RandomStream) -> None:
        self._store = store
        """Keeps what was set."""
        self._rng = rng
        """Decide the rest."""

    def told(self, call: Call, collection: Collection) -> JsonObject:
        """What a call is told that gets, sets or takes away a fact.

        Raises:
            RefusedError: It was taken away.
            UnmetError: A member cannot be made.
        """
        ways = {Verb.UPDATE: self._set, Verb.DELETE: self._remove}
        return ways.get(call.reading.verb, self._get)(call, collection)

    def _get(self, call: Call, collection: Collection) -> JsonObject:
        noun = collection.noun
        address = _address(call, noun)
        asked = _echo(call.reading, call.arguments)
        if address in collection.gone:
            raise not_found(noun.name, next(iter(asked.values()), noun.name))
        entity = collection.entities.get(address) or self._store.glimpse(collection, {}, address)
        rng = self._rng.at("fact", noun.name, written_arguments(asked))
        drawn = Entity(identity=address, rng=rng, born=entity.born, given=entity.given)
        told: JsonObject = {}
        for each in noun.fields:
            if each.root or each.key not in CREATED:
                members = self._store.member(collection, drawn, each)
                told.update((each.name, member) for member in members)
        more = _named_values(call.tool, noun.name, self._store.wording, rng)
        return {**asked, **more, **told, **asked, **entity.given}  # what was asked stands first

    def _set(self, call: Call, collection: Collection) -> JsonObject:
        asked = {p.name: call.arguments[p.name] for p in call.fields()}
        changes = (
            asked if call.reading.state is None else {state_of(collection.noun): call.reading.state}
        )
        address = _address(call, collection.noun)
        entity = collection.entities.get(address)
        if entity is None and self._store.is_full:
            raise EntityRefusedError("Quota exceeded: no more entries can be stored")
        entity = entity or self._store.glimpse(collection, {}, address)
        self._store.change(collection, entity, changes)
        return {**asked, **changes, "updated": True}

    def _remove(self, call: Call, collection: Collection) -> JsonObject:
        asked = _echo(call.reading, call.arguments)
        address = _address(call, collection.noun)
        if asked and call.reading.word not in _CLEARING:
            if address in collection.gone:
                raise not_found(collection.noun.name, next(iter(asked.values())))
            entity = collection.entities.get(address)
            self._store.remove(collection, entity or self._store.glimpse(collection, {}, address))
        return {"deleted": True, **asked}


def _address(call: Call, noun: Noun) -> str:
    """What tells facts of one noun apart: the arguments that all tools about them take."""
    named = {p.key: call.arguments[p.name] for p in call.fields() if p.key in noun.address}
    return written_arguments(named)


def state_of(noun: Noun) -> str:
    """The name of the member that says in which state an entity is."""
    names = {each.key: each.name for each in noun.fields}
    return next((names[key] for key in _STATES if key in names), _STATES[0])


def written_arguments(arguments: Mapping[str, JsonValue]) -> str:
    """Arguments as a text that is the same for the same ones."""
    return canonical_json(dict(arguments)).decode()
