"""What a caller who knows nothing sends: the arguments that a schema suggests by itself.

One definition for the acceptance, which refuses environments that such calls solve, and for the agent
that makes them. Knows JSON Schema alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from astra_mcp.types import JsonObject, JsonValue

__all__ = ["ChooseText", "guess_arguments", "guess_value", "resolve"]

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
ChooseText = Callable[[_Schema], str | None]
"""Chooses a text for a schema of one; None leaves it to the schema."""


def guess_arguments(
    schema: _Schema, *, text: ChooseText | None = None, only_required: bool = False
) -> JsonObject:
    """Choose arguments; optional ones only where the schema, or who chooses texts, suggests a value.

    Defaults come first, then the first member of an enumeration, then the first example; where there is
    none, the simplest value of the type.

    Args:
        schema: Of the arguments.
        text: Chooses every free text, before anything else does.
        only_required: Leave out what is optional, at every depth.
    """
    return _Guess(schema, text, only_required).object(schema, 0)


def guess_value(schema: _Schema) -> JsonValue:
    """Choose a value of one property: what its schema suggests, or the simplest of its type."""
    return _Guess(schema).value(schema, 0)


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


@dataclass(frozen=True, slots=True)
class _Guess:
    """Guesses values under one root."""

    root: _Schema
    text: ChooseText | None = None
    only_required: bool = False

    def object(self, schema: _Schema, depth: int) -> JsonObject:
        required = set(schema.get("required", ()))
        arguments: JsonObject = {}
        for name, spec in cast("dict[str, _Schema]", schema.get("properties", {})).items():
            is_wanted = not self.only_required and bool(self._suggested(spec, depth))
            if name in required or is_wanted:
                arguments[name] = self.value(spec, depth)
        return arguments

    def value(self, spec: _Schema, depth: int) -> JsonValue:
        suggested = self._suggested(spec, depth)
        return suggested[0] if suggested else self._simplest(spec, depth)

    def _suggested(self, spec: _Schema, depth: int) -> tuple[JsonValue, ...]:
        """The text that was chosen, or the value that the schema itself names, if any."""
        if depth > _MAX_DEPTH:
            return ()
        spec = resolve(spec, self.root)
        chosen = self.text(spec) if self.text is not None and _is_free_text(spec) else None
        if chosen is not None:
            return (chosen,)
        named = _named(spec)
        branches = () if named else _branches(spec)[:1]
        return next((self._suggested(branch, depth + 1) for branch in branches), named)

    def _simplest(self, spec: _Schema, depth: int) -> JsonValue:
        """The simplest value of the type; bounds that are easy to keep are kept."""
        if depth > _MAX_DEPTH:
            return None
        spec = resolve(spec, self.root)
        branches = _branches(spec)
        if branches:
            return self.value(branches[0], depth + 1)
        match _type(spec):
            case "boolean":
                value = True
            case "integer" | "number":
                value = _simplest_number(spec)
            case "array":
                value = [self.value(spec.get("items") or {}, depth + 1)] * max(
                    1, spec.get("minItems", 1)
                )
            case "object":
                value = self.object(spec, depth + 1)
            case "null":
                value = None
            case _:
                text = _FORMATS.get(spec.get("format", ""), "example")
                value = text.ljust(spec.get("minLength", 0), "x")[: spec.get("maxLength")]
        return value


def _named(spec: _Schema) -> tuple[JsonValue, ...]:
    if spec.get("default") is not None:
        return (spec["default"],)
    if "const" in spec:
        return (spec["const"],)
    lists = (spec[key] for key in ("enum", "examples") if spec.get(key))
    return next(((members[0],) for members in lists), ())


def _is_free_text(spec: _Schema) -> bool:
    return _type(spec) == "string" and not spec.get("enum") and "const" not in spec


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
