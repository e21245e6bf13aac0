"""Can the job be solved without knowing anything?"""

from astra_mcp.environments.acceptance.neighbours import known_values, property_of, some_value
from astra_mcp.environments.acceptance.playing import PlannedCall, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle
from astra_mcp.reward import solved_by
from astra_mcp.types import Origin, ToolSpec

__all__ = ["guessing_failures"]


async def guessing_failures(bundle: Bundle, player: Player) -> list[FailedCheck]:
    """Call each tool once, with defaults and the first values that its schema names."""
    calls = [c for c in map(_simplest_call, bundle.document.tools) if player.accepts(c)]
    seen = await player.play(calls)
    failures: list[FailedCheck] = []
    for call, observed in zip(calls, seen, strict=False):
        solved = solved_by(bundle.job, call.tool, observed.result, Origin.TOOL)
        if solved:
            detail = f"{call} solves {sorted(solved)}; reorder the enum, examples or default"
            failures.append(FailedCheck.of(Check.GUESSABLE, detail))
    return failures


def _simplest_call(tool: ToolSpec) -> PlannedCall:
    schemas = {n: property_of(tool, n) for n in tool.input_schema["properties"]}
    required = tool.input_schema.get("required", ())
    return PlannedCall(
        tool.name,
        {n: some_value(s) for n, s in schemas.items() if n in required or known_values(s)},
    )
