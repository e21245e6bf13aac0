"""Each part of what identifies counts: the items of a list, the members of an object, the year of a day."""

import re
from collections.abc import AsyncIterator, Iterator

from astra_mcp.environments.acceptance.planned import GoldStep
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.types import JsonValue
from astra_mcp.values.broad import same_shape

__all__ = ["part_failures"]

_MAX_PARTS = 8
_MIN_MANY = 30
_DAY = re.compile(r"(\d{4})-\d\d-\d\d")


async def part_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Each item of a list, and each member of an object, that identifies must lose the answer."""
    for step in player.gold:
        for name in step.identifying:
            for part, value in _with_other_parts(step.slots[name].value):
                fault = f"whatever {part} of {name} is; refuse unknown ones, or give the roles of members"
                async for failure in _kept(player, step, name, value, fault):
                    yield failure
            many = _among_many(player, step, name)
            if many is not None:
                fault = f"among {len(many) - 1} unknown items; refuse unknown ones, or set a maxItems of few"
                async for failure in _kept(player, step, name, many, fault):
                    yield failure


async def _kept(
    player: Player, step: GoldStep, name: str, value: JsonValue, fault: str
) -> AsyncIterator[FailedCheck]:
    call = step.call.having(name, value)
    if not player.accepts(call):
        return
    seen = await player.observe(call, step.before)
    for number, answer in step.answers:
        if seen.holds(answer):
            detail = f"{call} keeps answer {number} {fault}"
            yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail, step.subject(number))


def _among_many(player: Player, step: GoldStep, name: str) -> list[JsonValue] | None:
    """The items of a list among many unknown ones, where the schema takes so many."""
    value = step.slots[name].value
    if not isinstance(value, list) or not value:
        return None
    made: list[JsonValue] = [*same_shape(value[0], ())]
    if not made and isinstance(value[0], str):
        made = [f"zzqx {i}" for i in range(100)]
    items = [v for v in made if v not in value and player.accepts(step.call.having(name, [v]))]
    items = items[
        : player.property_of(step.call, name).get("maxItems", len(items) + 1) - len(value)
    ]
    return [*items, *value] if len(items) >= _MIN_MANY else None


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
