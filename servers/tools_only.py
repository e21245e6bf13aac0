"""What servers have in common that have tools and nothing else: the base of environments and emulations.

Satisfies a part of the gateway's ``Upstream`` structurally. Knows neither tools nor sessions.
"""

from collections.abc import Iterable, Mapping, Sequence

from astra_mcp.environments.rendering import render_refusal
from astra_mcp.types import (
    CallOutcome,
    JsonValue,
    Origin,
    ServerStatus,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)

__all__ = ["ToolsOnly", "error_reply", "refuse_arguments", "refuse_unknown"]


class ToolsOnly:
    """Always ready; never relays."""

    relays = False
    """Tools are all there is."""
    instructions: str | None = None
    """The question, or the description of each tool, says what to do."""
    status = (ServerStatus.READY, "")
    """What fails later is a failure of its episode."""

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """Tools."""
        return {"tools": {}}

    @property
    def warnings(self) -> tuple[str, ...]:
        """None."""
        return ()

    async def prepare(self) -> None:
        """Everything is known."""


def error_reply(
    text: str, origin: Origin, outcome: CallOutcome = CallOutcome.REJECTED, *, cause: str = ""
) -> UpstreamReply:
    """Answer a call with an error; the cause is for the record alone."""
    result = ToolResult.from_text(text, is_error=True)
    return UpstreamReply(result=result, origin=origin, outcome=outcome, cause=cause)


def refuse_unknown(tool: str, tools: Iterable[ToolSpec]) -> UpstreamReply:
    """Answer a call of a tool that there is not, with those that there are."""
    names = ", ".join(known.name for known in tools)
    return error_reply(f"There is no tool named {tool!r}. Available tools: {names}.", Origin.TOOL)


def refuse_arguments(tool: str, faults: Sequence[str]) -> UpstreamReply:
    """Answer a call whose arguments have faults."""
    return UpstreamReply(
        result=render_refusal(tool, faults), origin=Origin.TOOL, outcome=CallOutcome.REJECTED
    )
