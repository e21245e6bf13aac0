"""What an agent sees of a tool's answer: the one rule of how values and errors become results.

Used by the acceptance and by whoever serves a bundle, so that what was verified is what is served.
"""

from collections.abc import Sequence

from astra_mcp.sandbox.protocol import Raised, Returned
from astra_mcp.types import ToolResult, ToolSpec

__all__ = ["render_answer", "render_refusal"]


def render_answer(tool: ToolSpec, answer: Returned | Raised) -> ToolResult:
    """Render what tool code returned or raised.

    A value is structured as well where the tool declares an output schema. Printed text is dropped.
    """
    if isinstance(answer, Raised):
        text = f"{answer.kind}: {answer.message}" if answer.message else answer.kind
        return ToolResult.from_text(text, is_error=True)
    return ToolResult.from_value(answer.value, structured=tool.output_schema is not None)


def render_refusal(tool: str, faults: Sequence[str]) -> ToolResult:
    """Render why a call's arguments never reached the tool."""
    text = f"Invalid arguments for {tool}:\n" + "\n".join(f"- {fault}" for fault in faults)
    return ToolResult.from_text(text, is_error=True)
