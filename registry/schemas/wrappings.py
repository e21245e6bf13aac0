"""Schemas that stand one level too deep, in what was meant to hold them."""

from astra_mcp.types import JsonObject
from registry.schemas.faults import Notes
from registry.schemas.type_names import JSON_TYPES

__all__ = ["unwrapped"]

_WRAPPERS = ("function", "parameters", "inputSchema", "input_schema", "json", "schema")
"""Members of tool documents that hold the schema, or a document that does."""
_KEYWORDS = frozenset(
    {
        "$ref", "additionalProperties", "allOf", "anyOf", "not", "oneOf", "patternProperties",
        "properties", "required",
    }
)  # fmt: skip
"""Keywords that a schema of arguments is known by."""


def unwrapped(schema: JsonObject, place: str, notes: Notes) -> JsonObject:
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
            return unwrapped(inner, place, notes)
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
    return (
        bool(schema)
        and all(
            isinstance(member, dict) and member.get("type") in JSON_TYPES
            for member in schema.values()
        )
        and _KEYWORDS.isdisjoint(schema)
    )
