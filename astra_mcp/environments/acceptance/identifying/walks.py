"""No way leads from another record to the answer: not over its pages, nor after what other tools change."""

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from astra_mcp.environments.acceptance.grounding import is_code
from astra_mcp.environments.acceptance.identifying.results import are_days
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Make, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.types import JsonValue
from astra_mcp.values.broad import is_page, same_shape
from astra_mcp.values.guesses import guess_value
from astra_mcp.values.neighbours import known_values

__all__ = ["walk_failures"]

_MAX_PAGES = 40
_MAX_RECORDS = 4
_MAX_BEFORE = 8
_MAX_SEEDS, _MAX_CURSORS = 3, 120


async def walk_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Go on from other records, as an agent may that has not found the right one."""
    for step in player.gold:
        wrong = await _wrong_calls(player, step)
        for failures in (_page_failures(player, step, wrong), _after_failures(player, step, wrong)):
            async for failure in failures:
                yield failure


async def _wrong_calls(player: Player, step: GoldStep) -> list[PlannedCall]:
    """The gold call for other records, which have a result without the answer.

    Days, and members of an enumeration such as "any", may share records.
    """
    found: list[PlannedCall] = []
    for name in step.identifying:
        known = player.gold_neighbours(step, name).known
        is_shared = are_days(known) or player.property_of(step.call, name).get("enum")
        for value in () if is_shared else known[:_MAX_RECORDS]:
            call = step.call.having(name, value)
            seen = await player.observe(call, step.before)
            if seen.is_success and not any(seen.holds(a) for _, a in step.answers):
                found.append(call)
    return found[:_MAX_RECORDS]


async def _page_failures(
    player: Player, step: GoldStep, wrong: list[PlannedCall]
) -> AsyncIterator[FailedCheck]:
    """The pages of one record end before those of another begin."""
    codes = [(i, a) for i, a in step.answers if is_code(a)]
    names = [n for n in player.tools[step.call.tool].input_schema["properties"] if is_page(n)]
    turned = [n for n in names if not step.is_identifying(n)]
    for name in turned if codes else ():
        async for failure in _cursor_failures(player, step, wrong, name):
            yield failure
    for call, turning in itertools.product(wrong, turned) if codes else ():
        async with player.session() as make:
            for before in step.before:
                await make(before)
            async for page, seen in _pages(player, make, call, turning):
                for number, _ in ((i, a) for i, a in codes if seen.holds(a)):
                    detail = (
                        f"{page} holds answer {number}, on a later page of another record; let each record's "
                        "pages end with it"
                    )
                    yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(number))
                    return


async def _cursor_failures(
    player: Player, step: GoldStep, wrong: Sequence[PlannedCall], name: str
) -> AsyncIterator[FailedCheck]:
    """No cursor of another list opens it at the record."""
    schema = player.property_of(step.call, name)
    told = [_next_in(p.seen.value, name) for p in player.plays() if p.call.tool == step.call.tool]
    seeds = (*told, *known_values(schema), guess_value(schema))
    texts = dict.fromkeys(s for s in seeds if isinstance(s, str) and any(c.isdigit() for c in s))
    cursors = [c for text in [*texts][:_MAX_SEEDS] for c in same_shape(text, ())[:_MAX_CURSORS]]
    calls = [
        c
        for c in (call.having(name, v) for call in wrong[:1] for v in cursors)
        if player.accepts(c)
    ]
    seen = await player.observe_each(calls, step.before)
    for number, answer in step.answers:
        held = [c for c, s in zip(calls, seen, strict=True) if is_code(answer) and s.holds(answer)]
        if held:
            detail = f"{held[0]} holds answer {number}; let a cursor go on with its own list alone"
            yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(number))


async def _pages(
    player: Player, make: Make, call: PlannedCall, name: str
) -> AsyncIterator[tuple[PlannedCall, Observation]]:
    """A list's pages after its first one: where the result says that it goes on, else by counting."""
    seen = await make(call)
    at = call.value(name, player.property_of(call, name).get("default"))
    for _ in range(_MAX_PAGES):
        following = _next_in(seen.value, name)
        at = following if following not in (None, at) else at + 1 if isinstance(at, int) else None
        call = call.having(name, at)
        if at is None or not player.accepts(call):
            return
        seen = await make(call)
        if not seen.is_success:
            return
        yield call, seen


def _next_in(node: JsonValue, name: str) -> JsonValue:
    """Where a result says that the list goes on."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, str | int) and ("next" in key.casefold() or "下" in key):
            return value
        if key.casefold() == name.casefold() and isinstance(value, str):
            return value
    return None


async def _after_failures(
    player: Player, step: GoldStep, wrong: list[PlannedCall]
) -> AsyncIterator[FailedCheck]:
    """What other tools change does not show the record to those who ask for another one."""
    if not wrong or await player.writes(step.call.tool):
        return
    unknown = await _unknown(player, step)
    async for change in _changes(player):
        if change in player.calls or change.tool == step.call.tool:
            continue
        calls = [*wrong, *unknown]
        seen = await player.observe_in_one(calls, (*step.before, change))
        for call, one in zip(calls, seen, strict=True):
            for number, answer in step.answers:
                if one.holds(answer):
                    detail = (
                        f"{call} holds answer {number} after {change}; return the answer for its own record "
                        "alone, whatever was changed"
                    )
                    yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(number))
                    return


async def _unknown(player: Player, step: GoldStep) -> list[PlannedCall]:
    """The gold call for values that nobody names, as far as they lose the answer."""
    made = [(n, player.gold_neighbours(step, n).made_up[:1]) for n in step.identifying]
    calls = [step.call.having(n, v) for n, values in made for v in values]
    seen = await player.observe_apart(calls, step.before)
    return [
        c
        for c, one in zip(calls, seen, strict=True)
        if not any(one.holds(a) for _, a in step.answers)
    ]


async def _changes(player: Player) -> AsyncIterator[PlannedCall]:
    """Calls that may change what others see: each choice of a tool, and others where it writes."""
    for tool in player.tools.values():
        calls = [p.call for p in player.plays() if p.call.tool == tool.name and p.seen.is_success]
        own = {str(c): c for c in (calls if await player.writes(tool.name) else ())}
        for call in calls[:1]:
            for name, schema in cast("Mapping[str, Any]", tool.input_schema["properties"]).items():
                others = (call.having(name, v) for v in schema.get("enum", ()))
                own |= {str(c): c for c in others if player.accepts(c)}
        for call in [*own.values()][-_MAX_BEFORE:]:
            yield call
