"""Does every declared parameter of every tool change some result?

Calls to vary are the gold calls of a tool and the document's examples, or calls made for a tool that has
neither: of values that gold calls give to parameters of the same name, that results name, known ones and
guesses; each is made before any other call, and after all gold calls. The search, for one parameter: each
such base is tried as it is and with one or two other arguments left out, or one replaced (a sort order only
shows where several rows are found). In every base the parameter is left out, if it is optional, and takes up
to 8 neighbours and the texts of the base's result. The first base and value with another result end the
search; 240 calls without one fail it, unless the gold calls of another question of the bundle end it. A
result that only repeats the parameter's value is no other one, unless a later gold call changes with it.
"""

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from astra_mcp.environments.acceptance.identifying.results import masked, words_of
from astra_mcp.environments.acceptance.planned import REFUSED, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.types import JsonValue, ToolSpec, canonical_json
from astra_mcp.values.guesses import guess_value
from astra_mcp.values.neighbours import MAX_NEIGHBOURS, known_values, property_of

__all__ = ["Bases", "parameter_failures"]

_MAX_TRIES = 240
_MAX_POOL = 6
_MAX_LATER = 3


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
        examples = [
            Base(PlannedCall(tool.name, e.arguments), before)
            for e in self._player.bundle.document.examples
            if e.tool == tool.name
            for before in ((), self._calls)
        ]
        if gold or examples:
            return [*gold, *examples]
        made = [c async for c in self._made_calls(tool)]
        return [Base(call, before) for call in made for before in ((), self._calls)]

    def after(self, base: Base) -> tuple[PlannedCall, ...]:
        """The gold calls that are still to come after a base."""
        index = len(base.before)
        is_gold = index < len(self._calls) and base.call == self._calls[index]
        return self._calls[index + is_gold :]

    def named_values(self, name: str) -> list[JsonValue]:
        """Values that the gold calls give to a parameter of this name, in any tool."""
        found = [s.slots[name] for s in self._player.gold if name in s.slots]
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


class _Search:
    """Looks for results that a parameter changes."""

    def __init__(self, player: Player, doubted: set[str] | None) -> None:
        self._player = player
        self._doubted = doubted
        self._bases = Bases(player)

    async def failures(self) -> AsyncIterator[FailedCheck]:
        for tool in self._player.tools.values():
            bases = await self._bases.of(tool)
            for base in bases:  # judged with all that was seen, even where nothing can be varied
                await self._player.observe(base.call, base.before)
            for name in tool.input_schema["properties"]:
                subject = f"{tool.name}.{name}"
                if self._doubted is not None:
                    await self._clear(subject, tool, name, bases)
                elif not await self._is_live(tool, name, bases):
                    detail = (
                        f"{tool.name}: no value of {name} was found that changes a result, but for "
                        "repeating it; remove it, use it, or name an example with which it shows"
                    )
                    yield FailedCheck.of(Check.LIVE_PARAMETER, detail, subject)

    async def _clear(self, subject: str, tool: ToolSpec, name: str, bases: Sequence[Base]) -> None:
        """Take a parameter out of the doubted ones where this question's gold calls show it live."""
        doubted = self._doubted or set[str]()
        is_called = tool.name in {call.tool for call in self._player.calls}
        if is_called and subject in doubted and await self._is_live(tool, name, bases):
            doubted.discard(subject)

    async def _is_live(self, tool: ToolSpec, name: str, bases: Sequence[Base]) -> bool:
        tries = itertools.count()
        is_picking = any(
            s.call.tool == tool.name and s.is_identifying(name) for s in self._player.gold
        )
        has_known = bool(known_values(property_of(tool, name))) and not is_picking
        for base in self._varied(tool, name, bases):
            usual = await self._player.observe(base.call, base.before)
            for call in itertools.chain(
                self._alternatives(tool, name, base.call), self._found(tool, name, base.call, usual)
            ):
                if next(tries) >= _MAX_TRIES:
                    return await self._shows_later(tool, name, bases)
                seen = await self._player.observe(call, base.before)
                if not _differs(usual, seen, needs_success=has_known):
                    continue
                if not _is_echo(tool, name, (base.call, call), (usual, seen)):
                    return True
                if await self._changes_later(base, call):
                    return True
        return await self._shows_later(tool, name, bases)

    async def _shows_later(self, tool: ToolSpec, name: str, bases: Sequence[Base]) -> bool:
        """Tell whether a value shows in the result of a later gold call alone."""
        for base in bases:
            calls = self._alternatives(tool, name, base.call)
            for call in itertools.islice(calls, _MAX_LATER):
                if await self._changes_later(base, call):
                    return True
        return False

    def _found(
        self, tool: ToolSpec, name: str, call: PlannedCall, usual: Observation
    ) -> Iterator[PlannedCall]:
        """Texts of the result itself, for a parameter that picks or drops what was found."""
        if known_values(property_of(tool, name)):
            return
        texts = dict.fromkeys(itertools.islice(_texts(usual.value), MAX_NEIGHBOURS))
        values: list[JsonValue] = [*texts, *([text] for text in texts)]
        others = (call.having(name, value) for value in values)
        yield from (other for other in others if self._player.accepts(other))

    async def _changes_later(self, base: Base, call: PlannedCall) -> bool:
        """Tell whether a gold call that is still to come has another result after the other call."""
        later = self._bases.after(base)
        for index, past in enumerate(later):
            usual = await self._player.observe(past, (*base.before, base.call, *later[:index]))
            seen = await self._player.observe(past, (*base.before, call, *later[:index]))
            if usual.result != seen.result:
                return True
        return False

    def _varied(self, tool: ToolSpec, name: str, bases: Sequence[Base]) -> Iterator[Base]:
        """The bases, then the bases with one other argument changed."""
        yield from bases
        for base in bases:
            for other in tool.input_schema["properties"]:
                if other == name:
                    continue
                alternatives = self._alternatives(tool, other, base.call)
                for call in itertools.islice(alternatives, MAX_NEIGHBOURS):
                    yield Base(call, base.before)
        for base in bases:
            others = [n for n in tool.input_schema["properties"] if n != name]
            for one, other in itertools.combinations(others, 2):
                call = base.call.without(one).without(other)
                if self._player.accepts(call):
                    yield Base(call, base.before)

    def _alternatives(self, tool: ToolSpec, name: str, call: PlannedCall) -> Iterator[PlannedCall]:
        schema = property_of(tool, name)
        if name in call.arguments and name not in tool.input_schema.get("required", ()):
            yield call.without(name)
        value = call.arguments.get(name, guess_value(schema))
        declared = [value] if name not in call.arguments else []
        declared += self._bases.named_values(name)
        others = self._player.neighbours(call, name, value, declared)
        yield from (call.having(name, v) for v in others)
        if name not in call.arguments and self._player.accepts(call.having(name, value)):
            yield call.having(name, value)


def parameter_failures(
    player: Player, doubted: set[str] | None = None
) -> AsyncIterator[FailedCheck]:
    """Name every parameter that changes no result.

    Args:
        player: Plays the question whose gold calls are varied.
        doubted: Subjects of the failures that the questions before have left. Then these parameters alone
            are looked at, what proves live is taken out, and no failure is named. None looks at all.
    """
    return _Search(player, doubted).failures()


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


def _is_echo(
    tool: ToolSpec,
    name: str,
    calls: tuple[PlannedCall, PlannedCall],
    results: tuple[Observation, Observation],
) -> bool:
    """Tell whether two results differ in nothing but each repeating its own value of the parameter."""
    if not all(seen.is_success for seen in results):
        return False
    default = property_of(tool, name).get("default")
    values = [call.arguments.get(name, default) for call in calls]
    words = [{"null", "none"} if v is None else {*words_of(v)} for v in values]
    return masked(results[0], words[0]) == masked(results[1], words[1])


def _texts(node: JsonValue) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for item in node.values() if isinstance(node, dict) else node:
            yield from _texts(item)
