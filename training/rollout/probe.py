"""The agent that calls each tool once, without thinking.

It sends defaults, the first member of each enumeration and the first example: what a bundle may not give
its answers away to. Elsewhere it sends the simplest value of the type.
"""

from collections.abc import Mapping
from typing import Any, cast

from astra_mcp.trajectory import AgentInfo, StopReason
from astra_mcp.types import JsonObject, JsonValue
from training.rollout.agent import CallRequest, EpisodeView

__all__ = ["ProbeAgent", "probe_arguments"]

_FORMATS = {
    "date": "2026-01-05",
    "date-time": "2026-01-05T09:00:00Z",
    "time": "09:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_Schema = Mapping[str, Any]


class ProbeAgent:
    """Calls each tool once, in the order of the list."""

    info = AgentInfo(name="probe")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Make one call to each tool, one a turn."""
        for tool in episode.tools:
            arguments = probe_arguments(tool.input_schema)
            await episode.take_turn([CallRequest.of(tool.name, arguments)])
        episode.answer("Every tool has been called once.")
        return StopReason.ANSWER


def probe_arguments(schema: _Schema) -> JsonObject:
    """Choose the arguments that a schema suggests; optional ones only where it suggests a value."""
    required = set(schema.get("required", ()))
    properties = cast("dict[str, _Schema]", schema.get("properties", {}))
    arguments: JsonObject = {}
    for name, spec in properties.items():
        suggested = _suggested(spec)
        if suggested:
            arguments[name] = suggested[0]
        elif name in required:
            arguments[name] = _simplest(spec)
    return arguments


def _suggested(spec: _Schema) -> tuple[JsonValue, ...]:
    """The value that the schema itself names, if any."""
    if "default" in spec and spec["default"] is not None:
        return (spec["default"],)
    if "const" in spec:
        return (spec["const"],)
    for key in ("enum", "examples"):
        if spec.get(key):
            return (spec[key][0],)
    for branch in _branches(spec):
        return _suggested(branch)
    return ()


def _simplest(spec: _Schema) -> JsonValue:
    """The simplest value of the type; bounds that are easy to keep are kept."""
    branches = _branches(spec)
    if branches:
        suggested = _suggested(branches[0])
        return suggested[0] if suggested else _simplest(branches[0])
    match _type(spec):
        case "boolean":
            value = True
        case "integer" | "number":
            value = _simplest_number(spec)
        case "array":
            item = spec.get("items", {})
            value = [*(_suggested(item) or (_simplest(item),))] * max(1, spec.get("minItems", 1))
        case "object":
            value = probe_arguments(spec)
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
