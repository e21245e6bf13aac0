"""Do the identifying arguments identify?

Other values must lose the answer: nearly all of them together, and more than half of those that exist,
of those that nobody names, and of those that exist beside each boolean option. Those that exist must
have results of their own.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from astra_mcp.answers import contains_answer, tokenize
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.broad import same_shape
from astra_mcp.values.neighbours import known_values, values_alike

__all__ = [
    "leaves",
    "likeness_failures",
    "masked",
    "part_failures",
    "perturbation_failures",
    "words_of",
]

_MAX_OPTION_CASES = 4
_MAX_ALIKE = 240
_MAX_PARTS = 8
_MIN_ALIKE = 4
_MIN_ANY = 2
_MIN_KNOWN = 3
_DAY = re.compile(r"(\d{4})-\d\d-\d\d")
_REMEDY = "; refuse other values, or mark it modifying if it is a bound"
_MAX_REPLACEMENTS = 2
"""Other values of each earlier argument; one that loses the answer is enough."""
_Fault = tuple[int, str]
"""The sub-task whose answer is kept, and how."""


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

    @property
    def counted(self) -> Sequence[_Case]:
        """Those of which nearly all must lose an answer: known ones, where there are some."""
        known = [c for c in self.rows if c.is_known]
        return known if len(known) >= _MIN_KNOWN else self.rows


async def perturbation_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Replace each identifying argument of each gold call, after the preceding gold calls."""
    for step in player.gold:
        named = step.identifying
        fault = None if named else await _state_fault(player, step)
        if fault is not None:
            subject = step.subject(step.answers[0][0])
            yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, fault, subject)
        if not named:
            continue
        cases = {n: await _cases(player, step, n) for n in named}
        faults = [*_lost_faults(step, cases)]
        for name in named:
            faults.extend(await _option_faults(player, step, name, cases[name]))
        for number, fault in faults:
            yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, fault, step.subject(number))
        for name in (n for n in named if step.slots[n].any_value):
            for fault in await _any_value_faults(player, step, name, cases[name]):
                yield FailedCheck.of(Check.ONLY_GOLD, fault, f"{step.call.tool} any {name}")
        free = {n for n in named if await _comes_from_before(player, step, n)}
        free |= {n for n in named if step.slots[n].any_value}
        usual = await player.observe(step.call, step.before)
        beside = await _beside_options(player, step, cases)
        for failure in _own_results_failures(step.call, cases, usual, beside, free):
            yield failure


async def likeness_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Values that results name, or that differ in two digits, exist or not: most lose the answer.

    Expects that calls were observed: their results name values.
    """
    texts = list(dict.fromkeys(p.seen.result.text for p in player.plays() if p.seen.is_success))
    for step in player.gold:
        if await player.writes(step.call.tool):
            continue
        for name in step.identifying:
            values = same_shape(step.slots[name].value, texts)[:_MAX_ALIKE]
            calls = [step.call.having(name, v) for v in values]
            calls = [c for c in calls if player.accepts(c)]
            seen = await player.observe_in_one(calls, step.before)
            real = [(c, s) for c, s in zip(calls, seen, strict=True) if s.is_success]
            is_number = str(step.slots[name].value).isdigit()
            for number, answer in step.answers:
                kept = [c for c, s in real if s.holds(answer)]
                small = [c for c in kept if str(c.value(name)).removeprefix("-").isdigit()]
                small = [c for c in small if str(c.value(name))[:1] == "-" or not is_number]
                if small:
                    detail = (
                        f"{small[0]} holds answer {number}; find a record by its own {name} alone"
                    )
                    yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(number))
                if len(real) >= _MIN_ALIKE and len(kept) * 10 >= len(real) * 7:
                    detail = (
                        f"{kept[0]} and {len(kept)} of {len(real)} other values of {name} hold answer "
                        f"{number}; ask for what differs between records"
                    )
                    subject = step.subject(number)
                    yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail, subject)
            usual = await player.observe(step.call, step.before)
            for failure in _uniform_failures(step, name, usual, [s for _, s in real]):
                yield failure


def _uniform_failures(
    step: GoldStep, name: str, usual: Observation, others: Sequence[Observation]
) -> Iterator[FailedCheck]:
    """Where the answer stands in the gold result, other records do not all have one other value."""
    if len(others) < _MIN_ALIKE:
        return
    for number, answer in step.answers:
        for path, value in leaves(usual.value):
            if not contains_answer(value, answer) or not any(c.isdigit() for c in answer):
                continue
            found = [dict(leaves(o.value)).get(path) for o in others]
            if len(set(found)) == 1 and found[0] not in (None, value):
                detail = (
                    f"{step.call}: all {len(found)} other records have {found[0]!r} where answer {number} "
                    f"stands; let records of other {name} differ from one another"
                )
                yield FailedCheck.of(Check.ONLY_GOLD, detail, step.subject(number))


def leaves(node: JsonValue, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every scalar that says something, with the path of names that leads to it."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value, (*path, "[]"))
    elif node not in (None, "", False, 0):
        yield path, str(node)


async def part_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Each item of a list, and each member of an object, that identifies must lose the answer."""
    for step in player.gold:
        for name in step.identifying:
            for part, value in _with_other_parts(step.slots[name].value):
                call = step.call.having(name, value)
                if not player.accepts(call):
                    continue
                seen = await player.observe(call, step.before)
                for number, answer in step.answers:
                    if seen.holds(answer):
                        detail = (
                            f"{call} keeps answer {number} whatever {part} of {name} is; refuse unknown "
                            "ones, or give the roles of members"
                        )
                        subject = step.subject(number)
                        yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail, subject)


def _with_other_parts(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """The value with one part of it made senseless."""
    if isinstance(value, list) and len(value) > 1:
        for index, item in enumerate(value[:_MAX_PARTS]):
            yield f"item {index + 1}", [*value[:index], _senseless(item), *value[index + 1 :]]
    elif isinstance(value, str) and (day := _DAY.match(value)):
        yield "the year", f"{int(day[1]) + 3:04}{value[4:]}"
    elif isinstance(value, dict):
        for key, item in list(value.items())[:_MAX_PARTS]:
            yield key, {**value, key: _senseless(item)}


def _senseless(item: JsonValue) -> JsonValue:
    match item:
        case bool():
            return not item
        case int() | float():
            return item + 999_983
        case str():
            return "zzqx gravel"
        case _:
            return None


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


async def _cases(player: Player, step: GoldStep, name: str) -> _Cases:
    found = player.gold_neighbours(step, name)

    async def cases(values: Sequence[JsonValue]) -> list[_Case]:
        calls = [step.call.having(name, v) for v in values]
        seen = await player.observe_apart(calls, step.before)
        return [_Case(v, False, s) for v, s in zip(values, seen, strict=True)]

    known = [
        _Case(v, True, await player.observe(step.call.having(name, v), step.before))
        for v in found.known
    ]
    return _Cases([*known, *await cases(found.generated)], await cases(found.made_up))


async def _option_faults(player: Player, step: GoldStep, name: str, cases: _Cases) -> list[_Fault]:
    """Repeat the known values beside each other boolean of a parameter that does not identify."""
    faults: list[_Fault] = []
    for option, opened in _opened(player, step):
        calls = [opened.having(name, c.value) for c in cases.real[:_MAX_OPTION_CASES]]
        seen = await player.observe_each(calls, step.before)
        faults += [
            (
                number,
                f"{opened} keeps answer {number} whatever {name} is; {option} must not open all",
            )
            for number, answer in step.answers
            if seen and all(s.holds(answer) for s in seen)
        ]
    return faults


def _opened(player: Player, step: GoldStep) -> Iterator[tuple[str, PlannedCall]]:
    """The call with each other boolean, by the name of its parameter."""
    for name in player.tools[step.call.tool].input_schema["properties"]:
        if step.is_identifying(name):
            continue
        for value in known_values(player.property_of(step.call, name)):
            call = step.call.having(name, value)
            is_other = isinstance(value, bool) and step.call.value(name) is not value
            if is_other and player.accepts(call):
                yield name, call


async def _any_value_faults(player: Player, step: GoldStep, name: str, cases: _Cases) -> list[str]:
    """What takes any value of its form has a result for each, and another one."""
    call = step.call
    alike = [
        v for v in values_alike(step.slots[name].value) if player.accepts(call.having(name, v))
    ]
    seen = await player.observe_apart([call.having(name, v) for v in alike], step.before)
    rows = [(c.value, c.seen) for c in (*cases.rows, *cases.made_up)]
    rows += zip(alike, seen, strict=True)
    texts = [masked(s, {*words_of(v)}) for v, s in rows if s.is_success]
    if len(texts) < _MIN_ANY:
        refused = [v for v, s in rows if not s.is_success]
        return [
            f"{call}: {name} says that it takes any value, but {_shown(refused)} fail; remove any_value"
        ]
    if 2 * len({*texts}) < len(texts):
        detail = (
            f"{call}: {name} says that any value has a result of its own, but {len(texts)} values have "
            f"{len({*texts})}; remove any_value, and refuse unknown values"
        )
        return [detail]
    return []


async def _comes_from_before(player: Player, step: GoldStep, name: str) -> bool:
    """Tell whether an argument is a handle that only the calls before brought into being.

    Its value stands in one of their results, and the call fails without them.
    """
    value = step.call.value(name)
    if not isinstance(value, str | int) or (await player.observe(step.call)).is_success:
        return False
    results = [await player.observe(c, step.before[:i]) for i, c in enumerate(step.before)]
    return any(contains_answer(r.result.text, str(value)) for r in results)


def _lost_faults(step: GoldStep, cases: Mapping[str, _Cases]) -> Iterator[_Fault]:
    for name, found in cases.items():
        if all(c.seen.holds(a) for c in found.rows for _, a in step.answers):
            yield step.answers[0][0], _never_lost(step.call, name, found.rows)
    for number, answer in step.answers:
        own = {n: c for n, c in cases.items() if not all(r.seen.holds(answer) for r in c.rows)}
        if not own:
            yield number, f"{step.call}: no other identifying argument loses answer {number}"
        for name, found in own.items():
            faults = _half_faults(step.call, name, number, answer, found)
            yield from ((number, fault) for fault in faults)
        yield from ((number, f) for f in _rate_faults(step.call, own, number, answer))


def _half_faults(
    call: PlannedCall, name: str, number: int, answer: str, cases: _Cases
) -> Iterator[str]:
    """More than half of what exists, and of what nobody names, must lose the answer."""
    for kind, rows in (("existing", cases.real), ("made-up", cases.made_up)):
        kept = [c.value for c in rows if c.seen.holds(answer)]
        if len(kept) * 2 > len(rows):
            yield (
                f"{call} keeps answer {number} in {len(kept)} of {len(rows)} {kind} values of "
                f"{name}, more than half: {_shown(kept)}{_REMEDY}"
            )


def _rate_faults(
    call: PlannedCall, cases: Mapping[str, _Cases], number: int, answer: str
) -> Iterator[str]:
    """At least 80 % of the neighbours must lose an answer, counted exactly."""
    rows = {n: c.counted for n, c in cases.items()}
    kept = {n: [r.value for r in found if r.seen.holds(answer)] for n, found in rows.items()}
    num_kept, total = sum(map(len, kept.values())), sum(map(len, rows.values()))
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


async def _beside_options(
    player: Player, step: GoldStep, cases: Mapping[str, _Cases]
) -> list[Observation]:
    """Other records beside what is declared for options: some may narrow a result down to the gold one."""
    opened = [
        base
        for option, slot in step.slots.items()
        if option not in cases
        for base in (
            step.call.without(option),
            *(step.call.having(option, v) for v in slot.neighbours[:_MAX_REPLACEMENTS]),
        )
    ]
    calls = [
        call.having(name, case.value)
        for call in opened
        for name, found in cases.items()
        for case in found.real[:_MAX_OPTION_CASES]
    ]
    return await player.observe_each([c for c in calls if player.accepts(c)], step.before)


def _own_results_failures(
    call: PlannedCall,
    cases: Mapping[str, _Cases],
    usual: Observation,
    beside: Sequence[Observation],
    free: Set[str],
) -> list[FailedCheck]:
    """Other existing values must have results, and not one and the same for all.

    Each parameter needs a known value whose result neither fails nor merely repeats the argument, but
    for the free ones: those whose value exists only since an earlier call made it. Over all parameters
    of the call the results must differ, so that no empty answer stands in for data.
    """
    every = [c for found in cases.values() for c in found.rows]
    words = {t for c in every for t in words_of(c.value)}
    words |= {t for name in cases for t in words_of(call.value(name))}
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
    distinct |= {masked(s, words) for s in beside if s.is_success} - {gold_text}
    if len(distinct) == 1 and (len(known) > 1 or distinct <= made):
        example = next(c for c in known if masked(c.seen, words) in distinct)
        failures.append(
            f"{call}: all other arguments have one result, such as {example.seen}; name others as "
            "neighbours, of options too, or add records"
        )
    return [FailedCheck.of(Check.ONLY_GOLD, f) for f in failures]


def words_of(value: JsonValue) -> tuple[str, ...]:
    """Tokens by which a result would repeat an argument."""
    return tokenize(value if isinstance(value, str) else canonical_json(value).decode())


def masked(seen: Observation, words: set[str]) -> tuple[str, ...]:
    """Tokens of a result without those that only repeat arguments."""
    return tuple(t for t in tokenize(seen.result.text) if t not in words)
