"""What is told of things that have no identity, such as the price of a share, and by tools that keep nothing.

Nothing is kept of them but what a call set; the rest is drawn anew from what was asked. Two tools that tell
of one thing agree: its members are decided by what it is called, not by who asks.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.nouns import key_of, words_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.subjects.portraits import Portrait
from astra_mcp.values.vocabulary import Meaning, meaning_of
from servers.emulated.offline.fields import Field
from servers.emulated.offline.finding import Call, not_found
from servers.emulated.offline.learning import CREATED, UPDATED, Noun
from servers.emulated.offline.outcomes import asked_of
from servers.emulated.offline.promises import Form, Promise, said_of
from servers.emulated.offline.selection import EntityRefusedError
from servers.emulated.offline.series import chained, is_series, moments_of, steadied
from servers.emulated.offline.store import Collection, Entity, Store
from servers.emulated.parameters import Role
from servers.emulated.verbs import Verb

__all__ = ["Facts", "gives_many", "says_nothing", "state_of", "written_arguments"]

_CANDLE: Final = tuple(
    Field(name=name, key=name, schema={}, root={})
    for name in ("open", "high", "low", "close", "volume")
)
_SAYS_NOTHING: Final = (
    CREATED | UPDATED | {"id", "name", "title", "status", "language", "description"}
)
_OF_MEMBERS: Final = (None, Form.RECORD, Form.TEXT, Form.MARKDOWN)
"""Forms of answers that are made of members."""
_CLEARING: Final = frozenset(("clear", "purge", "trash"))
_STATES: Final = ("status", "state", "stage")
_MANY: Final = frozenset(("news", "headlines", "search", "trending", "list", "hot", "top", "all"))
_LISTING: Final = re.compile(r"\blists? (?:all|of)\b|列表")
_READ: Final = 60
_FEW: Final = (3, 5)
_MAX_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class _Thing:
    """One thing of which something is told."""

    rng: RandomStream
    """Decide its members."""
    asked: JsonObject
    """What it was asked for by."""
    turn: int | None = None
    """Its place among its like."""
    portrait: Portrait | None = None
    is_candle: bool = False
    """Its prices within a time are told, and nothing else."""


class Facts:
    """Gets, sets and takes away the facts of one session."""

    def __init__(self, store: Store, rng: RandomStream) -> None:
        self._store = store
        """Keeps what was set."""
        self._rng = rng
        """Decide the rest."""

    def told(self, call: Call, collection: Collection, promise: Promise) -> JsonObject:
        """What a call is told that gets, sets or takes away a fact.

        Raises:
            EntityRefusedError: It was taken away, or nothing says what it is.
            UnmetError: A member cannot be made.
        """
        ways = {Verb.UPDATE: self._set, Verb.DELETE: self._remove}
        if call.reading.verb in ways:
            return ways[call.reading.verb](call, collection)
        if is_series(call, promise, collection.noun.found):
            return self._series(call, collection, promise)
        return self._get(call, collection, promise)

    def rows(self, call: Call, collection: Collection, promise: Promise) -> list[JsonObject]:
        """Several things that a call asks for and that have no identity; no two of them the same.

        Raises:
            EntityRefusedError: Nothing says what they are.
            UnmetError: A member cannot be made.
        """
        limit = _limit_of(call)
        place = self._place(call, collection)
        number = place.at("number").between(*_FEW)
        asked = asked_of(call.reading, call.arguments)
        start = place.at("row").below(64)
        found = [
            self._members(call, collection, promise, _Thing(place.at(at), asked, start + at))
            for at in range(min(limit or number, max(number, _FEW[1]), _MAX_ROWS))
        ]
        rows = [row for at, row in enumerate(found) if row and row not in found[:at]]
        if not rows:
            raise EntityRefusedError(
                f"{_titled(collection.noun.shown)} are not available, try again later"
            )
        return rows

    def _series(self, call: Call, collection: Collection, promise: Promise) -> JsonObject:
        """One row for each time that is asked for, each near the one before."""
        asked = asked_of(call.reading, call.arguments)
        place = self._place(call, collection)
        name, moments = moments_of(call, self._store.now)
        own = {k: v for k, v in asked.items() if k in collection.noun.address or len(asked) < 3}
        rows: list[JsonObject] = []
        portrait = self._store.portrait(collection.noun, place, asked, None)
        is_candle = portrait is not None and portrait.is_quoted and len(promise.members) < 3
        for at, moment in enumerate(moments):
            day = (
                replace(portrait, dice=place.at("day", moment[:10] if at else "now"))
                if portrait
                else None
            )
            thing = _Thing(place.at(at), {}, None, day, is_candle)
            row = self._members(call, collection, promise, thing)
            kept = {k: v for k, v in row.items() if k not in own and not _is_time(k)}
            rows.append({name: moment, **kept})
        if portrait is None or not portrait.is_quoted:
            steadied(rows)
        chained(rows)
        return {
            **asked,
            collection.noun.shown if collection.noun.shown != "results" else "data": [*rows],
        }

    def _get(self, call: Call, collection: Collection, promise: Promise) -> JsonObject:
        noun = collection.noun
        address = _address(call, noun)
        asked = asked_of(call.reading, call.arguments)
        if address in collection.gone:
            raise not_found(noun.name, next(iter(asked.values()), noun.name))
        entity = collection.entities.get(address)
        thing = _Thing(self._place(call, collection), asked)
        told = self._members(call, collection, promise, thing)
        of_kind = re.escape(" ".join(noun.name.split("_")[-2:]))
        called = re.compile(rf"\w+ {of_kind}", re.IGNORECASE)
        if len(told) > 2:  # one thing that is asked for needs no name that tells it from its like
            told = {
                k: v for k, v in told.items() if not (isinstance(v, str) and called.fullmatch(v))
            }
        told |= _asked_members(asked, told, noun)
        set_before = entity.given if entity else {}
        if not set_before and self._says_nothing(noun, promise, told, asked):
            raise EntityRefusedError(f"{_titled(noun.name)} is not available, try again later")
        return {**asked, **told, **asked, **set_before}

    def _says_nothing(
        self, noun: Noun, promise: Promise, told: JsonObject, asked: JsonObject
    ) -> bool:
        """Say whether an answer is no more than a name and a time, made up for what nobody knows."""
        is_known = noun.found is not None and bool(noun.found.fields)
        if not told:
            return True
        if is_known or promise.form not in _OF_MEMBERS:
            return False
        return says_nothing(map(key_of, told.keys() - asked.keys()))

    def _place(self, call: Call, collection: Collection) -> RandomStream:
        """The dice of what is asked for, by what it is called where the subject knows such things."""
        noun = collection.noun
        asked = asked_of(call.reading, call.arguments)
        place = self._rng.at("fact", noun.name, written_arguments(asked))
        return self._store.dice(noun, asked) or place

    def _members(
        self, call: Call, collection: Collection, promise: Promise, thing: "_Thing"
    ) -> JsonObject:
        noun = collection.noun
        units = {p.name: call.arguments.get(p.name) for p in call.reading.parameters}
        known = {**{k: v for k, v in units.items() if isinstance(v, str)}, **thing.asked}
        portrait = thing.portrait or self._store.portrait(noun, thing.rng, known, thing.turn)
        born = self._store.clock.start
        drawn = Entity(identity=None, rng=thing.rng, born=born, given={}, portrait=portrait)
        told: JsonObject = {}
        fields = _CANDLE if thing.is_candle else _fields(noun, promise)
        for each in fields:
            if each.root or each.key not in CREATED:
                members = self._store.member(collection, drawn, each)
                told.update((each.name, member) for member in members)
        return told

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
        entity.is_composed = True
        self._store.change(collection, entity, changes)
        return {**asked, **changes, "updated": True}

    def _remove(self, call: Call, collection: Collection) -> JsonObject:
        asked = asked_of(call.reading, call.arguments)
        address = _address(call, collection.noun)
        if asked and call.reading.word not in _CLEARING:
            if address in collection.gone:
                raise not_found(collection.noun.name, next(iter(asked.values())))
            entity = collection.entities.get(address)
            self._store.remove(collection, entity or self._store.glimpse(collection, {}, address))
        return {"deleted": True, **asked}


def _asked_members(asked: JsonObject, told: JsonObject, noun: Noun) -> JsonObject:
    """The members that arguments name with the noun before them: ``pull_number`` is the ``number``."""
    of = frozenset(noun.name.split("_"))
    members: JsonObject = {}
    for name, value in asked.items():
        head, _, last = key_of(name).rpartition("_")
        if head and of.issuperset(head.split("_")):
            same = (each for each in told if key_of(each) == last and each not in asked)
            for each in same:
                is_number = isinstance(told[each], int) and str(value).isdigit()
                members[each] = int(str(value)) if is_number else value
    return members


def gives_many(call: Call) -> bool:
    """Say whether a tool gives several things though its noun is not counted, such as news."""
    words = words_of(call.tool.name)
    is_said = _LISTING.search(said_of(call.tool)[:_READ]) is not None
    return (is_said or not _MANY.isdisjoint(words)) and call.own is None


def _fields(noun: Noun, promise: Promise) -> tuple[Field, ...]:
    """What the tool itself promises, where it says enough; else what such things have."""
    if len(promise.members) < 3:
        is_value = noun.found is None and meaning_of(noun.name)[0] is not Meaning.UNKNOWN
        if is_value and not any(each.is_declared for each in noun.fields):
            return (Field(name=noun.name, key=noun.name, schema={}, root={}),)
        return noun.fields
    return tuple(Field(name=m.name, key=m.key, schema=m.schema, root={}) for m in promise.members)


def _limit_of(call: Call) -> int | None:
    """How many are asked for."""
    parameter = call.reading.parameter(Role.LIMIT)
    value = call.arguments.get(parameter.name) if parameter is not None else None
    try:
        return max(int(float(str(value))), 1) if value is not None else None
    except (ValueError, OverflowError):
        return None


def _is_time(name: str) -> bool:
    return name.rpartition("_")[2].lower() in ("date", "time", "timestamp", "datetime", "at", "day")


def _address(call: Call, noun: Noun) -> str:
    """What tells facts of one noun apart: the arguments that all tools about them take."""
    named = {p.key: call.arguments[p.name] for p in call.fields() if p.key in noun.address}
    return written_arguments(named)


def says_nothing(keys: Iterable[str]) -> bool:
    """Say whether members, by their names in normal form, are but those that anything has."""
    return _SAYS_NOTHING.issuperset(keys)


def _titled(noun: str) -> str:
    return noun.replace("_", " ").capitalize()


def state_of(noun: Noun) -> str:
    """The name of the member that says in which state an entity is."""
    names = {each.key: each.name for each in noun.fields}
    return next((names[key] for key in _STATES if key in names), _STATES[0])


def written_arguments(arguments: Mapping[str, JsonValue]) -> str:
    """Arguments as a text that is the same for the same ones."""
    return canonical_json(dict(arguments)).decode()
