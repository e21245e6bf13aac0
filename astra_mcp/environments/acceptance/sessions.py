"""Does a session stay what it was: after failures, on repetition, in another order, after many calls?

A read repeats its result, a write repeats it or errs clearly; what tools say of themselves by MCP's hints is
put to the test. Gold calls hold their answers in every order that dependencies allow. Calls that change
nothing may come before, however many, and change nothing.
"""

import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, cast

from astra_mcp.environments.acceptance.gold import sample
from astra_mcp.environments.acceptance.live_parameters import Bases
from astra_mcp.environments.acceptance.planned import (
    LIMIT_KINDS,
    REFUSED,
    GoldStep,
    Observation,
    PlannedCall,
    Play,
)
from astra_mcp.environments.acceptance.playing import Player, are_same
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.worlds import World
from astra_mcp.seeds import derive_seed, generator
from astra_mcp.types import JsonValue, ToolSpec

__all__ = ["session_failures"]

_MAX_ORDERS = 24
_MAX_PERMUTED = 6
"""Of so many calls all orders are looked through."""
_DRAWN_ORDERS = 2000
_MAX_FAILED = 3
_MAX_HINTED = 16
_MAX_LONG = 520
"""Calls of a long session: twice as many as an episode allows by default."""
_STREAK = 30
_TIMES = 12
"""So often a call is made in a row."""
_NUM_STREAK_SEEDS = 2
_NUM_FIRST_SEEDS = 24
"""For what goes wrong at a first call by chance."""
_MAX_REPEATED = 3


async def session_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Play sessions other than the gold calls in their order alone; expects that calls were observed."""
    for failures in (
        _after_errors(player),
        _repetitions(player),
        _hints(player),
        _orders(player),
        _neighbours_in_one(player),
        _streaks(player),
        _long_session(player),
    ):
        async for failure in failures:
            yield failure


async def _after_errors(player: Player) -> AsyncIterator[FailedCheck]:
    """A call that fails changes nothing."""
    early = await _early(player)
    failed = [call for tool in player.tools for call in _failed(early, tool)]
    usual = await player.play(player.calls)
    seen = (await player.play([*failed, *player.calls]))[len(failed) :]
    for call, one, other in zip(player.calls, usual, seen, strict=False):
        if not are_same([one], [other]):
            told = ", ".join(str(c) for c in failed[:2])
            detail = (
                f"{call} answers {other} after calls that failed, such as {told}, and {one} without; "
                "change state only where a call succeeds"
            )
            yield FailedCheck.of(Check.ORDER, detail)
            return


def _failed(early: Sequence[Play], tool: str) -> list[PlannedCall]:
    """Calls that failed in a fresh session, of different kinds, and would not end it."""
    by_kind: dict[str, PlannedCall] = {}
    for play in early:
        if play.call.tool == tool and _is_plain_failure(play.seen):
            by_kind.setdefault(play.seen.result.text[:40], play.call)
    return [*by_kind.values()][:_MAX_FAILED]


async def _repetitions(player: Player) -> AsyncIterator[FailedCheck]:
    """A call that is made twice has one result, or errs the second time."""
    for tool in player.tools.values():
        for call, before in await _bases(player, tool):
            once = await player.observe(call, before)
            if not once.is_success:
                continue
            must_repeat = _hint(tool, "readOnlyHint") or _hint(tool, "idempotentHint")
            later = (await player.play([*before, *[call] * _TIMES]))[len(before) + 1 :]
            other = next((o for o in later if not are_same([once], [o])), None)
            if other is None:
                continue
            # What fails once it was written fails at once, and from then on.
            is_written = not any(o.is_success for o in later)
            if is_written and not must_repeat:
                continue
            remedy = (
                "repeat the result"
                if must_repeat
                else "repeat it, or raise an error that says why not"
            )
            which = later.index(other) + 2
            detail = f"{call} answers {once}, and {other} as call {which} in a row; {remedy}"
            yield FailedCheck.of(Check.REPETITION, detail, f"{tool.name} repeats")


async def _bases(
    player: Player, tool: ToolSpec
) -> list[tuple[PlannedCall, tuple[PlannedCall, ...]]]:
    return [(b.call, b.before) for b in await Bases(player).of(tool)]


def _hint(tool: ToolSpec, name: str) -> bool:
    annotations = cast("Mapping[str, Any]", tool.extra.get("annotations") or {})
    return annotations.get(name) is True


async def _hints(player: Player) -> AsyncIterator[FailedCheck]:
    """What says that it only reads changes no gold call; what may be repeated changes none by that."""
    usual = await player.play(player.calls)
    for tool in player.tools.values():
        if _hint(tool, "readOnlyHint"):
            calls = _successes(player, tool.name)
            seen = (await player.play([*calls, *player.calls]))[len(calls) :]
            changed = _first_changed(player.calls, usual, seen)
            if changed is not None:
                detail = (
                    f"{tool.name} says that it only reads, and {changed} after {len(calls)} of its calls; "
                    "remove readOnlyHint, or what it changes"
                )
                yield FailedCheck.of(Check.REPETITION, detail, f"{tool.name} hints")
        elif _hint(tool, "idempotentHint"):
            async for failure in _idempotence(player, tool, usual):
                yield failure


async def _idempotence(
    player: Player, tool: ToolSpec, usual: Sequence[Observation]
) -> AsyncIterator[FailedCheck]:
    doubled = [
        i for i, call in enumerate(player.calls) for _ in range(1 + (call.tool == tool.name))
    ]
    seen = await player.play([player.calls[i] for i in doubled])
    last = dict(zip(doubled, seen, strict=False))
    changed = _first_changed(player.calls, usual, [last[i] for i in sorted(last)])
    if changed is None:
        changed = await _changed_elsewhere(player, tool)
    if changed is not None:
        detail = (
            f"{tool.name} says that repeating changes nothing, and {changed} after its calls were made "
            "twice; remove idempotentHint, or what repeating changes"
        )
        yield FailedCheck.of(Check.REPETITION, detail, f"{tool.name} hints")


async def _changed_elsewhere(player: Player, tool: ToolSpec) -> str | None:
    """What calls of any tool tell after a gold call, they tell after it was made twice."""
    early = await _early(player)
    others = [
        p.call for name in player.tools for p in [q for q in early if q.call.tool == name][:3]
    ]
    for step in (s for s in player.gold if s.call.tool == tool.name):
        for other in others:
            once = await player.observe(other, (*step.before, step.call))
            twice = await player.observe(other, (*step.before, step.call, step.call))
            if not are_same([once], [twice]):
                return f"{other} answers {twice} instead of {once}"
    return None


def _first_changed(
    calls: Sequence[PlannedCall], usual: Sequence[Observation], seen: Sequence[Observation]
) -> str | None:
    for call, one, other in zip(calls, usual, seen, strict=False):
        if not are_same([one], [other]):
            return f"{call} answers {other} instead of {one}"
    return None


def _successes(player: Player, tool: str) -> list[PlannedCall]:
    """Calls of a tool that succeed in a fresh session, each once."""
    found = {
        str(p.call): p.call
        for p in player.plays()
        if p.call.tool == tool and p.seen.is_success and not p.after
    }
    rows = list(found.values())
    return rows[:: -(-len(rows) // _MAX_HINTED)] if rows else []


async def _orders(player: Player) -> AsyncIterator[FailedCheck]:
    """Play the gold calls in the other orders that dependencies allow."""
    usual = await player.play(player.calls)
    bound = [_bindings(player, step, usual) for step in player.gold]
    for order in _sampled(player):
        lost = await _lost(player, order, bound)
        if lost is None:
            continue
        step, number, seen = lost
        early = set(order[: order.index(step.index)])
        missing = [
            i for s in player.gold[: step.index] if s.index not in early for i, _ in s.answers
        ]
        wrong = [i for s in player.gold[step.index + 1 :] if s.index in early for i, _ in s.answers]
        remedy = f"say so by after: {missing}" if missing else f"let {wrong} come after it"
        what = f"before sub-tasks {missing}" if missing else f"after sub-tasks {wrong}"
        detail = (
            f"{step.call} loses answer {number} when it is called {what}: {seen}; {remedy}, or let it "
            "answer in any order"
        )
        yield FailedCheck.of(Check.ORDER, detail, f"order of {step.index}")
        return


def _sampled(player: Player) -> Iterator[tuple[int, ...]]:
    """Up to 24 orders of the gold calls other than their own; each after what it needs."""
    steps = player.gold
    solved_by = {i: step.index for step in reversed(steps) for i, _ in step.answers}
    needs = {s.index: {solved_by[i] for i in s.after if i in solved_by} - {s.index} for s in steps}
    own = tuple(s.index for s in steps)
    if len(own) <= _MAX_PERMUTED:
        orders = [o for o in itertools.permutations(own) if _is_allowed(o, needs) and o != own]
        random = generator(player.root, "orders")
        random.shuffle(orders)
        yield from orders[:_MAX_ORDERS]
    else:
        yield from _drawn(player, needs, own)


def _drawn(
    player: Player, needs: Mapping[int, set[int]], own: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    random = generator(player.root, "orders")
    seen = {own}
    for _ in range(_MAX_ORDERS):
        order: list[int] = []
        while len(order) < len(own):
            order.append(random.choice([i for i in own if i not in order and needs[i] <= {*order}]))
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield tuple(order)


def _is_allowed(order: Sequence[int], needs: Mapping[int, set[int]]) -> bool:
    return all(needs[i] <= set(order[:place]) for place, i in enumerate(order))


_Path = tuple[str | int, ...]
_Bindings = dict[str, tuple[int, _Path]]
"""By an argument's name: the gold call, and the place in its result, that it was taken from."""


def _bindings(player: Player, step: GoldStep, usual: Sequence[Observation]) -> _Bindings:
    """Which values of a gold call are first named by the results of those it depends on."""
    bindings: _Bindings = {}
    for name, slot in step.slots.items():
        if not isinstance(slot.value, str | int) or isinstance(slot.value, bool):
            continue
        for earlier in player.gold[: step.index]:
            path = _path_to(usual[earlier.index].value, slot.value)
            is_needed = step.after & {i for i, _ in earlier.answers}
            if path is not None and is_needed:
                bindings.setdefault(name, (earlier.index, path))
    return bindings


def _path_to(node: JsonValue, wanted: JsonValue) -> _Path | None:
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            inner = _path_to(value, wanted)
            if inner is not None:
                return (key, *inner)
        return None
    return () if type(node) is type(wanted) and node == wanted else None


def _at(node: JsonValue, path: _Path) -> JsonValue:
    found: Any = node
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    return cast("JsonValue", found)


async def _lost(
    player: Player, order: Sequence[int], bound: Sequence[_Bindings]
) -> tuple[GoldStep, int, Observation] | None:
    """The first answer that is lost in an order; values that calls brought into being are taken anew."""
    made: dict[int, Observation] = {}
    async with player.session() as make:
        for index in order:
            step = player.gold[index]
            call = step.call
            for name, (source, path) in bound[index].items():
                value = _at(made[source].value, path)
                call = call if value is None else call.having(name, value)
            made[index] = await make(call)
            for number, answer in step.answers:
                if not made[index].holds(_as_made(answer, step, call)):
                    return step, number, made[index]
    return None


def _as_made(answer: str, step: GoldStep, call: PlannedCall) -> str:
    """The answer with the values that were taken anew in the place of those of the gold call."""
    for name, slot in step.slots.items():
        value = call.value(name)
        if value != slot.value and isinstance(slot.value, str) and slot.value in answer:
            answer = answer.replace(slot.value, str(value))
    return answer


async def _neighbours_in_one(player: Player) -> AsyncIterator[FailedCheck]:
    """What was seen after many calls that change nothing is seen after few of them too."""
    for plays in sample(player.plays_in_one()):
        again = await player.observe_each([p.call for p in reversed(plays)], plays[0].after)
        for play, early in zip(reversed(plays), again, strict=True):
            if not are_same([play.seen], [early]):
                detail = (
                    f"{play.call} answers {play.seen} after many calls of its tool, and {early} after few; "
                    "let results depend on what calls wrote, never on how many there were"
                )
                yield FailedCheck.of(Check.LONG_SESSION, detail, f"{play.call.tool} streak")


async def _streaks(player: Player) -> AsyncIterator[FailedCheck]:
    """Make calls of one tool that change nothing one after another, under several seeds: nothing changes."""
    root = player.root
    seeds = [derive_seed(root, "acceptance", "streak", i) for i in range(_NUM_FIRST_SEEDS)]
    worlds = [player.world_of(seed) for seed in seeds]
    first: list[Play] = []
    for tool in player.tools:
        alone = [p for p in await _early(player) if p.call.tool == tool]
        failed = [p for p in alone if _is_plain_failure(p.seen)]
        found = [] if await player.writes(tool) else [p for p in alone if p.seen.is_success]
        first.extend(failed[:2])
        for plays in (failed[:1] * _STREAK, failed[:_STREAK], found[:_STREAK]):
            for failure in await _streak_failures(player, plays, player.world):
                yield failure
    for number, world in enumerate(worlds):
        plays = first * (_STREAK if number < _NUM_STREAK_SEEDS else 1)
        for failure in await _streak_failures(player, plays, world):
            yield failure


async def _early(player: Player) -> list[Play]:
    """What was observed before any call that writes, as good as in a fresh session; each call once."""
    writers = {name for name in player.tools if await player.writes(name)}
    early = [p for p in player.plays() if not any(c.tool in writers for c in p.after)]
    return [*{str(p.call): p for p in reversed(early)}.values()][::-1]


async def _streak_failures(
    player: Player, plays: Sequence[Play], world: World
) -> list[FailedCheck]:
    seen = await player.play([p.call for p in plays], world=world)
    for number, (play, other) in enumerate(zip(plays, seen, strict=False), start=1):
        is_same = are_same([play.seen], [other])
        if world is not player.world:  # what is drawn by the seed may differ
            is_same = is_same or (play.seen.is_success and other.is_success)
        if not is_same:
            detail = (
                f"{play.call} answers {other} as call {number} of a session, and {play.seen} alone; let "
                "results depend on what calls wrote, never on how many there were, nor on chance"
            )
            return [FailedCheck.of(Check.LONG_SESSION, detail, f"{play.call.tool} streak")]
    return []


def _is_plain_failure(seen: Observation) -> bool:
    return not seen.is_success and seen.error_kind not in (REFUSED, *LIMIT_KINDS)


async def _long_session(player: Player) -> AsyncIterator[FailedCheck]:
    """Make many calls that change nothing; then those that were made first must answer as then."""
    calls = await _idle_calls(player)
    if not calls:
        return
    first = calls[: 2 * len(player.tools)]
    again = [*itertools.chain(*itertools.repeat(first, _MAX_REPEATED)), *player.calls]
    alone = [*(await player.play(first)), *(await player.play(player.calls))]
    long = [calls[i % len(calls)] for i in range(_MAX_LONG)]
    seen = (await player.play([*long, *again]))[len(long) :]
    usual = [
        *itertools.chain(*itertools.repeat(alone[: len(first)], _MAX_REPEATED)),
        *alone[len(first) :],
    ]
    changed = _first_changed(again, usual, seen)
    if changed is not None or len(seen) < len(again):
        what = changed or "the session ends"
        detail = (
            f"after {len(long)} calls that change nothing, {what}; let results depend on what calls "
            "wrote, never on how many there were"
        )
        yield FailedCheck.of(Check.LONG_SESSION, detail)


async def _idle_calls(player: Player) -> list[PlannedCall]:
    """Calls of all tools, by turns, that fail or only read."""
    by_tool: dict[str, dict[str, PlannedCall]] = {}
    for play in await _early(player):
        is_idle = not play.seen.is_success or not await player.writes(play.call.tool)
        if is_idle and play.seen.error_kind not in (REFUSED, *LIMIT_KINDS):
            by_tool.setdefault(play.call.tool, {})[str(play.call)] = play.call
    rows = itertools.zip_longest(*(calls.values() for calls in by_tool.values()))
    return [call for row in rows for call in row if call is not None][:_MAX_LONG]
