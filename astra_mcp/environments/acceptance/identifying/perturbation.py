"""Other values of identifying arguments lose the answer.

Nearly all of them together, and more than half of those that exist, and of those that nobody names.
"""

from collections.abc import AsyncIterator, Iterator, Mapping

from astra_mcp.environments.acceptance.identifying.cases import Cases, observe_cases
from astra_mcp.environments.acceptance.identifying.options import option_faults
from astra_mcp.environments.acceptance.identifying.own_results import own_result_failures
from astra_mcp.environments.acceptance.identifying.results import are_days, masked, shown, words_of
from astra_mcp.environments.acceptance.planned import GoldStep, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck

__all__ = ["perturbation_failures"]

_REMEDY = "; refuse other values, or mark it modifying if it is a bound"
_MAX_REPLACEMENTS = 2
"""Other values of each earlier argument; one that loses the answer is enough."""
_MIN_NUMBER = 1000
"""A smaller number may be next to what is refused by design, such as the last one of a series."""
_MIN_SIDE = 2
_Fault = tuple[int, str]
"""The sub-task whose answer is kept, and how."""


async def perturbation_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Replace each identifying argument of each gold call, after the preceding gold calls."""
    for step in player.gold:
        if not step.identifying:
            fault = await _state_fault(player, step)
            if fault is not None:
                subject = step.subject(step.answers[0][0])
                yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, fault, subject)
            continue
        cases = {n: await observe_cases(player, step, n) for n in step.identifying}
        for number, fault in _lost_faults(step, cases):
            yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, fault, step.subject(number))
        opened = await option_faults(player, step, cases)
        opened += ((step.answers[0][0], fault) for fault in _side_faults(step, cases))
        for number, fault in opened:
            yield FailedCheck.of(Check.OPEN_TABLE, fault, step.subject(number))
        async for failure in own_result_failures(player, step, cases):
            yield failure


async def _state_fault(player: Player, step: GoldStep) -> str | None:
    """A gold call without identifying arguments must owe its answers to the calls before it.

    Without them it must have none, and another record in one of them must lose at least one.
    """
    answers = [answer for _, answer in step.answers]
    alone = await player.observe(step.call)
    kept = [a for a in answers if alone.holds(a)]
    told = f"{step.call} has no identifying argument, and answers"
    if not step.before or kept:
        return f"{told} {kept or answers} without any call before"
    is_tried = False
    async for other in _other_pasts(player, step):
        seen = await player.observe(step.call, other)
        is_tried = True
        if not all(seen.holds(a) for a in answers):
            return None
    return f"{told} {answers} whatever the calls before name" if is_tried else None


async def _other_pasts(player: Player, step: GoldStep) -> AsyncIterator[list[PlannedCall]]:
    """The calls before, each time with another existing record in one of them."""
    for index, past in enumerate(player.gold[: len(step.before)]):
        for name in past.identifying:
            for value in player.gold_neighbours(past, name).known[:_MAX_REPLACEMENTS]:
                replaced = past.call.having(name, value)
                if (await player.observe(replaced, past.before)).is_success:
                    yield [*past.before, replaced, *step.before[index + 1 :]]


def _lost_faults(step: GoldStep, cases: Mapping[str, Cases]) -> Iterator[_Fault]:
    for name, found in cases.items():
        if all(c.seen.holds(a) for c in found.rows for _, a in step.answers):
            yield step.answers[0][0], _never_lost(step.call, name, found)
    for number, answer in step.answers:
        own = {n: c for n, c in cases.items() if not all(r.seen.holds(answer) for r in c.rows)}
        if not own:
            yield number, f"{step.call}: no other identifying argument loses answer {number}"
        for name, found in own.items():
            faults = _half_faults(step.call, name, number, answer, found)
            yield from ((number, fault) for fault in faults)
        yield from ((number, f) for f in _rate_faults(step.call, own, number, answer))


def _half_faults(
    call: PlannedCall, name: str, number: int, answer: str, cases: Cases
) -> Iterator[str]:
    """More than half of what exists, and of what nobody names, must lose the answer.

    Days near the right one may mean the same, where others that are named do not.
    """
    made_up = () if are_days([c.value for c in cases.known]) else cases.made_up
    for kind, rows in (("existing", cases.real), ("made-up", made_up)):
        kept = [c.value for c in rows if c.seen.holds(answer)]
        if len(kept) * 2 > len(rows):
            yield (
                f"{call} keeps answer {number} in {len(kept)} of {len(rows)} {kind} values of "
                f"{name}, more than half: {shown(kept)}{_REMEDY}"
            )


def _rate_faults(
    call: PlannedCall, cases: Mapping[str, Cases], number: int, answer: str
) -> Iterator[str]:
    """At least 80 % of the neighbours must lose an answer, counted exactly."""
    rows = {n: c.counted for n, c in cases.items()}
    kept = {n: [r.value for r in found if r.seen.holds(answer)] for n, found in rows.items()}
    num_kept, total = sum(map(len, kept.values())), sum(map(len, rows.values()))
    if num_kept * 5 > total:
        examples = "; ".join(f"{n} = {shown(values)}" for n, values in kept.items() if values)
        yield (
            f"{call} keeps answer {number} in {num_kept} of {total} other identifying arguments, "
            f"more than 20%: {examples}{_REMEDY}"
        )


def _never_lost(call: PlannedCall, name: str, cases: Cases) -> str:
    if not cases.rows:
        return f"{call}: {name} has no other valid value, so it identifies nothing; name neighbours"
    values = [c.value for c in cases.rows]
    return f"{call} keeps its answers whatever {name} is, such as {shown(values)}{_REMEDY}"


def _side_faults(step: GoldStep, cases: Mapping[str, Cases]) -> Iterator[str]:
    """No error says on which side of a number the right one lies."""
    for name, found in cases.items():
        own = step.slots[name].value
        if isinstance(own, bool) or not isinstance(own, int | float) or abs(own) < _MIN_NUMBER:
            continue
        failed = [c for c in (*found.rows, *found.made_up) if not c.seen.is_success]
        below = [c for c in failed if isinstance(c.value, int | float) and c.value < own]
        above = [c for c in failed if isinstance(c.value, int | float) and c.value > own]
        texts = [{masked(c.seen, words_of(c.value)) for c in side} for side in (below, above)]
        is_told = len(texts[0]) == len(texts[1]) == 1 and texts[0] != texts[1]
        if is_told and min(len(below), len(above)) >= _MIN_SIDE:
            yield (
                f"{step.call.having(name, below[0].value)} answers {below[0].seen}, and "
                f"{step.call.having(name, above[0].value)} {above[0].seen}: errors lead to the right {name}; "
                "say the same of each wrong one"
            )
