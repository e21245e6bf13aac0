"""Do the gold calls return their answers, always the same, and do they score?"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.planned import (
    LIMIT_KINDS,
    REFUSED,
    GoldStep,
    Observation,
    PlannedCall,
    Play,
)
from astra_mcp.environments.acceptance.playing import Conditions, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.worlds import seconds_left
from astra_mcp.reward import score_episode, solved_by
from astra_mcp.sent_answers import sent_by
from astra_mcp.types import JsonValue, Origin, canonical_json

__all__ = ["gold_failures", "repetition_failures", "sample", "stability_failures"]

_ORACLE_REWARD = 0.999
_OUTSIDE_KINDS = frozenset(
    {
        "PermissionError",
        "FileNotFoundError",
        "OSError",
        "ImportError",
        "ModuleNotFoundError",
        "BlockingIOError",
        "ConnectionRefusedError",
    }
)
_MAX_REPEATED = 16
_MAX_RECORDS = 100


async def gold_failures(player: Player) -> list[FailedCheck]:
    """Play the gold calls in two fresh sessions: same bytes, right answers, full reward."""
    calls, job = player.calls, player.job
    first, second = await player.play(calls), await player.play(calls)
    failures = _differences(calls, first, second, "two fresh sessions")
    solved: set[int] = set()
    for step, seen in zip(player.gold, first, strict=False):
        failures.extend(_call_failures(step, seen))
        solved |= solved_by(job, step.call.tool, seen.result, Origin.TOOL)
    for step, seen in zip(player.gold, first, strict=False):
        failures.extend(_gift_failures(player, step, seen))
    oracle = score_episode(job, solved, len(calls))
    if not failures and (oracle is None or oracle.reward < _ORACLE_REWARD):
        detail = f"the gold calls score {oracle.reward if oracle else None}, not {_ORACLE_REWARD}"
        failures.append(FailedCheck.of(Check.REWARD, detail))
    return failures


def _gift_failures(player: Player, step: GoldStep, seen: Observation) -> Iterator[FailedCheck]:
    """A gold call must earn what it declares and no more, and not by repeating what it was told."""
    call = step.call
    solved = solved_by(player.job, call.tool, seen.result, Origin.TOOL)
    for i in sorted(solved - dict(step.answers).keys()):
        detail = (
            f"{call} also contains answer {i}, {player.answers[i]!r}, which it does not declare in "
            f"solves: {seen}"
        )
        yield FailedCheck.of(Check.REWARD, detail)
    sent = sent_by(player.job, player.tools[call.tool], call.arguments)
    for i, answer in step.answers:
        if i in sent:
            detail = (
                f"answer {i}, {answer!r}, stands in the arguments of the call that should find it, "
                f"{call}; return the field that decides, and let that be the answer"
            )
            yield FailedCheck.of(Check.ECHOED_ANSWER, detail, step.subject(i))
    yield from _broad_failures(player, step, seen)


def _broad_failures(player: Player, step: GoldStep, seen: Observation) -> Iterator[FailedCheck]:
    """A result is about its record: few rows, and not what other tools should find later."""
    width = _widest(seen.value)
    if width > _MAX_RECORDS:
        detail = (
            f"{step.call} returns its answer among {width} records; return at most {_MAX_RECORDS}"
        )
        yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(step.answers[0][0]))
    needs = {s.id: {*s.dependencies} for s in player.bundle.document.sub_tasks}
    own = {i for i, _ in step.answers}
    for item in player.job:
        if step.call.tool in item.tools or not own & _ancestors(item.id, needs):
            continue
        is_other = not any(contains_answer(a, item.answer) for _, a in step.answers)
        if is_other and contains_answer(seen.result.text, item.answer):
            detail = (
                f"{step.call} also tells answer {item.id}, which {item.tools[0]} is to find; leave it out "
                "of the result"
            )
            yield FailedCheck.of(Check.OPEN_TABLE, detail, f"answer {item.id} told before")


def _ancestors(number: int, needs: Mapping[int, set[int]]) -> set[int]:
    found, waiting = set[int](), {*needs.get(number, ())}
    while waiting:
        found |= waiting
        waiting = {d for i in waiting for d in needs.get(i, ())} - found
    return found


def _widest(node: JsonValue) -> int:
    """How many records the longest list of a result has."""
    if isinstance(node, dict | list):
        items = [*(node.values() if isinstance(node, dict) else node)]
        own = len(items) if isinstance(node, list) or all(isinstance(i, dict) for i in items) else 0
        return max([own, *map(_widest, items)])
    return node.count("\n") + 1 if isinstance(node, str) else 0


def _call_failures(step: GoldStep, seen: Observation) -> list[FailedCheck]:
    call = step.call
    if seen.is_success and seen.value is None and not seen.output.strip():
        return [FailedCheck.of(Check.RESULT, f"{call} returns nothing; return an object or a text")]
    if seen.error_kind is not None:
        return [FailedCheck.of(_error_check(seen.error_kind), f"{call} answered {seen}")]
    lost = [(i, answer) for i, answer in step.answers if not seen.holds(answer)]
    for i, answer in lost:
        if contains_answer(seen.output, answer):
            detail = f"{call} prints answer {i} instead of returning it; it returned {seen}"
            return [FailedCheck.of(Check.RESULT, detail)]
    return [
        FailedCheck.of(Check.GOLD_ANSWER, f"{call} does not contain answer {i}, {answer!r}: {seen}")
        for i, answer in lost
    ]


def _error_check(kind: str) -> Check:
    if kind in LIMIT_KINDS:
        return Check.LIMITS
    if kind in _OUTSIDE_KINDS:
        return Check.ISOLATION
    return Check.RESULT if kind == "NotJson" else Check.GOLD_ANSWER


async def stability_failures(player: Player, conditions: Conditions) -> AsyncIterator[FailedCheck]:
    """Play the gold calls under other seeds and clocks, the first and the last among them."""
    worlds = [player.world_of(seed) for seed in conditions.other_seeds]
    clock = player.bundle.document.clock
    ends = (clock, clock + timedelta(seconds=seconds_left(clock) - 1))
    for world in (*worlds, *(replace(player.world, clock=end) for end in ends)):
        seen = await player.play(player.calls, world=world)
        when = f"under another episode seed, at {world.clock.isoformat()}"
        lost = _lost_answers(player, seen, when)
        for failure in lost:
            yield failure
        if lost:
            return


async def repetition_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Repeat gold calls and a sample of all others under another layout of memory: equal bytes."""
    calls, other = player.calls, player.in_other_layout()
    between = "two layouts of memory (id, repr, set order)"
    for failure in _differences(calls, await player.play(calls), await other.play(calls), between):
        yield failure
    for plays in sample(player.plays_apart()):
        again = await other.observe_each([p.call for p in plays], plays[0].after)
        for play, seen in zip(plays, again, strict=True):
            if play.seen == seen:
                continue
            fresh = await other.observe(play.call, play.after)  # the clock went on in the other one
            for failure in _differences([play.call], [play.seen], [fresh], "two fresh sessions"):
                yield failure


def sample(plays: Sequence[Play]) -> Iterator[list[Play]]:
    """Up to 16 plays of each tool, spread over all of them, by the calls before them.

    What exceeded a limit is not repeated.
    """
    by_tool: dict[str, list[Play]] = {}
    for play in plays:
        if play.seen.error_kind not in (*LIMIT_KINDS, REFUSED):
            by_tool.setdefault(play.call.tool, []).append(play)
    for rows in by_tool.values():
        drawn = rows[:: -(-len(rows) // _MAX_REPEATED)]
        while drawn:
            yield [play for play in drawn if play.after == drawn[0].after]
            drawn = [play for play in drawn if play.after != drawn[0].after]


def _lost_answers(player: Player, seen: Sequence[Observation], when: str) -> list[FailedCheck]:
    return [
        FailedCheck.of(
            Check.DETERMINISM, f"{when}, {step.call} loses answer {i}, {answer!r}: {observed}"
        )
        for step, observed in zip(player.gold, seen, strict=False)
        for i, answer in step.answers
        if not observed.holds(answer)
    ]


def _differences(
    calls: Sequence[PlannedCall],
    first: Sequence[Observation],
    second: Sequence[Observation],
    between: str,
) -> list[FailedCheck]:
    for call, one, other in zip(calls, first, second, strict=False):
        if canonical_json(one.result.model_dump()) != canonical_json(other.result.model_dump()):
            detail = f"{call} differs between {between}: {one} and {other}"
            return [FailedCheck.of(Check.DETERMINISM, detail)]
    return []
