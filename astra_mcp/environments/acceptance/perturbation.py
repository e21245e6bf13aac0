"""Do the identifying arguments identify?

Other values must lose the answer: nearly all of them together, and more than half of those that exist,
of those that nobody names, and of those that exist beside each boolean option. Those that exist must
have results of their own.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from astra_mcp.answers import contains_answer, tokenize
from astra_mcp.environments.acceptance.gold import planned_gold
from astra_mcp.environments.acceptance.playing import Observation, PlannedCall, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import ArgumentRole, Bundle
from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.neighbours import (
    find_neighbours,
    known_values,
    property_of,
)

__all__ = ["masked", "perturbation_failures", "words_of"]

_MAX_OPTION_CASES = 4
_REMEDY = "; if it is a bound, mark it modifying"
_MAX_REPLACEMENTS = 2
"""Other values of each earlier argument; one that loses the answer is enough."""


async def _comes_from_before(
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


async def _state_failure(bundle: Bundle, player: Player, index: int) -> FailedCheck | None:
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


@dataclass(frozen=True, slots=True)
class _Case:
    """One other value of an identifying argument, and what it led to."""

    value: JsonValue
    is_known: bool
    seen: Observation


@dataclass(frozen=True, slots=True)
class _Cases:
    """The other values of one identifying argument."""

    rows: Sequence[_Case]
    """Known ones, and generated ones where those leave room."""
    made_up: Sequence[_Case]
    """Values that nobody names, counted apart."""

    @property
    def real(self) -> list[_Case]:
        """Known values that have a result."""
        return [c for c in self.rows if c.is_known and c.seen.is_success]


class _GoldCase:
    """One gold call with the cases of its identifying arguments."""

    def __init__(self, bundle: Bundle, player: Player, index: int) -> None:
        calls = planned_gold(bundle)
        answers = {s.id: s.answer for s in bundle.document.sub_tasks}
        self._player = player
        self._gold = bundle.document.gold[index]
        self._tool = next(t for t in bundle.document.tools if t.name == self._gold.tool)
        self._bundle = bundle
        self.call = calls[index]
        self.before = calls[:index]
        self.answers = {i: answers[i] for i in self._gold.solves}

    async def failures(self) -> AsyncIterator[FailedCheck]:
        named = [n for n, a in self._gold.arguments.items() if a.role is ArgumentRole.IDENTIFYING]
        if not named:
            failure = await _state_failure(self._bundle, self._player, len(self.before))
            if failure is not None:
                yield failure
            return
        cases = {n: await self._cases(n) for n in named}
        faults = [*_lost_faults(self.call, cases, self.answers)]
        for name in named:
            faults.extend(await self._option_faults(name, cases[name]))
        for fault in faults:
            yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, fault)
        free = {
            n for n in named if await _comes_from_before(self._player, self.call, self.before, n)
        }
        usual = await self._player.observe(self.call, self.before)
        for failure in _own_results_failures(self.call, cases, usual, free):
            yield failure

    async def _cases(self, name: str) -> _Cases:
        argument = self._gold.arguments[name]
        found = find_neighbours(
            property_of(self._tool, name),
            argument.value,
            lambda value: self._player.accepts(self.call.having(name, value)),
            argument.neighbours,
        )
        return _Cases(
            [
                *[await self._case(name, v, is_known=True) for v in found.known],
                *[await self._case(name, v, is_known=False) for v in found.generated],
            ],
            [await self._case(name, v, is_known=False) for v in found.made_up],
        )

    async def _case(self, name: str, value: JsonValue, *, is_known: bool) -> _Case:
        seen = await self._player.observe(self.call.having(name, value), self.before)
        return _Case(value, is_known, seen)

    async def _option_faults(self, name: str, cases: _Cases) -> list[str]:
        """Repeat the known values beside each other boolean of a parameter that does not identify."""
        faults: list[str] = []
        for option, value in self._options():
            opened = self.call.having(option, value)
            if not self._player.accepts(opened):
                continue
            seen = [
                await self._player.observe(opened.having(name, c.value), self.before)
                for c in cases.real[:_MAX_OPTION_CASES]
            ]
            faults += [
                f"{opened} keeps answer {number} whatever {name} is; {option} must not open all"
                for number, answer in self.answers.items()
                if seen and all(_holds(s, answer) for s in seen)
            ]
        return faults

    def _options(self) -> list[tuple[str, bool]]:
        roles = {n: a.role for n, a in self._gold.arguments.items()}
        return [
            (name, value)
            for name in self._tool.input_schema["properties"]
            if roles.get(name) is not ArgumentRole.IDENTIFYING
            for value in known_values(property_of(self._tool, name))
            if isinstance(value, bool) and self.call.arguments.get(name) is not value
        ]


async def perturbation_failures(bundle: Bundle, player: Player) -> AsyncIterator[FailedCheck]:
    """Replace each identifying argument of each gold call, after the preceding gold calls."""
    for index in range(len(bundle.document.gold)):
        async for failure in _GoldCase(bundle, player, index).failures():
            yield failure


def _holds(seen: Observation, answer: str) -> bool:
    return seen.is_success and contains_answer(seen.result.text, answer)


def _lost_faults(
    call: PlannedCall, cases: Mapping[str, _Cases], answers: Mapping[int, str]
) -> Iterator[str]:
    for name, found in cases.items():
        if all(_holds(c.seen, a) for c in found.rows for a in answers.values()):
            yield _never_lost(call, name, found.rows)
    for number, answer in answers.items():
        own = {n: c for n, c in cases.items() if any(not _holds(r.seen, answer) for r in c.rows)}
        if not own:
            yield f"{call}: no other identifying argument loses answer {number}"
        for name, found in own.items():
            yield from _half_faults(call, name, number, answer, found)
        yield from _rate_faults(call, own, number, answer)


def _half_faults(
    call: PlannedCall, name: str, number: int, answer: str, cases: _Cases
) -> Iterator[str]:
    """More than half of what exists, and of what nobody names, must lose the answer."""
    for kind, rows in (("existing", cases.real), ("made-up", cases.made_up)):
        kept = [c.value for c in rows if _holds(c.seen, answer)]
        if len(kept) * 2 > len(rows):
            yield (
                f"{call} keeps answer {number} in {len(kept)} of {len(rows)} {kind} values of "
                f"{name}, more than half: {_shown(kept)}{_REMEDY}"
            )


def _rate_faults(
    call: PlannedCall, cases: Mapping[str, _Cases], number: int, answer: str
) -> Iterator[str]:
    """At least 80 % of the neighbours must lose an answer, counted exactly."""
    kept = {n: [r.value for r in c.rows if _holds(r.seen, answer)] for n, c in cases.items()}
    num_kept, total = sum(map(len, kept.values())), sum(len(c.rows) for c in cases.values())
    if num_kept * 5 > total:
        examples = "; ".join(f"{n} = {_shown(values)}" for n, values in kept.items() if values)
        yield (
            f"{call} keeps answer {number} in {num_kept} of {total} other identifying arguments, "
            f"more than 20%: {examples}{_REMEDY}"
        )


def _never_lost(call: PlannedCall, name: str, rows: Sequence[_Case]) -> str:
    if not rows:
        return f"{call}: {name} has no other valid value, so it identifies nothing; name neighbours"
    return (
        f"{call} keeps its answers whatever {name} is, such as {_shown([c.value for c in rows])}"
        f"{_REMEDY}"
    )


def _shown(values: Sequence[JsonValue]) -> str:
    return ", ".join(canonical_json(v).decode() for v in values[:4])


def _own_results_failures(
    call: PlannedCall, cases: Mapping[str, _Cases], usual: Observation, free: Set[str]
) -> list[FailedCheck]:
    """Other existing values must have results, and not one and the same for all.

    Each parameter needs a known value whose result neither fails nor merely repeats the argument, but
    for the free ones: those whose value exists only since an earlier call made it. Over all parameters
    of the call the results must differ, so that no empty answer stands in for data.
    """
    every = [c for found in cases.values() for c in found.rows]
    words = {t for c in every for t in words_of(c.value)}
    words |= {t for name in cases for t in words_of(call.arguments[name])}
    gold_text = masked(usual, words)
    texts = {
        name: {masked(c.seen, words) for c in found.real} - {gold_text}
        for name, found in cases.items()
    }
    failures = [
        f"{call}: no other value of {name} has a result of its own "
        f"({_shown([c.value for c in cases[name].rows if c.is_known]) or 'none is named'}); name "
        "existing ones in an enum, in examples or as neighbours of the gold argument"
        for name, found in texts.items()
        if not found and name not in free
    ]
    known = [c for found in cases.values() for c in found.real]
    made = {masked(c.seen, words) for c in every if not c.is_known and c.seen.is_success}
    distinct = set[tuple[str, ...]]().union(*texts.values())
    if len(distinct) == 1 and (len(known) > 1 or distinct <= made):
        example = next(c for c in known if masked(c.seen, words) in distinct)
        failures.append(f"{call}: all other arguments have one result, such as {example.seen}")
    return [FailedCheck.of(Check.ONLY_GOLD, f) for f in failures]


def words_of(value: JsonValue) -> tuple[str, ...]:
    """Tokens by which a result would repeat an argument."""
    return tokenize(value if isinstance(value, str) else canonical_json(value).decode())


def masked(seen: Observation, words: set[str]) -> tuple[str, ...]:
    """Tokens of a result without those that only repeat arguments."""
    return tuple(t for t in tokenize(seen.result.text) if t not in words)
