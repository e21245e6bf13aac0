"""The mark of what is made up: ``_meta`` of the tools and results of an emulated server.

Put on where a person looks at an interactive endpoint, never in an episode, where it would tell an
agent which tools are not real. Knows tools and results; knows neither servers nor endpoints.
"""

from typing import Final

from astra_mcp.types import EmulatorKind, JsonObject, ToolResult, ToolSpec

__all__ = ["EMULATOR_KEY", "mark_result", "mark_tool"]

EMULATOR_KEY: Final = "dev.astra-mcp/emulator"
"""``_meta`` of a tool and of a result: who makes it up."""


def mark_tool(tool: ToolSpec, emulator: EmulatorKind | None) -> ToolSpec:
    """Say who makes up a tool's answers; None where they are real."""
    if emulator is None:
        return tool
    meta: JsonObject = {**(tool.extra.get("_meta") or {}), EMULATOR_KEY: emulator.value}
    return tool.model_copy(update={"extra": {**tool.extra, "_meta": meta}})


def mark_result(result: ToolResult, emulator: EmulatorKind | None) -> ToolResult:
    """Say who made up a result; None where it is real."""
    if emulator is None:
        return result
    meta: JsonObject = {**(result.meta or {}), EMULATOR_KEY: emulator.value}
    return result.model_copy(update={"meta": meta})
