"""Can the job be solved without knowing anything?"""

from collections.abc import AsyncIterator, Callable

from astra_mcp.environments.acceptance.playing import PlannedCall, Player
from astra_mcp.environments.acceptance.refusals import takes_alone
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.reward import solved_by
from astra_mcp.types import JsonObject, Origin, ToolSpec
from astra_mcp.values.guesses import guess_arguments

__all__ = ["guessing_failures"]


async def guessing_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Call each tool once with what its schema suggests, and once with as little as it takes."""
    for guess, remedy in _ROUNDS:
        guesses = (PlannedCall(t.name, guess(t)) for t in player.tools.values())
        calls = [call for call in guesses if player.accepts(call)]
        for call, seen in zip(calls, await player.play(calls), strict=False):
            solved = sorted(solved_by(player.bundle.job, call.tool, seen.result, Origin.TOOL))
            told = remedy if call.arguments else "it needs neither an argument nor a call before it"
            if solved:
                yield FailedCheck.of(Check.GUESSABLE, f"{call} solves {solved}; {told}")


def _least_arguments(tool: ToolSpec) -> JsonObject:
    """Required arguments alone, and null wherever it is taken."""
    required = tool.input_schema.get("required", ())
    guessed = guess_arguments(tool.input_schema)
    return {
        **{n: v for n, v in guessed.items() if n in required},
        **{n: None for n in tool.input_schema["properties"] if takes_alone(tool, n, None)},
    }


_ROUNDS: tuple[tuple[Callable[[ToolSpec], JsonObject], str], ...] = (
    (
        lambda tool: guess_arguments(tool.input_schema),
        "reorder its enum or examples, or choose another default",
    ),
    (_least_arguments, "require what identifies the record, and refuse calls without it"),
)
"""What is guessed, and what helps where it solves anything."""
