"""The entities that a result names: objects with their identifiers, and references to others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of, singular
from servers.emulated.modelled.document_entities import (
    Entity,
    ReadCall,
    Vocabulary,
    are_alike,
    id_text,
    is_id_field,
    noun_of_field,
)
from servers.emulated.modelled.told_values import Leaf, Leaves, leaves_of
from servers.emulated.verbs import Verb

__all__ = ["Mentioned", "Mentions", "listed_in", "read_mentions"]

_MAX_VALUES: Final = 50_000
"""So many values of one result are looked at; what stands behind them is not checked."""
_WRAPPERS: Final = frozenset(
    {"data", "item", "result", "content", "value", "record", "entry", "list", "row", "node", "edge"}
    | {"object", "response", "payload", "body", "page", "output", "hit", "match", "element"}
    | {"collection", "all", "resource", "info", "detail", "success"}
)
"""Members, in the singular, that say nothing of what they hold."""
_MAX_WRAPPED: Final = 4
_GONE: Final = frozenset({"deleted", "removed", "archived", "trashed", "cancelled", "canceled"})
_GONE_FIELDS: Final = _GONE.union(
    ("is_deleted", "deleted_at", "removed_at", "archived_at", "is_archived")
)
_STATES: Final = frozenset({"status", "state"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned:
    """An object of a result that is an entity."""

    noun: str
    ids: tuple[str, ...]
    """By fields that hold identifiers by their name; several are names of the same."""
    names: tuple[str, ...]
    """By other fields that the server's tools take for the identifier, such as a path."""
    is_whole: bool
    """The result is this object, but for what is wrapped around it."""
    is_gone: bool
    """It says itself that it was deleted."""
    places: Mapping[str, str]
    leaves: Leaves = field(default_factory=dict[str, Leaf])
    """What it says of itself."""


class Mentions(NamedTuple):
    """All entities of a result."""

    objects: tuple[Mentioned, ...]
    references: tuple[Entity, ...]


def read_mentions(value: JsonValue, call: ReadCall, vocabulary: Vocabulary) -> Mentions:
    """Find the entities that the result of a call names.

    Args:
        value: The result, as JSON.
        call: What it answers; says what objects without a noun of their own are.
        vocabulary: Of the server.
    """
    reader = _Reader(call, vocabulary)
    reader.read(value)
    return Mentions(tuple(reader.objects), tuple(dict.fromkeys(reader.references)))


class _Part(NamedTuple):
    """A value inside of a result that is still to be read."""

    value: JsonValue
    noun: str
    is_whole: bool


class _Reader:
    def __init__(self, call: ReadCall, vocabulary: Vocabulary) -> None:
        self._noun = call.noun or ""
        self._is_of_many = call.verb in (Verb.LIST, Verb.SEARCH)
        self._vocabulary = vocabulary
        self.objects: list[Mentioned] = []
        self.references: list[Entity] = []

    def read(self, value: JsonValue) -> None:
        pending = [_Part(value, self._noun, is_whole=True)]
        num_values = 0
        while pending and num_values < _MAX_VALUES:
            part = pending.pop()
            num_values += 1
            if isinstance(part.value, list):
                pending += [_Part(v, part.noun, is_whole=False) for v in reversed(part.value)]
            elif isinstance(part.value, dict):
                pending += reversed([*self._read_object(part.value, part)])

    def _read_object(self, members: JsonObject, part: _Part) -> Iterator[_Part]:
        own = None if self._is_around(members, part) else self._mentioned(members, part)
        if own is not None:
            self.objects.append(own)
        for name, value in members.items():
            field = key_of(name)
            if isinstance(value, dict | list):
                noun = singular(field)
                is_wrapper = noun in _WRAPPERS and own is None
                is_whole = part.is_whole and own is None and isinstance(value, dict)
                is_whole = is_whole and (is_wrapper or noun == part.noun)
                yield _Part(value, part.noun if is_wrapper else noun, is_whole)
            self._refer(field, value, part, own)

    def _is_around(self, members: JsonObject, part: _Part) -> bool:
        """Say whether an object is there for what it holds, and its identifier is that of another thing."""
        if not part.is_whole:
            return False
        return self._is_of_many or any(
            isinstance(value, list) and singular(key_of(name)) == part.noun
            for name, value in members.items()
        )

    def _mentioned(self, members: JsonObject, part: _Part) -> Mentioned | None:
        known = self._vocabulary.id_fields.get(part.noun, frozenset[str]())
        fields = {key_of(name): id_text(value) for name, value in members.items()}
        ids = [text for field, text in fields.items() if text and _is_own(field, part.noun)]
        if not ids:
            ids = [text for field, text in fields.items() if text and _may_be(field, part.noun)]
        texts = [text for field, text in fields.items() if text and field in known]
        names = [text for text in texts if text not in ids]
        if not part.noun or not (ids or names):
            return None
        return Mentioned(
            noun=part.noun,
            ids=tuple(dict.fromkeys(ids)),
            names=tuple(dict.fromkeys(names)),
            is_whole=part.is_whole,
            is_gone=_is_gone(members),
            places=self._vocabulary.places_of(members),
            leaves=leaves_of(members),
        )

    def _refer(self, field: str, value: JsonValue, part: _Part, own: Mentioned | None) -> None:
        """Note what a member of an object refers to."""
        if not is_id_field(field):
            return
        noun = noun_of_field(field)
        values = cast("Sequence[JsonValue]", value if isinstance(value, list) else [value])
        texts = [text for text in map(id_text, values) if text is not None]
        if isinstance(value, list) and own is None and noun in ("", part.noun):
            self.objects += [_bare(part.noun, text) for text in texts if part.noun]
        elif noun and (own is None or noun != own.noun):
            self.references += [Entity(noun, text) for text in texts]


def listed_in(value: JsonValue, noun: str | None) -> list[JsonValue] | None:
    """Find the list that an answer is given for; None where that is not certain."""
    for _ in range(_MAX_WRAPPED):
        if isinstance(value, list):
            return value
        if not isinstance(value, dict):
            return None
        parts = [
            part
            for name, part in value.items()
            if isinstance(part, list | dict) and _may_hold(singular(key_of(name)), noun or "")
        ]
        if len(parts) != 1:
            return None
        value = parts[0]
    return None


def _may_hold(field: str, noun: str) -> bool:
    return field in _WRAPPERS or (bool(noun) and are_alike(noun, field))


def _bare(noun: str, id: str) -> Mentioned:
    """What a list of identifiers alone says of one."""
    return Mentioned(noun=noun, ids=(id,), names=(), is_whole=False, is_gone=False, places={})


def _is_own(field: str, noun: str) -> bool:
    """True for ``id`` and, in an order, ``order_id``."""
    return is_id_field(field) and noun_of_field(field) in ("", noun) and field == singular(field)


def _may_be(field: str, noun: str) -> bool:
    """True in a ``blog_post`` for ``post_id``."""
    stem = noun_of_field(field)
    return bool(stem) and field == singular(field) and are_alike(noun, stem)


def _is_gone(members: JsonObject) -> bool:
    for name, value in members.items():
        field = key_of(name)
        if field in _GONE_FIELDS and value:
            return True
        if field in _STATES and isinstance(value, str) and value.lower() in _GONE:
            return True
    return False
