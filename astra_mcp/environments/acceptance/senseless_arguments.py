"""How do the tools answer senseless arguments?

Every parameter of every tool takes values that mean nothing, in the gold calls or in calls made for tools
without any; what they lead to is judged with all that was seen. In identifying arguments such values, and
wildcards, must not lead to the answer, nor all of them to a record where the answer stands.
"""

import itertools
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import date
from typing import Any, cast

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.identifying.results import leaves, masked
from astra_mcp.environments.acceptance.live_parameters import Bases
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.guesses import guess_value
from astra_mcp.values.neighbours import known_values

__all__ = ["senseless_argument_failures"]

_NOT_A_DAY = ("2025-02-30", "0000-00-00", "2025-13-45")
_TEXTS = ("", "zzqx-unknown", "ZZ-99999", "0", "zzqx " * 400, "{0} {x!r} %(x)s %s %d")
_DAY = re.compile(r"\d{4}-\d\d")
_WILDCARDS = ("*", "%", ".*", "all")
_INTEGERS = (0, -1, 999_999_937, 10**15)
_NUMBERS = (0.5, -1.5, 10**15 + 0.5)
_MAX_VALUES = 16
_MAX_BASES = 2
_Path = tuple[str, ...]


async def senseless_argument_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Put senseless values into each parameter of each tool."""
    for step in player.gold:
        async for failure in _gold_failures(player, step):
            yield failure
    bases = Bases(player)
    for tool in player.tools.values():
        if tool.name not in {call.tool for call in player.calls}:
            for base in (await bases.of(tool))[:_MAX_BASES]:
                calls = [call for _, call in _senseless_calls(player, base.call)]
                await player.observe_each(calls, base.before)


async def _gold_failures(player: Player, step: GoldStep) -> AsyncIterator[FailedCheck]:
    call = step.call
    usual = await player.observe(call, step.before)
    calls = [*_senseless_calls(player, call)]
    results = await player.observe_each([other for _, other in calls], step.before)
    for (name, other), seen in zip(calls, results, strict=True):
        if not step.is_identifying(name) or not seen.is_success:
            continue
        words = {str(other.arguments[name]).casefold(), str(call.arguments[name]).casefold()}
        kept = [i for i, a in step.answers if seen.holds(a)]
        if kept or masked(seen, words) == masked(usual, words):
            number = kept[0] if kept else step.answers[0][0]
            found = f"answer {number}" if kept else "the gold result"
            detail = f"{other} still has {found}; refuse unknown values"
            yield FailedCheck.of(Check.SWALLOWED_ARGUMENT, detail, step.subject(number))
    async for failure in _echo_failures(player, step):
        yield failure
    example = await _swallowing_example(player, step, usual)
    if example is not None:
        detail = (
            f"{call}: whatever texts identify the record, there is one, such as for "
            f"{example}; refuse unknown values"
        )
        subject = step.subject(step.answers[0][0])
        yield FailedCheck.of(Check.SWALLOWED_ARGUMENT, detail, subject)


async def _echo_failures(player: Player, step: GoldStep) -> AsyncIterator[FailedCheck]:
    """What identifies a record is not repeated in a result before it was found."""
    for name in step.identifying:
        value = step.slots[name].value
        for number, answer in step.answers:
            call = step.call.having(name, f"zzqx {answer} zzqx")
            if not isinstance(value, str) or not player.accepts(call):
                continue
            if (await player.observe(call, step.before)).holds(answer):
                detail = (
                    f"{call} repeats answer {number}, which the caller sent; refuse an unknown {name}, "
                    "or leave it out of the result"
                )
                yield FailedCheck.of(Check.ECHOED_ANSWER, detail, step.subject(number))


def _senseless_calls(player: Player, call: PlannedCall) -> Iterator[tuple[str, PlannedCall]]:
    """The call with senseless values that the schema accepts, but neither names nor means."""
    for name in player.tools[call.tool].input_schema["properties"]:
        schema = player.property_of(call, name)
        value = call.arguments.get(name, guess_value(schema))
        meant = [value, *known_values(schema), schema.get("default")]
        values = [*itertools.islice(_senseless_values(schema, value), _MAX_VALUES)]
        if isinstance(value, str):
            values += _templates(player.tools[call.tool])
        others = [call.having(name, v) for v in values if v not in meant]
        yield from ((name, other) for other in others if player.accepts(other))


def _templates(tool: ToolSpec) -> list[str]:
    """Texts that show the insides of what they are formatted with, by its likely names."""
    names = ["0", "", "self", *tool.input_schema["properties"]]
    return [f"zzqx {{{name}.__class__}}" for name in names]


def _senseless_values(schema: Mapping[str, Any], value: JsonValue) -> Iterator[JsonValue]:
    """Values of the type of a value, or of the first item, that mean nothing."""
    match value:
        case bool() | None:
            return
        case int() | float():
            yield from (*_INTEGERS, *_NUMBERS)
        case str():
            yield from (*_TEXTS, *_WILDCARDS, *(_NOT_A_DAY if _DAY.match(value) else ()))
        case list():
            yield []
            items = cast("Mapping[str, Any]", schema.get("items") or {})
            first = value[0] if value else guess_value(items)
            yield from ([other] for other in _senseless_values(items, first))
        case dict():
            yield {}
            properties = cast("Mapping[str, Any]", schema.get("properties") or {})
            for name, item in value.items():
                yield from (
                    {**value, name: o} for o in _senseless_values(properties.get(name, {}), item)
                )


async def _swallowing_example(
    player: Player, step: GoldStep, usual: Observation
) -> PlannedCall | None:
    """A call with a made-up text, where all of them fill the place in which the answer stands."""
    told = leaves(usual.value)
    places = {p for p, v in told if any(contains_answer(v, a) for _, a in step.answers)}
    example = None
    for name, slot in step.slots.items():
        schema = player.property_of(step.call, name)
        is_free = step.is_identifying(name) and _is_free_text(schema, slot.value)
        if not is_free or slot.any_value:
            continue
        for value in player.gold_neighbours(step, name).made_up:
            example = step.call.having(name, value)
            if not _fills(await player.observe(example, step.before), places):
                return None
    return example


def _is_free_text(schema: Mapping[str, Any], value: JsonValue) -> bool:
    """Tell whether a value names a record; any day and any time of day exist."""
    if not isinstance(value, str) or schema.get("enum") or schema.get("format"):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return not value.replace(":", "").isdigit()
    return False


def _fills(seen: Observation, places: set[_Path]) -> bool:
    return seen.is_success and any(p in places and v.strip() for p, v in leaves(seen.value))
