"""Calls to vary: the gold calls of a tool, or calls made for a tool that has none.

Made calls consist of values that gold calls give to parameters of the same name, of values that results
name, of known ones and of guesses; each is made before any other call, and after all gold calls.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from astra_mcp.environments.acceptance.playing import PlannedCall, Player
from astra_mcp.types import JsonValue, ToolSpec, canonical_json
from astra_mcp.values.guesses import guess_value
from astra_mcp.values.neighbours import known_values, property_of

__all__ = ["Base", "Bases"]

_MAX_POOL = 6


@dataclass(frozen=True, slots=True)
class Base:
    """A call to vary, and the calls before it."""

    call: PlannedCall
    before: tuple[PlannedCall, ...]


class Bases:
    """Finds the bases of each tool of a bundle."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._calls = player.calls

    async def of(self, tool: ToolSpec) -> list[Base]:
        """The bases of a tool; none only where no call could be made that its schema accepts."""
        gold = [Base(s.call, s.before) for s in self._player.gold if s.call.tool == tool.name]
        if gold:
            return gold
        made = [c async for c in self._made_calls(tool)]
        return [Base(call, before) for call in made for before in ((), self._calls)]

    def after(self, base: Base) -> tuple[PlannedCall, ...]:
        """The gold calls that are still to come after a base."""
        index = len(base.before)
        is_gold = index < len(self._calls) and base.call == self._calls[index]
        return self._calls[index + is_gold :]

    def named_values(self, name: str) -> list[JsonValue]:
        """Values that the gold calls give to a parameter of this name, in any tool."""
        found = [s.arguments[name] for s in self._player.gold if name in s.arguments]
        return [v for a in found for v in (a.value, *a.neighbours)]

    async def _made_calls(self, tool: ToolSpec) -> AsyncIterator[PlannedCall]:
        seen = [(await self._player.observe(s.call, s.before)).value for s in self._player.gold]
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
        values = (*self.named_values(name), *found, *known_values(schema), guess_value(schema))
        unique = {canonical_json(v): v for v in values}
        return list(unique.values())[:_MAX_POOL]


def _values_named(node: JsonValue, name: str) -> Iterator[JsonValue]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == name:
                yield value
            yield from _values_named(value, name)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _values_named(item, name)
