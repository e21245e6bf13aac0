"""Can the job be solved by leaving out what identifies its records, or without knowing anything?"""

from collections.abc import AsyncIterator, Callable

from astra_mcp.environments.acceptance.planned import GoldStep, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.refusals import takes_alone
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.reward import solved_by
from astra_mcp.types import JsonObject, Origin, ToolSpec
from astra_mcp.values.guesses import guess_arguments

__all__ = ["guessing_failures", "omission_failures"]


async def omission_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Leave each identifying argument out, and all of them: the answers must go with it."""
    for step in player.gold:
        optional = [n for n in step.identifying if player.is_optional(step.call, n)]
        cases = [(f"without {name}", step.call.without(name), name) for name in optional]
        nullable = ((n, step.call.having(n, None)) for n in step.identifying)
        cases += [(f"with {n} null", call, n) for n, call in nullable if player.accepts(call)]
        for how, call, name in cases:
            seen = await player.observe(call, step.before)
            for number, answer in step.answers:
                if seen.holds(answer):
                    detail = f"{step.call} keeps answer {number} {how}; require {name}, or mark it modifying"
                    yield FailedCheck.of(Check.OMITTED_ARGUMENT, detail, step.subject(number))
        async for failure in _bare_failures(player, step):
            yield failure


async def _bare_failures(player: Player, step: GoldStep) -> AsyncIterator[FailedCheck]:
    """A call without any identifying argument must be refused, or lose every answer."""
    call = step.call
    for name in step.identifying:
        call = call.without(name)
    if not step.identifying or not player.accepts(call):
        return
    seen = await player.observe(call, step.before)
    for number, answer in step.answers:
        if seen.holds(answer):
            told = ", ".join(step.identifying)
            detail = (
                f"{call} holds answer {number} without {told}; require what identifies the record"
            )
            yield FailedCheck.of(Check.OMITTED_ARGUMENT, detail, step.subject(number))


async def guessing_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Call each tool once with what its schema suggests, and once with as little as it takes."""
    for guess, remedy in _ROUNDS:
        guesses = (PlannedCall(t.name, guess(t)) for t in player.tools.values())
        calls = [call for call in guesses if player.accepts(call)]
        for call, seen in zip(calls, await player.play(calls), strict=False):
            told = remedy if call.arguments else "it needs neither an argument nor a call before it"
            for number in sorted(solved_by(player.job, call.tool, seen.result, Origin.TOOL)):
                subject = f"{call.tool} answer {number}"
                yield FailedCheck.of(Check.GUESSABLE, f"{call} solves {number}; {told}", subject)


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
