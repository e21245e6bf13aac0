"""What a caller who knows nothing sends: the arguments that a schema suggests by itself.

One definition for the acceptance, which refuses environments that such calls solve, and for the agent
that makes them. Knows JSON Schema alone.
"""

from collections.abc import Mapping
from typing import Any, cast

from astra_mcp.types import JsonObject, JsonValue

__all__ = ["guess_arguments", "guess_value", "resolve"]

_FORMATS = {
    "date": "2026-01-05",
    "date-time": "2026-01-05T09:00:00Z",
    "time": "09:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_MAX_DEPTH = 8
"""A schema that contains itself is followed so deep."""
_Schema = Mapping[str, Any]


def guess_arguments(schema: _Schema) -> JsonObject:
    """Choose arguments; optional ones only where the schema suggests a value.

    Defaults come first, then the first member of an enumeration, then the first example; where there is
    none, the simplest value of the type.
    """
    return _object(schema, schema, 0)


def guess_value(schema: _Schema) -> JsonValue:
    """Choose a value of one property: what its schema suggests, or the simplest of its type."""
    return _value(schema, schema, 0)


def resolve(schema: _Schema, root: _Schema) -> _Schema:
    """Follow a local reference of a property into its schema's root; one that leads nowhere is empty."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target: Any = root
    for step in reference[2:].split("/"):
        inner = cast("dict[str, Any]", target) if isinstance(target, dict) else {}
        target = inner.get(step, {})
    return cast("_Schema", target)


def _object(schema: _Schema, root: _Schema, depth: int) -> JsonObject:
    required = set(schema.get("required", ()))
    arguments: JsonObject = {}
    for name, spec in cast("dict[str, _Schema]", schema.get("properties", {})).items():
        if name in required or _suggested(spec, root, depth):
            arguments[name] = _value(spec, root, depth)
    return arguments


def _value(spec: _Schema, root: _Schema, depth: int) -> JsonValue:
    suggested = _suggested(spec, root, depth)
    return suggested[0] if suggested else _simplest(spec, root, depth)


def _suggested(spec: _Schema, root: _Schema, depth: int) -> tuple[JsonValue, ...]:
    """The value that the schema itself names, if any."""
    if depth > _MAX_DEPTH:
        return ()
    spec = resolve(spec, root)
    if "default" in spec and spec["default"] is not None:
        return (spec["default"],)
    if "const" in spec:
        return (spec["const"],)
    for key in ("enum", "examples"):
        if spec.get(key):
            return (spec[key][0],)
    for branch in _branches(spec):
        return _suggested(branch, root, depth + 1)
    return ()


def _simplest(spec: _Schema, root: _Schema, depth: int) -> JsonValue:
    """The simplest value of the type; bounds that are easy to keep are kept."""
    if depth > _MAX_DEPTH:
        return None
    spec = resolve(spec, root)
    branches = _branches(spec)
    if branches:
        return _value(branches[0], root, depth + 1)
    match _type(spec):
        case "boolean":
            value = True
        case "integer" | "number":
            value = _simplest_number(spec)
        case "array":
            value = [_value(spec.get("items") or {}, root, depth + 1)] * max(
                1, spec.get("minItems", 1)
            )
        case "object":
            value = _object(spec, root, depth + 1)
        case "null":
            value = None
        case _:
            text = _FORMATS.get(spec.get("format", ""), "example")
            value = text.ljust(spec.get("minLength", 0), "x")[: spec.get("maxLength")]
    return value


def _simplest_number(spec: _Schema) -> int | float:
    if "minimum" in spec:
        return spec["minimum"]
    if "exclusiveMinimum" in spec:
        return spec["exclusiveMinimum"] + 1
    return min(1, spec.get("maximum", 1), spec.get("exclusiveMaximum", 2) - 1)


def _branches(spec: _Schema) -> list[_Schema]:
    """The alternatives of a schema, without null."""
    branches = cast("list[_Schema]", spec.get("anyOf") or spec.get("oneOf") or [])
    return [branch for branch in branches if branch.get("type") != "null"]


def _type(spec: _Schema) -> str | None:
    kind = spec.get("type")
    if isinstance(kind, list):
        kinds = [k for k in cast("list[str]", kind) if k != "null"]
        return kinds[0] if kinds else "null"
    return kind
