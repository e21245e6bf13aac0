"""What a server's documents say about the entities that its calls are about.

Reads calls only as far as the documents leave no doubt: what is unclear here is checked nowhere, so that a
good answer is never taken for a contradiction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.nouns import key_of, singular
from servers.emulated.verbs import ToolReading, Verb, read_tools

__all__ = [
    "Entity",
    "ReadCall",
    "Vocabulary",
    "are_alike",
    "id_text",
    "is_id_field",
    "noun_of_field",
    "read_vocabulary",
]

_PLAIN_IDS: Final = frozenset({"id", "uuid", "guid", "uid"})
_MAX_ID: Final = 200
"""Characters; what is longer is text."""
_OF_ONE: Final = frozenset({Verb.GET, Verb.UPDATE, Verb.DELETE})
_OF_PLACES: Final = frozenset({Verb.GET, Verb.LIST, Verb.DELETE})
_STORES: Final = frozenset({Verb.CREATE, Verb.UPDATE, Verb.DELETE})
_BRINGS_BACK: Final = frozenset(
    {"restore", "unarchive", "reopen", "recover", "undelete", "put", "upsert"}
)
"""Updates that make what is not there, or not any more."""
_WRITES: Final = frozenset({"save", "store", "write", "set", "configure"})
"""Updates that do so where the caller chooses the name, such as a path."""
_MOVES: Final = frozenset({"move", "rename"})
_TAKES_OFF: Final = frozenset({"remove", "clear", "discard"})
"""Deletes that may only part one thing from another."""
_NOT_DOCUMENTED: Final = ToolReading(
    verb=Verb.OTHER, word="", noun=None, is_many=False, id_parameter=None, references={}
)


class Entity(NamedTuple):
    """Something that a server has, by its noun and its identifier."""

    noun: str
    """In the singular, with ``_`` between its words."""
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """What a call is about."""

    verb: Verb
    noun: str | None
    entity: Entity | None
    """What it reads, changes or deletes; None where that is not certain."""
    id_field: str
    """The argument that names the entity, in its normal form; empty where there is none."""
    arguments: Mapping[str, JsonValue]
    places: Mapping[str, str]
    """Where it looks, such as in which project: equal identifiers of two places are two entities."""
    brings_back: bool
    """A success may make what was deleted exist again."""
    leaves_doubt: bool
    """After a success, whether the entity is still what it was cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The nouns of a server, and how its tools name what they stand for."""

    readings: Mapping[str, ToolReading]
    id_fields: Mapping[str, frozenset[str]]
    """By noun: fields that its tools take for the identifier, such as ``path``."""
    places: frozenset[str]
    """Parameters that say in which place something is."""
    settled: frozenset[str]
    """Nouns of two or more tools: what one tool alone calls so may be something else."""
    stored: frozenset[str]
    """Nouns of what tools create, change or delete: quotes have a symbol, but it is not that of a quote."""

    def read(self, tool: str, arguments: Mapping[str, JsonValue]) -> ReadCall:
        """Read a call, of a tool that the documents may not hold."""
        reading = self.readings.get(tool, _NOT_DOCUMENTED)
        return ReadCall(
            verb=reading.verb,
            noun=reading.noun,
            entity=self._entity(reading, arguments),
            id_field=key_of(reading.id_parameter or ""),
            arguments=arguments,
            places=self.places_of(arguments, but=reading.id_parameter),
            brings_back=_brings_back(reading),
            leaves_doubt=_leaves_doubt(reading, arguments),
        )

    def places_of(
        self, values: Mapping[str, JsonValue], *, but: str | None = None
    ) -> Mapping[str, str]:
        """Pick out what says where something is, of a call's arguments or an object's members."""
        found = {
            key_of(name): id_text(value)
            for name, value in values.items()
            if name != but and key_of(name) in self.places
        }
        return {name: text for name, text in found.items() if text is not None}

    def _entity(self, reading: ToolReading, arguments: Mapping[str, JsonValue]) -> Entity | None:
        name, noun = reading.id_parameter, reading.noun
        if reading.verb not in _OF_ONE or name is None or noun is None:
            return None
        text = id_text(arguments.get(name))
        return Entity(noun, text) if text is not None and self._is_of(noun, name, reading) else None

    def _is_of(self, noun: str, parameter: str, reading: ToolReading) -> bool:
        """Say whether a parameter certainly names an entity of the noun, and not what it belongs to."""
        stem = noun_of_field(parameter)
        if stem == noun:
            return True
        if noun not in self.settled or reading.is_many:
            return False
        if is_id_field(key_of(parameter)):
            return not stem or are_alike(noun, stem)
        return noun in self.stored


def read_vocabulary(tools: Sequence[ToolSpec]) -> Vocabulary:
    """Read the documents of a server's tools."""
    readings = read_tools(tools)
    fields: dict[str, set[str]] = {}
    places = set[str]()
    for tool in tools:
        reading = readings[tool.name]
        if reading.noun and reading.id_parameter:
            fields.setdefault(reading.noun, set()).add(key_of(reading.id_parameter))
        if reading.verb in _OF_PLACES:
            required = cast("list[str]", tool.input_schema.get("required") or [])
            places |= {key_of(name) for name in required if name != reading.id_parameter}
    nouns = Counter(reading.noun for reading in readings.values() if reading.noun)
    return Vocabulary(
        readings=readings,
        id_fields={noun: frozenset(keys) for noun, keys in fields.items()},
        places=frozenset(places),
        settled=frozenset(noun for noun, num in nouns.items() if num > 1),
        stored=frozenset(r.noun for r in readings.values() if r.noun and r.verb in _STORES),
    )


def are_alike(noun: str, other: str) -> bool:
    """Say whether two nouns can stand for the same: ``blog_post`` and ``post``."""
    return noun == other or noun.endswith(f"_{other}") or other.endswith(f"_{noun}")


def is_id_field(field: str) -> bool:
    """Say whether a field, in its normal form, holds identifiers by its name."""
    return singular(field).rpartition("_")[2] in _PLAIN_IDS


def noun_of_field(name: str) -> str:
    """Name what an identifier stands for: ``order`` for ``orderId``; empty where the name does not say."""
    stem, _, last = singular(key_of(name)).rpartition("_")
    return singular(stem) if last in _PLAIN_IDS else ""


def id_text(value: JsonValue) -> str | None:
    """Write an identifier as a text, in which 7 and ``"7"`` are one; None for what can be none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return text if 0 < len(text) <= _MAX_ID and "\n" not in text else None


def _brings_back(reading: ToolReading) -> bool:
    is_named = not is_id_field(key_of(reading.id_parameter or ""))
    return reading.word in _BRINGS_BACK or (reading.word in _WRITES and is_named)


def _leaves_doubt(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> bool:
    others = [name for name in arguments if name != reading.id_parameter]
    is_of_two = any(id_text(arguments[name]) is not None for name in others)
    is_renaming = any(key_of(name).startswith("new_") for name in others)
    return (
        reading.word in _MOVES
        or (reading.verb is Verb.UPDATE and is_renaming)
        or (reading.word in _TAKES_OFF and is_of_two)
    )
