"""What the result of a tool holds, as far as its documents say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, cast

import orjson

from astra_mcp.synthesis.trajectories.chains.fields import Evidence, ToolFields, fields_of
from astra_mcp.synthesis.trajectories.server import DocumentedServer
from astra_mcp.types import JsonValue, ToolSpec, json_fault
from astra_mcp.values import nouns
from astra_mcp.values.guesses import resolve
from astra_mcp.values.nouns import singular

__all__ = [
    "DocumentFields",
    "HeldFields",
    "ResultFields",
    "SchemaFields",
    "listed",
    "object_of",
    "plain_name",
    "without_ids",
    "words_of",
]

_MAX_DEPTH: Final = 8
_MAX_PARTS: Final = 2000
_IDS: Final = frozenset({"id", "uuid", "guid"})


@dataclass(frozen=True, slots=True)
class HeldFields:
    """The fields of a tool's results."""

    names: frozenset[str] = frozenset()
    """As :func:`plain_name` writes them; an ``id`` also with what it is of, such as ``order_id``."""
    is_whole: bool = False
    """True where a result holds no others; else whoever needs another field may still find it there."""
    likely: frozenset[str] = frozenset()
    """Others that a result holds by what the tool does: nothing that a call may rely on."""


class ResultFields(Protocol):
    """Says what results hold."""

    @property
    def version(self) -> str:
        """Of its rules: verdicts that follow from them are decided anew where they change."""
        ...

    def held(self, server: DocumentedServer, tool: ToolSpec) -> HeldFields:
        """What the results of a server's tool hold."""
        ...


@dataclass(frozen=True, slots=True)
class SchemaFields:
    """Reads the property names of output schemas, and nothing else; satisfies :class:`ResultFields`."""

    version: str = "schema-1"

    def held(self, server: DocumentedServer, tool: ToolSpec) -> HeldFields:
        """What the schema of the tool's output declares; nothing is known of a tool without one."""
        del server
        if tool.output_schema is None:
            return HeldFields()
        reading = _Reading(tool.output_schema)
        names: set[str] = set()
        subjects = words_of(tool.name)[1:]
        for name, owner in reading.fields(tool.output_schema, owner="", depth=0):
            names.add(plain_name(name))
            if plain_name(name) in _IDS:
                names |= {f"{word}_{plain_name(name)}" for word in ([owner] if owner else subjects)}
        return HeldFields(frozenset(names), is_whole=bool(names) and not reading.is_open)


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """Reads output schemas, what descriptions tell, and what a tool does; satisfies :class:`ResultFields`."""

    version: str = "documents-1"
    _read: dict[tuple[str, str], Mapping[str, ToolFields]] = field(
        default_factory=dict[tuple[str, str], Mapping[str, ToolFields]], repr=False, compare=False
    )

    def held(self, server: DocumentedServer, tool: ToolSpec) -> HeldFields:
        """What the documents say of a tool's results."""
        key = (server.name, server.version)
        if key not in self._read:
            self._read[key] = fields_of(server)
        declared = SchemaFields().held(server, tool)
        told, likely = set[str](), set[str]()
        for result in self._read[key][tool.name].results:
            names = told if result.evidence is not Evidence.IMPLIED else likely
            names.add(plain_name(result.attribute or result.noun))
            if result.noun and result.attribute:
                names.add(f"{result.noun}_{plain_name(result.attribute)}")
        return replace(declared, names=declared.names | told, likely=frozenset(likely))


def words_of(name: str) -> list[str]:
    """Split the name of an argument, a field or a tool into its words, small and in the singular."""
    return [singular(word) for word in nouns.words_of(name)]


def plain_name(name: str) -> str:
    """Write a name in one way: ``orderIds``, ``order-id`` and ``OrderID`` are ``order_id``."""
    return "_".join(words_of(name))


def object_of(schema: object) -> dict[str, Any]:
    """A part of a schema as an object of keywords; what is none has none."""
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}


def listed(schema: Mapping[str, Any], word: str) -> tuple[object, ...]:
    """The members of a keyword that is a list; empty where it is none."""
    found = schema.get(word)
    return tuple(cast("list[object]", found)) if isinstance(found, list) else ()


def without_ids(result: str) -> str:
    """Leave the ids of things out of a result, as far as it is JSON; prose stays as it is.

    Args:
        result: What a call gave, and behind the last line break its structured content, where it has any.
    """
    return "\n".join(map(_part_without_ids, result.rpartition("\n")[::2]))


def _part_without_ids(text: str) -> str:
    try:
        value: JsonValue = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    is_plain = json_fault(value) is None
    return orjson.dumps(_others(value)).decode() if is_plain else text


def _others(value: JsonValue) -> JsonValue:
    """All but the members that are ids."""
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if words_of(name)[-1:] != ["id"]}
        return {name: _others(inner) for name, inner in kept.items()}
    return [_others(inner) for inner in value] if isinstance(value, list) else value


class _Reading:
    """One pass over a schema of results."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._num_parts = 0
        self.is_open = False
        """True where it takes objects whose members it does not name."""

    def fields(self, schema: object, *, owner: str, depth: int) -> Iterator[tuple[str, str]]:
        """The names of all properties, each with the plain name of what holds it."""
        self._num_parts += 1
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._num_parts > _MAX_PARTS:
            self.is_open = True
            return
        known = resolve(cast("dict[str, Any]", schema), self._root)
        branches = [b for word in ("anyOf", "oneOf", "allOf") for b in listed(known, word)]
        properties = object_of(known.get("properties", {}))
        self.is_open |= bool(known.get("additionalProperties"))
        if not properties and not branches and known.get("type") in ("object", None):
            self.is_open = True
        for name, inner in properties.items():
            yield name, owner
            yield from self.fields(inner, owner=plain_name(name), depth=depth + 1)
        for inner in (*branches, *([known["items"]] if "items" in known else ())):
            yield from self.fields(inner, owner=owner, depth=depth + 1)
