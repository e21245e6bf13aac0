"""Which entities the arguments of a call name, and whether there are such ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from astra_mcp.types import JsonObject, JsonValue, ToolSpec
from astra_mcp.values.nouns import key_of
from servers.emulated.offline.fields import NESTED, attribute_of, is_documented
from servers.emulated.offline.selection import EntityRefusedError, as_list
from servers.emulated.offline.store import Collection, Entity, Store
from servers.emulated.parameters import Parameter, Role
from servers.emulated.verbs import ToolReading

__all__ = [
    "Call",
    "check_references",
    "described",
    "member_of",
    "named_entities",
    "not_found",
]


_CALLED: Final = (
    "name",
    "title",
    "number",
    "key",
    "slug",
    "identifier",
    "code",
    "username",
    "email",
)
"""What people call a thing by where its id is not at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a session is asked."""

    tool: ToolSpec
    reading: ToolReading
    arguments: Mapping[str, JsonValue]

    def fields(self) -> Iterator[Parameter]:
        """The parameters that hold properties and that an argument is given for."""
        for parameter in self.reading.parameters:
            if parameter.role is Role.FIELD and self.arguments.get(parameter.name) is not None:
                yield parameter

    @property
    def own(self) -> Parameter | None:
        """The parameter that names the entity itself, where an argument is given for it."""
        own = self.reading.id_parameter
        return next((p for p in self.fields() if p.name == own), None)

    @property
    def names_many(self) -> bool:
        """The argument that names the entity is a list."""
        return self.own is not None and isinstance(self.arguments[self.own.name], list)

    @property
    def placed(self) -> list[str]:
        """The arguments given that name entities of other nouns."""
        return [n for n in self.reading.references if self.arguments.get(n) is not None]

    @property
    def named(self) -> list[JsonValue]:
        """The values of the argument that names the entity, or several."""
        return [] if self.own is None else as_list(self.arguments[self.own.name])


def not_found(noun: str, value: JsonValue) -> EntityRefusedError:
    """What a real API says of an entity that there is not."""
    return EntityRefusedError(f"{noun.replace('_', ' ').capitalize()} not found: {value}")


def check_references(store: Store, call: Call) -> list[Entity]:
    """The entities of other nouns that the arguments name.

    Raises:
        RefusedError: One of them does not exist.
    """
    return [
        _find(store, store.home(store.collection(noun), value), call.tool, parameter, value)
        for parameter in call.fields()
        if (noun := call.reading.references.get(parameter.name)) is not None
        for value in as_list(call.arguments[parameter.name])
    ]


def named_entities(store: Store, collection: Collection, call: Call) -> list[Entity]:
    """The entities that a call names: by its own parameter, by some of their members, or not at all.

    Raises:
        RefusedError: One of them does not exist.
    """
    own = call.own
    if own is not None:
        values = as_list(call.arguments[own.name])
        found = (_find(store, collection, call.tool, own, value) for value in values)
        return list(dict.fromkeys(found))
    members = {p.key: call.arguments[p.name] for p in call.fields() if p.is_scalar}
    for entity in collection.newest_first():
        shown = {key_of(name): value for name, value in store.shown(collection, entity).items()}
        if all(key not in shown or _same(shown[key], value) for key, value in members.items()):
            return [entity]
    if collection.noun.is_given_out and (collection.noun.is_kept or not members):
        raise not_found(collection.noun.name, next(iter(members.values()), "none exists"))
    given: JsonObject = {p.name: call.arguments[p.name] for p in call.fields() if p.is_scalar}
    return [_adopted(store, collection, given, None)]


def described(store: Store, collection: Collection, members: JsonObject) -> Entity:
    """The entity that an object describes: by its identity, else by all its members.

    Raises:
        RefusedError: It does not exist.
    """
    noun = collection.noun
    named = collection.entities.get(str(members.get(noun.identity.name)))
    if named is not None:
        return named
    for entity in collection.newest_first():
        shown = store.shown(collection, entity)
        if all(name in shown and _same(shown[name], value) for name, value in members.items()):
            return entity
    said = ", ".join(f"{name} {value}" for name, value in members.items() if _is_short(value))
    raise not_found(noun.name, said)


def _is_short(value: JsonValue) -> bool:
    return isinstance(value, str | int | float)


def _find(
    store: Store, collection: Collection, tool: ToolSpec, parameter: Parameter, value: JsonValue
) -> Entity:
    """The entity that a value names.

    Where ids come from the server alone, only those are found that it gave out, or that its documents name.

    Raises:
        RefusedError: It does not exist.
    """
    noun = collection.noun
    attribute = attribute_of(parameter.key, noun.name)
    is_identity = attribute == noun.identity.key
    if is_identity and str(value) in collection.entities:
        return collection.entities[str(value)]
    if is_identity and str(value) in collection.gone:
        raise not_found(noun.name, value)
    known = _by_other_name(store, collection, parameter, value) if is_identity else None
    if known is not None:
        return known
    if not is_identity:
        for entity in (*collection.newest_first(), *collection.gone.values()):
            if any(_same(m, value) for m in member_of(store, collection, entity, attribute)):
                if str(entity.identity) in collection.gone:
                    raise not_found(noun.name, value)
                return entity
    if noun.is_strict(attribute, value) and not is_documented(value, tool, parameter.name):
        raise not_found(noun.name, value)
    if is_identity:
        return _adopted(store, collection, {}, value)
    return _adopted(store, collection, {noun.name_of(attribute, attribute): value}, None)


def _by_other_name(
    store: Store, collection: Collection, parameter: Parameter, value: JsonValue
) -> Entity | None:
    """The one entity that has a value where people call it by: ``tag`` may be the tag or its name."""
    noun = collection.noun
    keys = {
        key for key in (parameter.key, *_CALLED, key_of(noun.display)) if key != noun.identity.key
    }
    found = [
        entity
        for entity in collection.newest_first()
        if any(
            _same(member, value)
            for key in keys
            for member in member_of(store, collection, entity, key)
        )
    ]
    return found[0] if len(found) == 1 else None


def _adopted(
    store: Store, collection: Collection, given: JsonObject, identity: JsonValue
) -> Entity:
    """An entity that exists from the first look; one that lists may show is kept."""
    entity = store.glimpse(collection, given, identity)
    if collection.noun.is_given_out and not store.is_full:
        store.keep(collection, entity)
    return entity


def member_of(
    store: Store, collection: Collection, entity: Entity, key: str
) -> Iterator[JsonValue]:
    """The member of an entity that has a name in normal form, if there is one."""
    noun = collection.noun
    key = noun.key_of(key)
    if key == noun.identity.key:
        yield entity.identity
        return
    for each in noun.fields:
        if each.key == key:
            yield from store.member(collection, entity, each)
            return
    for name, value in entity.given.items():
        if key_of(name) == key:
            yield value
        elif isinstance(value, dict) and key_of(name) in NESTED:
            yield from (inner for member, inner in value.items() if key_of(member) == key)


def _same(first: JsonValue, second: JsonValue) -> bool:
    if isinstance(first, list):
        return any(_same(item, second) for item in cast("list[JsonValue]", first))
    return first is not None and str(first).casefold() == str(second).casefold()
