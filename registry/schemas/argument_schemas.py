"""Making the schema of a tool's arguments, and that of its result, from what its document says."""

from typing import Any

from astra_mcp.schemas import SchemaError, compile_schema
from astra_mcp.types import JsonObject, JsonValue, canonical_json
from registry.schemas.faults import NotConvertibleError, Notes, json_type
from registry.schemas.root import root_object
from registry.schemas.translation import translate
from registry.schemas.type_names import JSON_TYPES

__all__ = ["normalise_arguments", "normalise_result"]

_WRAPPERS = ("function", "parameters", "inputSchema", "input_schema", "json", "schema")
"""Members of tool documents that hold the schema, or a document that does."""
_KEYWORDS = frozenset(
    {
        "$ref", "additionalProperties", "allOf", "anyOf", "not", "oneOf", "patternProperties",
        "properties", "required",
    }
)  # fmt: skip
"""Keywords that a schema of arguments is known by."""


NormalSchema = tuple[dict[str, Any], tuple[str, ...]]
"""A schema that every consumer can read, and what was changed in its meaning, naming the places."""


def normalise_arguments(found: JsonValue, place: str) -> NormalSchema:
    """Write the schema of a tool's arguments anew.

    Args:
        found: As the document has it; None where it has none, which is a tool without arguments.
        place: What to call it in notes and faults.

    Raises:
        NotConvertibleError: Arguments are no object, or a part cannot be mapped.
    """
    notes = Notes()
    if found is None:
        return {"type": "object", "properties": {}}, ()
    if not isinstance(found, dict | bool):
        raise NotConvertibleError(place, f"must be a schema, and is {json_type(found)}")
    whole = found if isinstance(found, bool) else _unwrapped(found, place, notes)
    return _finished(_translated(whole, place, notes), place, notes)


def normalise_result(found: JsonValue, place: str) -> NormalSchema:
    """Write the schema of a tool's structured result anew.

    MCP takes no other results than objects before its revision of 2026-07-28, and a tool is served to
    clients of every revision.

    Raises:
        NotConvertibleError: Results may be something else than an object, or a part cannot be mapped.
    """
    notes = Notes()
    if not isinstance(found, dict):
        raise NotConvertibleError(place, f"must be a schema, and is {json_type(found)}")
    schema = _translated(found, place, notes)
    if not _is_of_objects(schema):
        raise NotConvertibleError(place, "must be that of an object")
    return _finished(schema, place, notes)


def _is_of_objects(schema: dict[str, Any]) -> bool:
    """Say whether a schema takes objects alone, or was meant to."""
    if "type" in schema or "properties" in schema:
        return schema.get("type", "object") == "object"
    if any(_is_of_objects(part) for part in schema.get("allOf", ())):
        return True
    choices = schema.get("anyOf") or schema.get("oneOf") or ()
    return bool(choices) and all(_is_of_objects(choice) for choice in choices)


def _translated(found: JsonObject | bool, place: str, notes: Notes) -> dict[str, Any]:
    schema = found if isinstance(found, bool) else translate(found, place, notes)
    if schema is False:
        raise NotConvertibleError(place, "takes nothing at all")
    return {} if schema is True else schema


def _finished(translated: dict[str, Any], place: str, notes: Notes) -> NormalSchema:
    """Write the root as providers take it, and check the whole."""
    schema = root_object(translated, place, notes)
    try:
        canonical_json(schema)
    except TypeError as error:
        raise NotConvertibleError(place, f"cannot be written as JSON: {error}") from None
    try:
        compile_schema(schema)
    except SchemaError as error:
        raise NotConvertibleError(place, str(error)) from None
    return schema, notes.all()


def _unwrapped(schema: JsonObject, place: str, notes: Notes) -> JsonObject:
    """Find the schema of the arguments in what was given for it.

    It may be the whole document of the tool, a schema of ``{"type": ..., "properties": {...}}`` in the place
    of properties, or the properties alone.
    """
    for member in _WRAPPERS:
        inner = schema.get(member)
        if isinstance(inner, dict) and _KEYWORDS.isdisjoint(schema):
            if member in ("json", "schema", "parameters") and not _is_schema(inner):
                continue
            notes.changed(place, f"read from its member {member!r}")
            return _unwrapped(inner, place, notes)
    inner = schema.get("properties")
    if isinstance(inner, dict) and inner.get("type") == "object" and _is_map(inner):
        notes.changed(f"{place}.properties", "holds a whole schema, read in place of the root")
        return inner
    if _is_bare(schema):
        notes.changed(place, "holds properties alone, read as an object of them")
        return {"type": "object", "properties": schema}
    return schema


def _is_schema(value: JsonObject) -> bool:
    return not _KEYWORDS.isdisjoint(value) or value.get("type") == "object"


def _is_map(schema: JsonObject) -> bool:
    properties = schema.get("properties")
    return isinstance(properties, dict) and all(isinstance(p, dict) for p in properties.values())


def _is_bare(schema: JsonObject) -> bool:
    """True where every member is a schema with a type, and none a keyword of one."""
    members = schema.values()
    are_schemas = all(isinstance(m, dict) and m.get("type") in JSON_TYPES for m in members)
    return bool(schema) and are_schemas and _KEYWORDS.isdisjoint(schema)
