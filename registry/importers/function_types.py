"""Parameters of functions as data sets of function calls write them, brought into the shape of a schema.

xLAM and its like list parameters without an object around them and name types as Python does:
``List[int]``, ``str, optional``. Names of single types (``dict``, ``float``, ``any``) are left as found.
"""

import re
from collections.abc import Mapping
from typing import Final

from astra_mcp.types import JsonObject, JsonValue

__all__ = ["shape_parameters"]

_MAX_DEPTH: Final = 50
_GENERIC: Final = re.compile(r"\s*([\w.]+)\s*\[(.*)\]\s*", re.DOTALL)
_OPTIONAL: Final = re.compile(r",\s*(optional|default\b.*)\s*$", re.IGNORECASE | re.DOTALL)
_LISTS: Final = frozenset(
    {"arraylist", "collection", "iterable", "list", "sequence", "set", "tuple"}
)
_MAPS: Final = frozenset({"dict", "hashmap", "map", "mapping"})
_SCHEMA_WORDS: Final = frozenset(
    {"$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "properties", "required"}
)


def shape_parameters(parameters: JsonValue) -> JsonValue:
    """Give parameters the shape of an object schema; what has it, or is none at all, stays as found."""
    if not isinstance(parameters, dict):
        return parameters
    if isinstance(parameters.get("type"), str) or not parameters.keys().isdisjoint(_SCHEMA_WORDS):
        return _with_types(parameters, 0)
    parts = {name: part for name, part in parameters.items() if isinstance(part, dict)}
    if len(parts) < len(parameters):
        return parameters
    properties: JsonObject = {name: _with_types(part, 1) for name, part in parts.items()}
    schema: JsonObject = {"type": "object", "properties": properties}
    required = [name for name, part in parts.items() if _is_required(part)]
    return {**schema, "required": [*required]} if required else schema


def _is_required(part: Mapping[str, JsonValue]) -> bool:
    said = part.get("required")
    if isinstance(said, bool):
        return said
    kind = part.get("type")
    return "default" not in part and not (isinstance(kind, str) and _OPTIONAL.search(kind))


def _with_types(schema: JsonValue, depth: int) -> JsonValue:
    """Rewrite the types of a schema and of those in it; a property called ``type`` is none."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return schema
    result = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        result["properties"] = {n: _with_types(p, depth + 1) for n, p in properties.items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            result[keyword] = _with_types(schema[keyword], depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list):
            result[keyword] = [_with_types(branch, depth + 1) for branch in branches]
    kind = schema.get("type")
    if isinstance(kind, str):
        result |= {k: v for k, v in _read_type(kind, 0).items() if k == "type" or k not in result}
    return result


def _read_type(text: str, depth: int) -> JsonObject:
    """Read the name of a type as Python writes it; one that is not generic stays as it is."""
    plain = _OPTIONAL.sub("", text).strip()
    match = _GENERIC.fullmatch(plain)
    if match is None or depth > _MAX_DEPTH:
        return {"type": plain}
    name = match[1].rpartition(".")[2].lower()
    parts = _split(match[2])
    if name in _LISTS:
        return {"type": "array", "items": _read_type(parts[0], depth + 1)}
    if name in _MAPS:
        return {"type": "object", "additionalProperties": _read_type(parts[-1], depth + 1)}
    if name == "optional":
        return _read_type(parts[0], depth + 1)
    if name == "union":
        return {"type": "any", "anyOf": [_read_type(part, depth + 1) for part in parts]}
    return {"type": plain}


def _split(text: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    parts, level = [""], 0
    for character in text:
        level += (character == "[") - (character == "]")
        if character == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
