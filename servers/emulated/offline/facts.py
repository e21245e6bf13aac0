"""What is told of things that have no identity: settings, the weather of a place, the price of a share.

Nothing is kept of them but what a call set; the rest is drawn anew from what was asked.
"""

from collections.abc import Mapping
from typing import Final

from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.dice import Dice
from servers.emulated.offline.finding import Call, not_found
from servers.emulated.offline.learning import CREATED, Noun
from servers.emulated.offline.records import echo, named_values
from servers.emulated.offline.selection import RefusedError
from servers.emulated.offline.store import Collection, Entity, Store
from servers.emulated.verbs import Verb

__all__ = ["Facts", "state_of", "written_arguments"]

_CLEARING: Final = frozenset(("clear", "purge", "trash"))
_STATES: Final = ("status", "state", "stage")


class Facts:
    """Gets, sets and takes away the facts of one session."""

    def __init__(self, store: Store, dice: Dice) -> None:
        """Prepare.

        Args:
            store: Keeps what was set.
            dice: Decide the rest.
        """
        self._store = store
        self._dice = dice

    def told(self, call: Call, collection: Collection) -> JsonObject:
        """What a call is told that gets, sets or takes away a fact.

        Raises:
            RefusedError: It was taken away.
            UnmetError: A member cannot be made.
        """
        match call.reading.verb:
            case Verb.UPDATE:
                return self._set(call, collection)
            case Verb.DELETE:
                return self._remove(call, collection)
            case _:
                return self._get(call, collection)

    def _get(self, call: Call, collection: Collection) -> JsonObject:
        noun = collection.noun
        address = _address(call, noun)
        asked = echo(call.reading, call.arguments)
        if address in collection.gone:
            raise not_found(noun.name, next(iter(asked.values()), noun.name))
        entity = collection.entities.get(address) or self._store.glimpse(collection, {}, address)
        dice = self._dice.at("fact", noun.name, written_arguments(asked))
        drawn = Entity(identity=address, dice=dice, born=entity.born, given=entity.given)
        told: JsonObject = {}
        for each in noun.fields:
            if each.root or each.key not in CREATED:
                members = self._store.member(collection, drawn, each)
                told.update((each.name, member) for member in members)
        more = named_values(call.tool, noun.name, self._store.wording, dice)
        return {**asked, **more, **told, **asked, **entity.given}  # what was asked stands first

    def _set(self, call: Call, collection: Collection) -> JsonObject:
        asked = {p.name: call.arguments[p.name] for p in call.fields()}
        changes = (
            asked if call.reading.state is None else {state_of(collection.noun): call.reading.state}
        )
        address = _address(call, collection.noun)
        entity = collection.entities.get(address)
        if entity is None and self._store.is_full:
            raise RefusedError("Quota exceeded: no more entries can be stored")
        entity = entity or self._store.glimpse(collection, {}, address)
        self._store.change(collection, entity, changes)
        return {**asked, **changes, "updated": True}

    def _remove(self, call: Call, collection: Collection) -> JsonObject:
        asked = echo(call.reading, call.arguments)
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
