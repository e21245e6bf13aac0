"""Where an answer comes from the calls before: does it depend on what they did?"""

from collections.abc import AsyncIterator, Sequence

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.gold import planned_gold
from astra_mcp.environments.acceptance.playing import PlannedCall, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import ArgumentRole, Bundle
from astra_mcp.values.neighbours import find_neighbours, property_of

__all__ = ["comes_from_before", "state_failure"]

_MAX_REPLACEMENTS = 2
"""Other values of each earlier argument; one that loses the answer is enough."""


async def comes_from_before(
    player: Player, call: PlannedCall, before: Sequence[PlannedCall], name: str
) -> bool:
    """Tell whether an argument is a handle that only the calls before brought into being.

    Its value stands in one of their results, and the call fails without them.
    """
    value = call.arguments[name]
    if not isinstance(value, str | int) or (await player.observe(call)).is_success:
        return False
    results = [await player.observe(c, before[:i]) for i, c in enumerate(before)]
    return any(contains_answer(r.result.text, str(value)) for r in results)


async def state_failure(bundle: Bundle, player: Player, index: int) -> FailedCheck | None:
    """A gold call without identifying arguments must owe its answers to the calls before it.

    Without them it must have none, and another record in one of them must lose at least one.
    """
    calls = planned_gold(bundle)
    call, before = calls[index], calls[:index]
    texts = {s.id: s.answer for s in bundle.document.sub_tasks}
    answers = [texts[i] for i in bundle.document.gold[index].solves]
    alone = await player.observe(call)
    kept = [a for a in answers if alone.is_success and contains_answer(alone.result.text, a)]
    if not before or kept:
        detail = f"{call} has no identifying argument, and answers {kept or answers} without any call before"
        return FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail)
    num_tried = 0
    async for other in _other_pasts(bundle, player, before):
        seen = await player.observe(call, other)
        num_tried += 1
        if not seen.is_success or any(not contains_answer(seen.result.text, a) for a in answers):
            return None
    if not num_tried:
        return None
    detail = (
        f"{call} has no identifying argument, and answers {answers} whatever the calls before name"
    )
    return FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail)


async def _other_pasts(
    bundle: Bundle, player: Player, before: Sequence[PlannedCall]
) -> AsyncIterator[list[PlannedCall]]:
    """The calls before, each time with another existing record in one of them."""
    tools = {t.name: t for t in bundle.document.tools}
    for index, past in enumerate(before):
        for name, argument in bundle.document.gold[index].arguments.items():
            if argument.role is not ArgumentRole.IDENTIFYING:
                continue
            others = find_neighbours(
                property_of(tools[past.tool], name),
                argument.value,
                lambda v, past=past, name=name: player.accepts(past.having(name, v)),
                argument.neighbours,
            ).known
            for value in others[:_MAX_REPLACEMENTS]:
                replaced = past.having(name, value)
                if (await player.observe(replaced, before[:index])).is_success:
                    yield [*before[:index], replaced, *before[index + 1 :]]
