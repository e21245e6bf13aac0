"""Can the job be solved without knowing anything?"""

from collections.abc import Iterator

from astra_mcp.environments.acceptance.playing import PlannedCall, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle
from astra_mcp.reward import solved_by
from astra_mcp.schemas import compile_validator
from astra_mcp.types import JsonObject, Origin, ToolSpec
from astra_mcp.values.guesses import guess_arguments
from astra_mcp.values.neighbours import property_of

__all__ = ["guessing_failures"]


async def guessing_failures(bundle: Bundle, player: Player) -> list[FailedCheck]:
    """Call each tool once with what its schema suggests, and once with as little as it takes."""
    rounds = {
        "reorder its enum or examples, or choose another default": [
            guess_arguments(t.input_schema) for t in bundle.document.tools
        ],
        "require what identifies the record, and refuse calls without it": [
            _least_arguments(t) for t in bundle.document.tools
        ],
    }
    failures: list[FailedCheck] = []
    for remedy, guesses in rounds.items():
        tools = bundle.document.tools
        calls = [PlannedCall(t.name, a) for t, a in zip(tools, guesses, strict=True)]
        for call, solved in await _solving(bundle, player, [c for c in calls if player.accepts(c)]):
            told = remedy if call.arguments else "it needs neither an argument nor a call before it"
            failures.append(FailedCheck.of(Check.GUESSABLE, f"{call} solves {solved}; {told}"))
    return failures


async def _solving(
    bundle: Bundle, player: Player, calls: list[PlannedCall]
) -> list[tuple[PlannedCall, list[int]]]:
    seen = await player.play(calls)
    solved = [
        sorted(solved_by(bundle.job, call.tool, observed.result, Origin.TOOL))
        for call, observed in zip(calls, seen, strict=False)
    ]
    return [(call, found) for call, found in zip(calls, solved, strict=False) if found]


def _least_arguments(tool: ToolSpec) -> JsonObject:
    """Required arguments alone, and null wherever it is taken."""
    required = tool.input_schema.get("required", ())
    guessed = guess_arguments(tool.input_schema)
    return {
        **{n: v for n, v in guessed.items() if n in required},
        **dict.fromkeys(_nullable(tool)),
    }


def _nullable(tool: ToolSpec) -> Iterator[str]:
    for name in tool.input_schema["properties"]:
        schema = {"$defs": tool.input_schema.get("$defs", {}), **property_of(tool, name)}
        if compile_validator(schema).is_valid(None):
            yield name
