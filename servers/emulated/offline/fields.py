"""The fields of entities, as the schemas of tools show them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.guesses import resolve
from astra_mcp.values.merging import Schema
from astra_mcp.values.nouns import key_of, singular, words_of
from astra_mcp.values.vocabulary import WRAPPINGS, Meaning, meaning_of
from servers.emulated.parameters import Parameter, Role, key_suffix
from servers.emulated.verbs import ToolReading, Verb

__all__ = [
    "NESTED",
    "PAIRED",
    "Field",
    "attribute_of",
    "inner_fields",
    "input_fields",
    "is_documented",
    "item_schema",
    "output_fields",
    "range_of",
]

_ID_ENDINGS: Final = frozenset(("id", "uuid", "guid", "uid", "gid", "pid", "identifier", "ref"))
_BODIES: Final = frozenset(
    (
        "body", "data", "fields", "properties", "updates", "update", "changes", "attributes", "payload",
        "input", "inputs", "params", "values", "request", "patch", "request_body", "item", "items",
        "details", "record", "records",
    )
)  # fmt: skip
_UNTOLD: Final = _BODIES - {"body", "details", "input", "inputs", "values", "item", "items"}
"""A text under one of these names is JSON of which nothing is said."""
PAIRED: Final = frozenset(
    ("field_name", "field", "column", "column_name", "property", "property_name")
)
"""Name the member of which a ``value`` beside them says what it is to be."""
NESTED: Final = frozenset(("fields", "properties", "attributes"))
"""What callers name themselves stands under these names in answers, too."""
_LEAST: Final = re.compile(r"^(?:min|minimum)_(\w+)$|^(\w+)_(?:min|gte|gt|from|after|since)$")
_MOST: Final = re.compile(r"^(?:max|maximum)_(\w+)$|^(\w+)_(?:max|lte|lt|to|before|until)$")
_EDGES: Final = frozenset(
    (
        "since", "until", "after", "before", "from", "to", "start", "end", "start_date", "end_date",
        "from_date", "to_date", "start_time", "end_time", "date_from", "date_to", "time_min", "time_max",
        "from_timestamp", "to_timestamp", "date_range", "time_range", "timeframe", "period", "lookback",
        "days",
    )
)  # fmt: skip
"""Bound a list by its times; no field of its entities is named so."""
_OF_ANSWERS: Final = frozenset(("success", "ok", "deleted", "has_more", "total", "next_cursor"))
"""Members of answers that say nothing of an entity."""
_DEEPEST: Final = 3
_FEW_MEMBERS: Final = 5
"""An object of so few, one of them a list, is the wrapping of the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A property that entities of a noun have."""

    name: str
    """As shown."""
    key: str
    """In normal form."""
    schema: object
    root: Schema
    """Where the references of the schema begin."""
    reference: str | None = None
    """The noun of the same server whose entity it names."""
    is_declared: bool = False
    """An output schema says that it is there."""


def input_fields(tool: ToolSpec, reading: ToolReading, noun: str) -> Iterator[Field]:
    """The fields that a tool takes."""
    is_filter = reading.verb in (Verb.LIST, Verb.SEARCH)
    for parameter in reading.parameters:
        if parameter.role is not Role.FIELD or parameter.name == reading.id_parameter:
            continue
        if is_filter and not _is_member(parameter):
            continue
        if parameter.key in _UNTOLD and "string" in parameter.types and len(parameter.types) == 1:
            continue
        inner = None if is_filter else inner_fields(parameter, noun, tool.input_schema)
        if inner is not None:
            for name, schema in inner.items():
                yield Field(name=name, key=key_of(name), schema=schema, root=tool.input_schema)
        else:
            key = parameter.key.removeprefix("new_")
            name = parameter.name if key == parameter.key else key
            reference = reading.references.get(parameter.name)
            yield Field(
                name=name,
                key=key,
                schema=parameter.schema,
                root=tool.input_schema,
                reference=reference,
            )


def _is_member(parameter: Parameter) -> bool:
    """Say whether a filter names a property of what it filters, rather than a way of its own."""
    if range_of(parameter.key) or not parameter.is_scalar:
        return False
    is_told = (
        parameter.is_required or "enum" in parameter.schema or key_suffix(parameter.key)[1] != ""
    )
    return is_told or meaning_of(parameter.key)[0] is not Meaning.UNKNOWN


def inner_fields(parameter: Parameter, noun: str, root: Schema) -> Mapping[str, Any] | None:
    """The members of an argument that holds a whole entity, or many; None where it is a field itself.

    Empty where nothing is said of them.
    """
    is_body = parameter.key in _BODIES or singular(parameter.key) in (noun, noun.rpartition("_")[2])
    if not is_body or parameter.types.isdisjoint(("object", "array")):
        return None
    schema = item_schema(parameter.schema, root) if "array" in parameter.types else parameter.schema
    members: Any = schema.get("properties")
    if isinstance(members, dict):
        return cast("dict[str, Any]", members)
    if parameter.key in NESTED:
        return None
    is_object = "object" in parameter.types or schema.get("type") == "object"
    return {} if is_object else None


def output_fields(tool: ToolSpec, noun: str) -> Iterator[Field]:
    """The fields of the entities that an output schema shows."""
    root = tool.output_schema
    if root is None:
        return
    for name, schema in _entity_members(root, root, noun, 0).items():
        if key_of(name) not in _OF_ANSWERS:
            key = key_of(name)
            yield Field(name=name, key=key, schema=schema, root=root, is_declared=True)


def _entity_members(schema: Schema, root: Schema, noun: str, depth: int) -> Mapping[str, Any]:
    """The members of the object that is an entity: in a list, under its noun, or the whole answer."""
    found = resolve(schema, root)
    if depth > _DEEPEST:
        return {}
    if isinstance(found.get("items"), dict):
        return _entity_members(found["items"], root, noun, depth + 1)
    members: Any = found.get("properties")
    if not isinstance(members, dict):
        return {}
    named = cast("dict[str, Any]", members)
    for inner in _wrapped(named, root, noun):
        deeper = _entity_members(inner, root, noun, depth + 1)
        if deeper:
            return deeper
    return named


def _wrapped(named: Mapping[str, Any], root: Schema, noun: str) -> Iterator[Schema]:
    """The members that may hold the entity: one of its name, the usual wrappings, or the only list."""
    objects = {name: cast("Schema", s) for name, s in named.items() if isinstance(s, dict)}
    yield from (schema for name, schema in objects.items() if singular(key_of(name)) == noun)
    yield from (schema for name, schema in objects.items() if key_of(name) in WRAPPINGS)
    lists = [s for s in objects.values() if "items" in resolve(s, root)]
    if len(lists) == 1 and len(named) <= _FEW_MEMBERS:
        yield lists[0]


def item_schema(schema: Schema, root: Schema) -> Schema:
    """The schema of the items where a schema is one of lists; else itself."""
    items = schema.get("items")
    return resolve(cast("Schema", items), root) if isinstance(items, dict) else schema


def attribute_of(key: str, noun: str) -> str:
    """Which field of its noun a parameter names: ``note_id`` the ``id``, ``branchName`` the ``name``."""
    of, how = key_suffix(key)
    if how:
        return "id" if how in _ID_ENDINGS else how
    one = singular(key)
    for head in (noun, noun.rpartition("_")[2]):
        if one == head:
            return "name" if len(words_of(key)) == 1 and head == noun else one
        if one.startswith(f"{head}_"):
            return one.removeprefix(f"{head}_")
    return of or one


def range_of(key: str) -> tuple[str, int] | None:
    """The field that a filter bounds, and whether from below (1) or above (-1); None for other filters.

    The field is empty where the filter bounds time, or a number of answers, in a way of its own.
    """
    for sign, pattern in ((1, _LEAST), (-1, _MOST)):
        match = pattern.match(key)
        if match and key not in _EDGES:
            return next(group for group in match.groups() if group), sign
    return ("", 0) if key in _EDGES else None


def is_documented(value: JsonValue, tool: ToolSpec, parameter: str) -> bool:
    """Say whether the documents themselves name a value, as an example of what there is."""
    schema: Any = tool.input_schema.get("properties", {}).get(parameter, {})
    if isinstance(value, bool | dict | list) or value is None or not isinstance(schema, dict):
        return False
    named = cast("dict[str, Any]", schema)
    said = [
        str(named.get(word, "")) for word in ("description", "examples", "enum", "default", "const")
    ]
    if re.search(
        r"\d\D|\D\d", str(value)
    ):  # a number alone, or a word, may stand there for anything
        said.append(tool.description)
    return re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", "\n".join(said)) is not None
