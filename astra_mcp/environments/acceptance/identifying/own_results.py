"""Other records exist: other values have results of their own, and not one and the same for all."""

import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.identifying.cases import Case, Cases
from astra_mcp.environments.acceptance.identifying.results import masked, shown, words_of
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.seeds import generator
from astra_mcp.types import JsonValue
from astra_mcp.values.neighbours import values_alike

__all__ = ["own_result_failures"]

_MIN_ANY = 2
_MAX_VALUES = 5
_MAX_TOGETHER = 96
_MAX_BESIDE = 4
_Tokens = tuple[str, ...]


async def own_result_failures(
    player: Player, step: GoldStep, cases: Mapping[str, Cases]
) -> AsyncIterator[FailedCheck]:
    """Other existing values must have results.

    One identifying parameter at least needs a known value whose result neither fails nor merely repeats the
    argument, alone or together with other values of the other parameters; the others may guard the record,
    as a code word does. Free are those whose value exists only since an earlier call made it. Over all
    parameters of the call the results must differ, so that no empty answer stands in for data.
    """
    anything = [n for n in cases if step.slots[n].any_value]
    for name in anything:
        fault = await _any_value_fault(player, step, name, cases[name])
        if fault is not None:
            yield FailedCheck.of(Check.ONLY_GOLD, fault, f"{step.call.tool} any {name}")
    free = {n for n in cases if n in anything or await _comes_from_before(player, step, n)}
    gold = await player.observe(step.call, step.before)
    words = {t for n in cases for t in words_of(step.call.value(n))}
    words |= {t for found in cases.values() for c in found.rows for t in words_of(c.value)}
    own = masked(gold, words)
    texts = {n: {masked(c.seen, words) for c in found.real} - {own} for n, found in cases.items()}
    if not any(found for n, found in texts.items() if n not in free):
        async for name, text in _together(player, step, cases, words):
            texts[name] |= {text} - {own}
    named = [n for n in cases if n not in free]
    if named and not any(texts[n] for n in named):
        yield FailedCheck.of(Check.ONLY_GOLD, _none_fault(step.call, named[0], cases[named[0]]))
    beside = await _beside_options(player, step, cases)
    distinct = {masked(s, words) for s in beside if s.is_success} - {own}
    distinct = distinct.union(*texts.values())
    example = _only_example(cases, words, distinct)
    if example is not None:
        detail = (
            f"{step.call}: all other arguments have one result, such as {example.seen}; name others as "
            "neighbours, of options too, or add records"
        )
        yield FailedCheck.of(Check.ONLY_GOLD, detail)


def _none_fault(call: PlannedCall, name: str, cases: Cases) -> str:
    named = shown([c.value for c in cases.known]) or "none is named"
    return (
        f"{call}: no other value of {name} has a result of its own ({named}), alone or with others of what "
        "identifies; name existing ones in an enum, in examples or as neighbours of the gold argument"
    )


def _only_example(
    cases: Mapping[str, Cases], words: Set[str], distinct: Set[_Tokens]
) -> Case | None:
    """A value that stands for all others, where they have one result."""
    every = [c for found in cases.values() for c in found.rows]
    known = [c for c in every if c.is_known and c.seen.is_success]
    made = {masked(c.seen, words) for c in every if not c.is_known and c.seen.is_success}
    if len(distinct) == 1 and (len(known) > 1 or distinct <= made):
        return next((c for c in known if masked(c.seen, words) in distinct), None)
    return None


async def _together(
    player: Player, step: GoldStep, cases: Mapping[str, Cases], words: Set[str]
) -> AsyncIterator[tuple[str, _Tokens]]:
    """Results of values that may fit together, as a number and its owner do, by what was changed."""
    rows = [*_rows_together(player, step, cases)]
    random = generator(player.root, "together", str(step.index))
    rows = random.sample(rows, min(len(rows), _MAX_TOGETHER))
    calls = [call for call, _ in rows]
    seen = await player.observe_each(calls, step.before)
    for (_, changed), one in zip(rows, seen, strict=True):
        for name in changed if one.is_success else ():
            yield name, masked(one, words)


def _rows_together(
    player: Player, step: GoldStep, cases: Mapping[str, Cases]
) -> Iterator[tuple[PlannedCall, list[str]]]:
    values = {
        n: [
            step.call.value(n),
            *(c.value for c in found.known[:_MAX_VALUES]),
            *_of_others(player, step, n),
        ]
        for n, found in cases.items()
    }
    absent = [n for n in cases if player.is_optional(step.call, n)]
    for left_out in ((), *((n,) for n in absent)):
        names = [n for n in values if n not in left_out]
        for indices in itertools.product(*(range(len(values[n])) for n in names)):
            changed = [n for n, i in zip(names, indices, strict=True) if i]
            call = step.call
            for n, i in zip(names, indices, strict=True):
                call = call.having(n, values[n][i])
            for n in left_out:
                call = call.without(n)
            if changed and len(changed) + len(left_out) > 1 and player.accepts(call):
                yield call, changed


def _of_others(player: Player, step: GoldStep, name: str) -> list[JsonValue]:
    """What other gold calls give for a parameter of this name."""
    own = step.call.value(name)
    given = [s.call.value(name) for s in player.gold if s.call.has(name)]
    return [v for v in given if v != own][:_MAX_VALUES]


async def _beside_options(
    player: Player, step: GoldStep, cases: Mapping[str, Cases]
) -> list[Observation]:
    """Other records beside what is declared for options: some may narrow a result down to the gold one."""
    opened = [
        call
        for option, slot in step.slots.items()
        if option not in cases
        for call in (
            step.call.without(option),
            *(step.call.having(option, v) for v in slot.neighbours[:_MAX_BESIDE]),
        )
    ]
    calls = [
        call.having(name, case.value)
        for call in opened
        for name, found in cases.items()
        for case in found.real[:_MAX_BESIDE]
    ]
    return await player.observe_each([c for c in calls if player.accepts(c)], step.before)


async def _any_value_fault(player: Player, step: GoldStep, name: str, cases: Cases) -> str | None:
    """What takes any value of its form has a result for each, and another one."""
    alike: Sequence[JsonValue] = [
        v for v in values_alike(step.slots[name].value) if player.accepts(step.call.having(name, v))
    ]
    seen = await player.observe_apart([step.call.having(name, v) for v in alike], step.before)
    rows = [(c.value, c.seen) for c in (*cases.rows, *cases.made_up)]
    rows += zip(alike, seen, strict=True)
    texts = [masked(s, words_of(v)) for v, s in rows if s.is_success]
    if len(texts) < _MIN_ANY:
        refused = shown([v for v, s in rows if not s.is_success])
        return f"{step.call}: {name} says that it takes any value, but {refused} fail; remove any_value"
    if 2 * len({*texts}) < len(texts):
        return (
            f"{step.call}: {name} says that any value has a result of its own, but {len(texts)} values have "
            f"{len({*texts})}; remove any_value, and refuse unknown values"
        )
    return None


async def _comes_from_before(player: Player, step: GoldStep, name: str) -> bool:
    """Tell whether an argument is a handle that only the calls before brought into being.

    Its value stands in one of their results, and the call fails without them.
    """
    value = step.call.value(name)
    if not isinstance(value, str | int) or (await player.observe(step.call)).is_success:
        return False
    results = [await player.observe(c, step.before[:i]) for i, c in enumerate(step.before)]
    return any(contains_answer(r.result.text, str(value)) for r in results)
