"""Values of the shape of the right one, existing or not: most lose the answer, and none becomes another.

Those that results name, what stands between the signs of errors, small numbers, and all that differ in two
digits.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.identifying.results import are_days, leaves
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.seeds import generator
from astra_mcp.types import JsonValue
from astra_mcp.values.broad import same_shape, shape_of

__all__ = ["likeness_failures"]

_MAX_ALIKE = 240
_MIN_ALIKE = 4
_MIN_CODE = 4
_MIN_NUMBER, _MIN_MANY = 100_000, 60
_MAX_TOGETHER = 96
_MAX_TEXTS, _MAX_PHRASES, _MAX_PHRASE = 12, 32, 40
_SIGNS = re.compile(
    r"[,;:'\"()\[\]{}|\n\u2018\u2019\u201c\u201d\u3001\uff0c\uff1a\uff1b]| and | or |\u548c|\u6216"
)
_Row = tuple[PlannedCall, Observation]


async def likeness_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Put values of the same shape into identifying arguments.

    Expects that calls were observed: their results name values.
    """
    readers = [s for s in player.gold if not await player.writes(s.call.tool)]
    for step in readers:
        async for failure in _phrase_failures(player, step):
            yield failure
    for step in readers:
        # What a tool itself lists may belong together, and share the answer.
        others = (p for p in player.plays() if p.call.tool != step.call.tool and p.seen.is_success)
        texts = list(dict.fromkeys(p.seen.result.text for p in others))
        usual = await player.observe(step.call, step.before)
        for name in step.identifying:
            values = same_shape(step.slots[name].value, texts)[:_MAX_ALIKE]
            calls = [step.call.having(name, v) for v in values]
            calls = [c for c in calls if player.accepts(c)]
            seen = await player.observe_in_one(calls, step.before)
            real = [(c, s) for c, s in zip(calls, seen, strict=True) if s.is_success]
            known = player.gold_neighbours(step, name).known
            for failures in (
                _any_number_failures(step, name, calls, real),
                () if are_days(known) else _kept_failures(step, name, real),
                _uniform_failures(step, name, usual, [s for _, s in real]),
                _other_failures(step, name, usual, real),
            ):
                for failure in failures:
                    yield failure


async def _phrase_failures(player: Player, step: GoldStep) -> AsyncIterator[FailedCheck]:
    """Put what errors name into the places of texts, together with other values of the others."""
    plays = [p for p in player.plays() if p.call.tool == step.call.tool]
    texts = [p.seen.result.text for p in plays if not p.seen.is_success]
    phrases = _phrases(sorted({*texts}, key=len, reverse=True)[:_MAX_TEXTS])
    values: dict[str, list[JsonValue]] = {}
    for name in step.identifying:
        known = player.gold_neighbours(step, name).known
        free: Sequence[JsonValue] = phrases if isinstance(step.slots[name].value, str) else ()
        made = (step.call.value(name), *known, *free)
        values[name] = [v for v in made if player.accepts(step.call.having(name, v))]
    for name in values:
        calls = [step.call.having(name, v) for v in values[name][1:]]
        seen = await player.observe_each(calls, step.before)
        real = [(c, s) for c, s in zip(calls, seen, strict=True) if s.is_success]
        for number, answer in step.answers:
            kept = [c for c, s in real if s.holds(answer)]
            if len(real) >= _MIN_ALIKE and 10 * len(kept) >= 7 * len(real):
                yield _kept_failure(step, name, number, kept, real)
    random = generator(player.root, "phrases", str(step.index))
    rows = [{n: random.choice(found) for n, found in values.items()} for _ in range(_MAX_TOGETHER)]
    calls = [step.call.having_all(row) for row in rows if len(values) > 1]
    await player.observe_each([*{str(c): c for c in calls}.values()], step.before)


def _phrases(texts: Sequence[str]) -> list[str]:
    """What stands between the signs of some texts, as names in a list do."""
    found = (part.strip(" .。") for text in texts for part in _SIGNS.split(text))
    return [p for p in dict.fromkeys(found) if 1 < len(p) <= _MAX_PHRASE][:_MAX_PHRASES]


def _any_number_failures(
    step: GoldStep, name: str, calls: Sequence[PlannedCall], real: Sequence[_Row]
) -> Iterator[FailedCheck]:
    """Not every long number has a record."""
    slot = step.slots[name]
    if isinstance(slot.value, bool) or not isinstance(slot.value, int) or slot.any_value:
        return
    if (
        abs(slot.value) >= _MIN_NUMBER
        and len(calls) >= _MIN_MANY
        and len(real) * 20 >= len(calls) * 17
    ):
        detail = (
            f"{step.call}: {len(real)} of {len(calls)} made-up values of {name} have a record, such as "
            f"{real[0][0]}; refuse unknown ones, or say any_value"
        )
        yield FailedCheck.of(Check.SWALLOWED_ARGUMENT, detail, f"{step.call.tool} any {name}")


def _kept_failures(step: GoldStep, name: str, real: Sequence[_Row]) -> Iterator[FailedCheck]:
    is_number = str(step.slots[name].value).isdigit()
    for number, answer in step.answers:
        kept = [c for c, s in real if s.holds(answer)]
        small = [c for c in kept if str(c.value(name)).removeprefix("-").isdigit()]
        small = [c for c in small if str(c.value(name))[:1] == "-" or not is_number]
        if small:
            detail = f"{small[0]} holds answer {number}; find a record by its own {name} alone"
            yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(number))
        if len(real) >= _MIN_ALIKE and 10 * len(kept) >= 7 * len(real):
            yield _kept_failure(step, name, number, kept, real)


def _kept_failure(
    step: GoldStep, name: str, number: int, kept: Sequence[PlannedCall], real: Sequence[_Row]
) -> FailedCheck:
    detail = (
        f"{kept[0]} and {len(kept)} of {len(real)} other values of {name} hold answer {number}; ask for what "
        "differs between records"
    )
    return FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail, step.subject(number))


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


def _other_failures(
    step: GoldStep, name: str, usual: Observation, real: Sequence[_Row]
) -> Iterator[FailedCheck]:
    """Where the gold result repeats a code, results of other codes show the one that was sent."""
    own = str(step.slots[name].value)
    if len(_plain(own)) < _MIN_CODE or step.slots[name].forgiving or own not in usual.result.text:
        return
    shape = shape_of(own)
    other = [c for c, s in real if _names_another(s.result.text, str(c.value(name)), shape)]
    if len(other) >= _MIN_ALIKE and 2 * len(other) > len(real):
        detail = (
            f"{other[0]} and {len(other) - 1} more answer for another {name} than the one that was sent; "
            "refuse unknown values"
        )
        yield FailedCheck.of(Check.SWALLOWED_ARGUMENT, detail, f"{step.call.tool} other {name}")


def _names_another(text: str, sent: str, shape: re.Pattern[str]) -> bool:
    """Tell whether a text names codes of a shape, and not the one that was sent."""
    found = {_plain(code) for code in shape.findall(text)}
    return bool(found) and _plain(sent) not in found


def _plain(value: JsonValue) -> str:
    return "".join(c for c in str(value).casefold() if c.isalnum()).lstrip("0")
