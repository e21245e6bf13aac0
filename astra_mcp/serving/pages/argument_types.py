"""What a JSON Schema says of one argument: its type without null, in words, and by an example.

Knows schemas, as untrusted as whoever wrote them; knows neither forms nor what was written there.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from astra_mcp.types import JsonObject, JsonValue

__all__ = ["NarrowedPart", "finite", "narrowed", "sample", "schema_object", "type_words"]

_MAX_REFERENCES = 16
_MAX_EXAMPLE_DEPTH = 3
_MAX_EXAMPLE_FIELDS = 8
_EXAMPLES: Mapping[str, JsonValue] = {
    "string": "text",
    "integer": 1,
    "number": 2.5,
    "boolean": True,
}


class NarrowedPart(NamedTuple):
    """What a schema says of an argument that is not null."""

    part: dict[str, Any]
    is_nullable: bool


def _resolved(part: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references within the schema; one that leads elsewhere says nothing."""
    for _ in range(_MAX_REFERENCES):
        fields = schema_object(part)
        reference = fields.get("$ref")
        if not isinstance(reference, str):
            return fields
        found: Any = root
        for step in reference.removeprefix("#/").split("/"):
            found = schema_object(found).get(step)
        part = {**schema_object(found), **{k: v for k, v in fields.items() if k != "$ref"}}
    return {}


def narrowed(part: Any, root: Mapping[str, Any]) -> NarrowedPart:
    """Take null out of what an argument may be, where one thing remains."""
    part, is_nullable = _resolved(part, root), False
    for _ in range(_MAX_REFERENCES):
        unions = [key for key in ("anyOf", "oneOf") if isinstance(part.get(key), list)]
        if len(unions) != 1:
            break
        branches = [_resolved(each, root) for each in cast("list[Any]", part[unions[0]])]
        others = [each for each in branches if not _is_null(each)]
        if len(others) != 1:
            break
        is_nullable = is_nullable or len(others) < len(branches)
        part = {**others[0], **{k: v for k, v in part.items() if k != unions[0]}}
    named = part.get("type")
    if isinstance(named, list):
        others = [each for each in cast("list[Any]", named) if each != "null"]
        if len(others) == 1:
            is_nullable = is_nullable or len(others) < len(cast("list[Any]", named))
            part = {**part, "type": others[0]}
    return NarrowedPart(part, is_nullable)


def _is_null(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "null" or part.get("const", 0) is None or part.get("enum") == [None]


def schema_object(value: Any) -> dict[str, Any]:
    """Take an object, or an empty one in place of anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def sample(part: Any, root: Mapping[str, Any], depth: int = 0) -> JsonValue:
    """Make up a value of the type that a schema names; of the first one, where it names several."""
    part = narrowed(part, root).part
    said = [*_list(part.get("examples"))[:1], *_list(part.get("enum"))[:1]]
    said += [part[key] for key in ("const", "default") if key in part]
    told = [value for value in said if value not in (None, [], {})]
    if told:
        return cast("JsonValue", told[0])
    branches = _list(part.get("anyOf")) or _list(part.get("oneOf"))
    branches = [each for each in branches if not _is_null(_resolved(each, root))]
    if branches and depth < _MAX_EXAMPLE_DEPTH:
        return sample(branches[0], root, depth + 1)
    return _sample_of_type(part, root, depth)


def _sample_of_type(part: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> JsonValue:
    named = part.get("type")
    named = next((each for each in _list(named) if each != "null"), named)
    low = finite(part.get("minimum"))
    match named:
        case "array":
            items = part.get("items", {})
            return [sample(items, root, depth + 1)] if depth < _MAX_EXAMPLE_DEPTH else []
        case "object":
            return _sample_object(part, root, depth)
        case "integer" | "number" if low is not None:
            return low
        case "string" if part.get("format") == "date":
            return "2026-01-31"
        case _:
            return _EXAMPLES.get(str(named), "text")


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _sample_object(part: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> JsonObject:
    properties = schema_object(part.get("properties"))
    names = [
        name for name in _list(part.get("required")) if isinstance(name, str) and name in properties
    ]
    if depth >= _MAX_EXAMPLE_DEPTH:
        return {}
    return {
        name: sample(properties[name], root, depth + 1)
        for name in (names or list(properties))[:_MAX_EXAMPLE_FIELDS]
    }


def finite(value: object) -> JsonValue:
    """Take a bound that is a number, and nothing else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # no number of JSON's readers
        return None


def type_words(part: Mapping[str, Any], root: Mapping[str, Any], *, is_nullable: bool) -> str:
    """Say in few words what is allowed."""
    said = [" or ".join([*_type_names(part, root), *(["null"] if is_nullable else [])])]
    if isinstance(part.get("format"), str):
        said.append(part["format"])
    bounds = {
        "minimum": "at least",
        "maximum": "at most",
        "minLength": "at least",
        "maxLength": "at most",
    }
    for key, phrase in bounds.items():
        if finite(part.get(key)) is not None:
            said.append(f"{phrase} {part[key]}{' characters' if key.endswith('Length') else ''}")
    if isinstance(part.get("pattern"), str):
        said.append(f"like {part['pattern']}")
    return ", ".join(said)


def _type_names(part: Mapping[str, Any], root: Mapping[str, Any]) -> list[str]:
    named = part.get("type")
    branches = part.get("anyOf", part.get("oneOf"))
    if named is None and isinstance(branches, list):
        named = [_resolved(each, root).get("type") for each in cast("list[Any]", branches)]
        named = list(dict.fromkeys(named)) if all(isinstance(each, str) for each in named) else None
    if isinstance(named, list):
        return [str(each) for each in cast("list[object]", named)] or ["any JSON"]
    choice = "a choice" if "enum" in part or "const" in part else "any JSON"
    return [str(named) if named else choice]
