"""Do the identifying arguments identify?

Other values must lose the answer, and those that exist must have results of their own.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from astra_mcp.answers import contains_answer, tokenize
from astra_mcp.environments.acceptance.gold import planned_gold
from astra_mcp.environments.acceptance.neighbours import find_neighbours, property_of
from astra_mcp.environments.acceptance.playing import Observation, PlannedCall, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import ArgumentRole, Bundle, GoldCall
from astra_mcp.types import JsonValue, ToolSpec, canonical_json

__all__ = ["MIN_LOSS_RATE", "masked", "perturbation_failures"]

MIN_LOSS_RATE = 0.8
"""Share of the neighbours that must lose an answer that their parameter identifies."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One other value of an identifying argument, and what it led to."""

    value: JsonValue
    is_known: bool
    seen: Observation


_Cases = Mapping[str, Sequence[_Case]]


async def perturbation_failures(bundle: Bundle, player: Player) -> AsyncIterator[FailedCheck]:
    """Replace each identifying argument of each gold call, after the preceding gold calls."""
    calls = planned_gold(bundle)
    answers = {s.id: s.answer for s in bundle.document.sub_tasks}
    tools = {t.name: t for t in bundle.document.tools}
    for index, gold in enumerate(bundle.document.gold):
        before = calls[:index]
        wanted = {i: answers[i] for i in gold.solves}
        cases = await _cases(player, tools[gold.tool], gold, before)
        if not cases:
            failure = await _unconditional(player, calls[index], before, wanted)
            if failure is not None:
                yield failure
            continue
        for failure in _identifying_failures(calls[index], cases, wanted):
            yield failure
        usual = await player.observe(calls[index], before)
        for name, rows in cases.items():
            failure = _own_results_failure(calls[index], name, rows, usual)
            if failure is not None:
                yield failure


async def _cases(
    player: Player, tool: ToolSpec, gold: GoldCall, before: Sequence[PlannedCall]
) -> dict[str, list[_Case]]:
    cases: dict[str, list[_Case]] = {}
    for name, argument in gold.arguments.items():
        if argument.role is ArgumentRole.IDENTIFYING:
            cases[name] = await _argument_cases(player, tool, gold, name, before)
    return cases


async def _argument_cases(
    player: Player,
    tool: ToolSpec,
    gold: GoldCall,
    name: str,
    before: Sequence[PlannedCall],
) -> list[_Case]:
    argument = gold.arguments[name]
    call = PlannedCall.of_gold(gold)
    neighbours = find_neighbours(
        property_of(tool, name),
        argument.value,
        lambda value: player.accepts(call.having(name, value)),
        argument.neighbours,
    )
    known = [(v, True) for v in neighbours.known]
    made = [(v, False) for v in neighbours.generated]
    return [
        _Case(value, is_known, await player.observe(call.having(name, value), before))
        for value, is_known in (*known, *made)
    ]


async def _unconditional(
    player: Player, call: PlannedCall, before: Sequence[PlannedCall], answers: Mapping[int, str]
) -> FailedCheck | None:
    """A call without identifying arguments must owe its answer to the calls before it."""
    alone = await player.observe(call)
    kept = [i for i, a in answers.items() if _holds(alone, a)]
    if before and not kept:
        return None
    detail = f"{call} has no identifying argument, and answers {kept or [*answers]} without any call before"
    return FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail)


def _holds(seen: Observation, answer: str) -> bool:
    return seen.is_success and contains_answer(seen.result.text, answer)


def _identifying_failures(
    call: PlannedCall, cases: _Cases, answers: Mapping[int, str]
) -> list[FailedCheck]:
    failures: list[str] = []
    for name, rows in cases.items():
        if not any(not _holds(c.seen, a) for c in rows for a in answers.values()):
            failures.append(_never_lost(call, name, rows))
    for number, answer in answers.items():
        kept = {n: [c.value for c in rows if _holds(c.seen, answer)] for n, rows in cases.items()}
        own = [n for n, rows in cases.items() if len(kept[n]) < len(rows)]
        total = sum(len(cases[n]) for n in own)
        num_kept = sum(len(kept[n]) for n in own)
        if not own:
            failures.append(f"{call}: no other identifying argument loses answer {number}")
        elif num_kept > (1 - MIN_LOSS_RATE) * total:
            examples = "; ".join(f"{n} = {_shown(kept[n])}" for n in own if kept[n])
            failures.append(
                f"{call} keeps answer {number} in {num_kept} of {total} other identifying "
                f"arguments, more than {1 - MIN_LOSS_RATE:.0%}: {examples}"
            )
    return [FailedCheck.of(Check.IDENTIFYING_ARGUMENT, f) for f in failures]


def _never_lost(call: PlannedCall, name: str, rows: Sequence[_Case]) -> str:
    if not rows:
        return f"{call}: {name} has no other valid value, so it identifies nothing; name neighbours"
    return f"{call} keeps its answers whatever {name} is, such as {_shown([c.value for c in rows])}"


def _shown(values: Sequence[JsonValue]) -> str:
    return ", ".join(canonical_json(v).decode() for v in values[:4])


def _own_results_failure(
    call: PlannedCall, name: str, rows: Sequence[_Case], usual: Observation
) -> FailedCheck | None:
    """Another existing value must have a result that neither fails nor says the same for all."""
    known = [c for c in rows if c.is_known and c.seen.is_success]
    words = {t for v in (call.arguments[name], *(c.value for c in rows)) for t in _words(v)}
    gold_text = masked(usual, words)
    texts = {masked(c.seen, words) for c in known} - {gold_text}
    if not texts:
        tried = _shown([c.value for c in rows if c.is_known]) or "none named"
        return FailedCheck.of(
            Check.ONLY_GOLD,
            f"{call}: no other value of {name} has a result of its own ({tried}); name existing ones "
            "in an enum, in examples or as neighbours of the gold argument",
        )
    made = {masked(c.seen, words) for c in rows if not c.is_known and c.seen.is_success}
    if len(texts) == 1 and (len(known) > 1 or texts <= made):
        example = next(c for c in known if masked(c.seen, words) in texts)
        detail = f"{call}: every other value of {name} has the same result, such as {example.seen}"
        return FailedCheck.of(Check.ONLY_GOLD, detail)
    return None


def _words(value: JsonValue) -> tuple[str, ...]:
    return tokenize(value if isinstance(value, str) else canonical_json(value).decode())


def masked(seen: Observation, words: set[str]) -> tuple[str, ...]:
    """Tokens of a result without those that only repeat arguments."""
    return tuple(t for t in tokenize(seen.result.text) if t not in words)
