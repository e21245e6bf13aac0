"""Values of the shape of the right one, existing or not: most lose the answer, and none becomes another.

Those that results name, small numbers, and all that differ in two digits.
"""

from collections.abc import AsyncIterator, Iterator, Sequence

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.identifying.results import leaves
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.types import JsonValue
from astra_mcp.values.broad import same_shape

__all__ = ["likeness_failures"]

_MAX_ALIKE = 240
_MIN_ALIKE = 4
_MIN_CODE = 4
_Row = tuple[PlannedCall, Observation]


async def likeness_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Put values of the same shape into identifying arguments.

    Expects that calls were observed: their results name values.
    """
    texts = list(dict.fromkeys(p.seen.result.text for p in player.plays() if p.seen.is_success))
    for step in player.gold:
        if await player.writes(step.call.tool):
            continue
        usual = await player.observe(step.call, step.before)
        for name in step.identifying:
            values = same_shape(step.slots[name].value, texts)[:_MAX_ALIKE]
            calls = [step.call.having(name, v) for v in values]
            calls = [c for c in calls if player.accepts(c)]
            seen = await player.observe_in_one(calls, step.before)
            real = [(c, s) for c, s in zip(calls, seen, strict=True) if s.is_success]
            for failures in (
                _kept_failures(step, name, real),
                _uniform_failures(step, name, usual, [s for _, s in real]),
                _other_failures(step, name, usual, real),
            ):
                for failure in failures:
                    yield failure


def _kept_failures(step: GoldStep, name: str, real: Sequence[_Row]) -> Iterator[FailedCheck]:
    is_number = str(step.slots[name].value).isdigit()
    for number, answer in step.answers:
        kept = [c for c, s in real if s.holds(answer)]
        small = [c for c in kept if str(c.value(name)).removeprefix("-").isdigit()]
        small = [c for c in small if str(c.value(name))[:1] == "-" or not is_number]
        if small:
            detail = f"{small[0]} holds answer {number}; find a record by its own {name} alone"
            yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(number))
        if len(real) >= _MIN_ALIKE and len(kept) * 10 >= len(real) * 7:
            detail = (
                f"{kept[0]} and {len(kept)} of {len(real)} other values of {name} hold answer "
                f"{number}; ask for what differs between records"
            )
            yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail, step.subject(number))


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
    own = _plain(step.slots[name].value)
    if len(own) < _MIN_CODE or step.slots[name].forgiving:
        return
    for path in [p for p, value in leaves(usual.value) if _plain(value) == own]:
        found = [(call, dict(leaves(s.value)).get(path)) for call, s in real]
        other = [
            call for call, v in found if v is not None and _plain(v) != _plain(call.value(name))
        ]
        if len(other) >= _MIN_ALIKE and 2 * len(other) > len(real):
            detail = (
                f"{other[0]} and {len(other) - 1} more answer for another {name} than the one that was sent; "
                "refuse unknown values"
            )
            yield FailedCheck.of(Check.SWALLOWED_ARGUMENT, detail, f"{step.call.tool} other {name}")
            return


def _plain(value: JsonValue) -> str:
    return "".join(c for c in str(value).casefold() if c.isalnum()).lstrip("0")
