"""Does every declared parameter of every tool change some result?

The search, for one parameter: *bases* are the gold calls of its tool, each after the gold calls before
it; for a tool without gold calls, calls made of known values, of values that other results name, and of
generated ones, before and after all gold calls. Each base is tried as it is and with one other argument
left out or replaced (a sort order only shows where several rows are found). In every base the parameter is
left out, if it is optional, and takes up to 8 neighbours. The first base and value with another result end
the search; 240 calls without one fail it.
"""

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from astra_mcp.environments.acceptance.gold import planned_gold
from astra_mcp.environments.acceptance.neighbours import (
    find_neighbours,
    known_values,
    property_of,
    some_value,
)
from astra_mcp.environments.acceptance.playing import REFUSED, Observation, PlannedCall, Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle
from astra_mcp.types import JsonValue, ToolSpec, canonical_json

__all__ = ["parameter_failures"]

_MAX_TRIES = 240
_MAX_POOL = 6
_MAX_VARIANTS = 3


@dataclass(frozen=True, slots=True)
class _Base:
    """A call to vary, and the calls before it."""

    call: PlannedCall
    before: tuple[PlannedCall, ...]


class _Search:
    """Looks for results that a parameter changes."""

    def __init__(self, bundle: Bundle, player: Player) -> None:
        self._bundle = bundle
        self._player = player
        self._calls = planned_gold(bundle)

    async def failures(self) -> AsyncIterator[FailedCheck]:
        for tool in self._bundle.document.tools:
            bases = await self._bases(tool)
            for base in bases:  # judged with all that was seen, even where nothing can be varied
                await self._player.observe(base.call, base.before)
            for name in tool.input_schema["properties"]:
                if not await self._is_live(tool, name, bases):
                    detail = f"{tool.name}: no value of {name} was found that changes a result"
                    yield FailedCheck.of(Check.LIVE_PARAMETER, f"{detail}; remove it or use it")

    async def _is_live(self, tool: ToolSpec, name: str, bases: Sequence[_Base]) -> bool:
        tries = itertools.count()
        has_known = bool(known_values(property_of(tool, name)))
        for base in self._varied(tool, name, bases):
            usual = await self._player.observe(base.call, base.before)
            for call in self._alternatives(tool, name, base.call):
                if next(tries) >= _MAX_TRIES:
                    return False
                seen = await self._player.observe(call, base.before)
                if _differs(usual, seen, needs_success=has_known):
                    return True
        return False

    def _varied(self, tool: ToolSpec, name: str, bases: Sequence[_Base]) -> Iterator[_Base]:
        """The bases, then the bases with one other argument changed."""
        yield from bases
        for base in bases:
            for other in tool.input_schema["properties"]:
                if other == name:
                    continue
                alternatives = self._alternatives(tool, other, base.call)
                for call in itertools.islice(alternatives, _MAX_VARIANTS):
                    yield _Base(call, base.before)

    def _alternatives(self, tool: ToolSpec, name: str, call: PlannedCall) -> Iterator[PlannedCall]:
        schema = property_of(tool, name)
        if name in call.arguments and name not in tool.input_schema.get("required", ()):
            rest = {k: v for k, v in call.arguments.items() if k != name}
            yield PlannedCall(tool.name, rest)
        value = call.arguments.get(name, some_value(schema))
        declared = [value] if name not in call.arguments else []
        declared += self._named_values(name)
        others = find_neighbours(
            schema, value, lambda v: self._player.accepts(call.having(name, v)), declared
        )
        yield from (call.having(name, v) for v in others)
        if name not in call.arguments and self._player.accepts(call.having(name, value)):
            yield call.having(name, value)

    def _named_values(self, name: str) -> list[JsonValue]:
        """Values that the gold calls give to a parameter of this name, in any tool."""
        found = [g.arguments[name] for g in self._bundle.document.gold if name in g.arguments]
        return [v for a in found for v in (a.value, *a.neighbours)]

    async def _bases(self, tool: ToolSpec) -> list[_Base]:
        gold = [
            _Base(call, self._calls[:index])
            for index, call in enumerate(self._calls)
            if call.tool == tool.name
        ]
        if gold:
            return gold
        made = [c async for c in self._made_calls(tool)]
        return [_Base(call, before) for call in made for before in ((), self._calls)]

    async def _made_calls(self, tool: ToolSpec) -> AsyncIterator[PlannedCall]:
        seen = [
            (await self._player.observe(c, self._calls[:i])).value
            for i, c in enumerate(self._calls)
        ]
        required = [
            n for n in tool.input_schema["properties"] if n in tool.input_schema.get("required", ())
        ]
        pools = [self._pool(tool, name, seen) for name in required]
        width = max((len(p) for p in pools), default=1)
        for index in range(width):
            values = {n: p[index % len(p)] for n, p in zip(required, pools, strict=True)}
            call = PlannedCall(tool.name, values)
            if self._player.accepts(call):
                yield call

    def _pool(self, tool: ToolSpec, name: str, results: Sequence[JsonValue]) -> list[JsonValue]:
        schema = property_of(tool, name)
        found = (v for result in results for v in _values_named(result, name))
        values = (*self._named_values(name), *found, *known_values(schema), some_value(schema))
        unique = {canonical_json(v): v for v in values}
        return list(unique.values())[:_MAX_POOL]


async def parameter_failures(bundle: Bundle, player: Player) -> AsyncIterator[FailedCheck]:
    """Name every parameter that changes no result."""
    async for failure in _Search(bundle, player).failures():
        yield failure


def _differs(usual: Observation, seen: Observation, *, needs_success: bool) -> bool:
    """Two results differ by more than two different errors would.

    Where the parameter has known values, one of them must change a result, not only break it.
    """
    if REFUSED in (usual.error_kind, seen.error_kind):
        return False
    successes = usual.is_success + seen.is_success
    if successes < (2 if needs_success and usual.is_success else 1):
        return False
    return canonical_json(usual.result.model_dump()) != canonical_json(seen.result.model_dump())


def _values_named(node: JsonValue, name: str) -> Iterator[JsonValue]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == name:
                yield value
            yield from _values_named(value, name)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _values_named(item, name)
