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
        for failure in _own_results_failures(calls[index], cases, usual):
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


def _own_results_failures(
    call: PlannedCall, cases: _Cases, usual: Observation
) -> list[FailedCheck]:
    """Other existing values must have results, and not one and the same for all.

    Each parameter needs a known value whose result neither fails nor merely repeats the argument. Over
    all parameters of the call the results must differ, so that no empty answer stands in for data.
    """
    every = [c for rows in cases.values() for c in rows]
    words = {t for c in every for t in _words(c.value)}
    words |= {t for name in cases for t in _words(call.arguments[name])}
    gold_text = masked(usual, words)
    texts: dict[str, set[tuple[str, ...]]] = {
        name: {masked(c.seen, words) for c in rows if c.is_known and c.seen.is_success}
        - {gold_text}
        for name, rows in cases.items()
    }
    failures = [
        f"{call}: no other value of {name} has a result of its own "
        f"({_shown([c.value for c in cases[name] if c.is_known]) or 'none is named'}); name existing "
        "ones in an enum, in examples or as neighbours of the gold argument"
        for name, found in texts.items()
        if not found
    ]
    known = [c for c in every if c.is_known and c.seen.is_success]
    made = {masked(c.seen, words) for c in every if not c.is_known and c.seen.is_success}
    distinct = set[tuple[str, ...]]().union(*texts.values())
    if len(distinct) == 1 and (len(known) > 1 or distinct <= made):
        example = next(c for c in known if masked(c.seen, words) in distinct)
        failures.append(f"{call}: all other arguments have one result, such as {example.seen}")
    return [FailedCheck.of(Check.ONLY_GOLD, f) for f in failures]


def _words(value: JsonValue) -> tuple[str, ...]:
    return tokenize(value if isinstance(value, str) else canonical_json(value).decode())


def masked(seen: Observation, words: set[str]) -> tuple[str, ...]:
    """Tokens of a result without those that only repeat arguments."""
    return tuple(t for t in tokenize(seen.result.text) if t not in words)
