"""Does a table stand open: is there an answer to be had without what identifies its record?

A table is open where a call that the schema accepts holds an answer, though no identifying value of a gold
call stands in it: each is left out, or replaced by another value, with whatever options. All values of each
parameter are tried, and all pairs of two parameters' values, in at most 300 calls a tool.
"""

import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.grounding import is_code
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.seeds import generator
from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.broad import broad_values, few_values, is_page, other_spellings
from astra_mcp.values.guesses import guess_value
from astra_mcp.values.neighbours import is_alike, known_values

__all__ = ["open_table_failures"]

_MAX_CALLS = 300
"""Of a tool."""
_MAX_WRITING_CALLS = 60
"""Of a tool that writes: each has a session of its own."""
_MAX_OTHERS = 4
_MAX_OPTIONS = 28
_MAX_TRIES = 4
_MAX_CONFIRMED = 24
_MAX_FIELDS = 12
_LEFT_OUT: Final = object()
_REMEDY = "; return the answer for its own record alone"
_Row = dict[str, Any]
"""A value for each place of a call, or that it is left out."""


@dataclass(frozen=True, slots=True)
class _Space:
    """The values to try at each place of one gold call, the identifying ones among them."""

    step: GoldStep
    others: Mapping[str, Sequence[object]]
    """For each identifying place: it left out, values that other records have, texts that find many."""
    real: Mapping[str, Sequence[JsonValue]]
    """Those that other records have."""
    options: Mapping[str, Sequence[object]]

    def call(self, row: Mapping[str, Any]) -> PlannedCall:
        call = self.step.call
        for name, value in row.items():
            call = call.without(name) if value is _LEFT_OUT else call.having(name, value)
        return call


async def open_table_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Try to have each tool's answers without the values that identify them."""
    for name in player.tools:
        steps = [s for s in player.gold if s.call.tool == name and s.identifying]
        for step in steps:
            search = _Search(player, step, len(steps))
            async for failure in search.failures():
                yield failure


class _Search:
    """Looks for calls that open the table behind one gold call."""

    def __init__(self, player: Player, step: GoldStep, num_steps: int) -> None:
        self._player = player
        self._step = step
        self._num_steps = num_steps
        self._fields: list[str] = []
        self._random = generator(player.root, "open tables", str(step.index))

    async def failures(self) -> AsyncIterator[FailedCheck]:
        usual = await self._player.observe(self._step.call, self._step.before)
        tool = self._player.tools[self._step.call.tool]
        self._fields = [
            tool.name,
            *tool.input_schema["properties"],
            *dict.fromkeys(_names(usual.value)),
        ]
        space = await self._space()
        for failures in (self._single_failures(space), self._variant_failures(space)):
            async for failure in failures:
                yield failure
        is_writer = await self._player.writes(self._step.call.tool)
        most = (_MAX_WRITING_CALLS if is_writer else _MAX_CALLS) // self._num_steps
        rows = self._rows(space, most)
        calls = [space.call(row) for row in rows]
        seen = await self._player.observe_each(calls, self._step.before)
        for number, answer in self._step.answers:
            suspects = [
                row
                for row, s in zip(rows, seen, strict=True)
                if contains_answer(s.result.text, answer)
            ]
            for row in suspects[:_MAX_CONFIRMED]:
                fault = await self._fault(space, row, number, answer)
                if fault is not None:
                    yield FailedCheck.of(Check.OPEN_TABLE, fault, self._step.subject(number))
                    break

    async def _single_failures(self, space: _Space) -> AsyncIterator[FailedCheck]:
        """No value that may find many stands for the right one, beside the other right values."""
        for name in self._step.identifying:
            if self._step.slots[name].any_value:
                continue
            whole = str(self._step.slots[name].value).casefold()
            values = self._broad(name)
            if not any(c.isdigit() for c in whole):
                # Part of a name may be enough to find it, where other values narrow the search.
                values = [v for v in values if str(v).strip().casefold() not in whole]
            else:
                own = self._step.slots[name].value
                values += [f"{own},{v}" for v in space.real[name][:1] if isinstance(own, str)]
            values = [v for v in values if self._player.accepts(self._step.call.having(name, v))]
            calls = [self._step.call.having(name, v) for v in values]
            seen = await self._player.observe_each(calls, self._step.before)
            for number, answer in self._step.answers:
                held = [c for c, s in zip(calls, seen, strict=True) if s.holds(answer)]
                if held:
                    detail = (
                        f"{held[0]} holds answer {number}; find a record by its whole {name} alone"
                    )
                    yield FailedCheck.of(Check.OPEN_TABLE, detail, self._step.subject(number))

    async def _variant_failures(self, space: _Space) -> AsyncIterator[FailedCheck]:
        """No other spelling of one value makes another one needless."""
        step = self._step
        if len(step.identifying) < 2:
            return
        cases = [
            (name, other, space.call({name: value, other: wrong}))
            for name in step.identifying
            for value in other_spellings(step.slots[name].value)
            for other in step.identifying
            for wrong in [v for v in space.others[other] if v is not _LEFT_OUT][:2]
            if other != name
        ]
        cases = [(n, o, call) for n, o, call in cases if self._player.accepts(call)]
        seen = await self._player.observe_each([call for _, _, call in cases], step.before)
        for (name, other, call), one in zip(cases, seen, strict=True):
            for number, answer in step.answers:
                if contains_answer(one.result.text, answer):
                    detail = (
                        f"{call} holds answer {number}, though {other} is wrong; look {name} up in one "
                        "spelling everywhere"
                    )
                    yield FailedCheck.of(Check.OPEN_TABLE, detail, step.subject(number))

    async def _space(self) -> _Space:
        step, player = self._step, self._player
        real = {name: await self._losing(name) for name in step.identifying}
        others = {
            name: [
                *([_LEFT_OUT] if player.is_optional(step.call, name) else []),
                *real[name],
                *self._broad(name),
            ]
            for name in step.identifying
        }
        tool = player.tools[step.call.tool]
        nested = {n.partition(".")[0] for n in step.slots if "." in n}
        free = [n for n in (*tool.input_schema["properties"], *step.slots) if n not in nested]
        options = {n: self._options(n) for n in dict.fromkeys(free) if n not in others}
        return _Space(step, others, real, options)

    async def _losing(self, name: str) -> list[JsonValue]:
        """Values of other records that have no answer of this one, by whatever chance."""
        found: list[JsonValue] = []
        known = self._player.gold_neighbours(self._step, name)
        for value in (*known.known, *known.generated):
            seen = await self._player.observe(
                self._step.call.having(name, value), self._step.before
            )
            if not any(contains_answer(seen.result.text, a) for _, a in self._step.answers):
                found.append(value)
            if len(found) >= _MAX_OTHERS:
                break
        return found

    def _broad(self, name: str) -> list[JsonValue]:
        """What may find many records, as far as the schema takes it."""
        call = self._step.call
        slot = self._step.slots[name]
        schema, value = self._player.property_of(call, name), slot.value
        made = broad_values(schema, value, self._fields[:_MAX_FIELDS], self._random)
        made = [v for v in made if not (slot.forgiving and is_alike(v, value))]
        return [v for v in made if self._player.accepts(call.having(name, v))]

    def _options(self, name: str) -> list[object]:
        """Values of a parameter that identifies nothing, that of the gold call first."""
        call, player = self._step.call, self._player
        schema = player.property_of(call, name)
        usual: object = call.value(name) if call.has(name) else _LEFT_OUT
        made = (
            *known_values(schema),
            schema.get("default"),
            None,
            guess_value(schema),
            *few_values(name, schema, self._fields),
        )
        fresh = {canonical_json(v): v for v in made}
        fresh.pop(canonical_json(call.value(name)) if call.has(name) else b"", None)
        values = [v for v in fresh.values() if player.accepts(call.having(name, v))]
        left_out = [_LEFT_OUT] if player.is_optional(call, name) else []
        return [usual, *left_out, *values][:_MAX_OPTIONS]

    def _rows(self, space: _Space, most: int) -> list[_Row]:
        """Rows that hold every pair of values of two places, as many as are allowed."""
        places = {**space.others, **space.options}
        if not all(space.others.values()):
            return []
        rows: dict[bytes, _Row] = {}
        for row, num_missing in _covering(places, self._random):
            call = space.call(row)
            if len(rows) == most:
                told = f"{self._step.call.tool}: {num_missing} pairs of values of two parameters"
                self._player.left_out.append(told)
                break
            if self._player.accepts(call):
                rows.setdefault(canonical_json(dict(call.arguments)), row)
        return [*rows.values()]

    async def _fault(self, space: _Space, row: _Row, number: int, answer: str) -> str | None:
        """Say what opens the table, unless other records hold the answer by chance."""
        given = {n: v for n, v in row.items() if n in space.real and v in space.real[n]}
        plain = {n: v for n, v in row.items() if n in space.others}
        usual = {n: space.options[n][0] for n in space.options}
        if not await self._holds(space, row, answer):
            return (
                f"{space.call(row)} holds answer {number} after other calls that change nothing, and not "
                "before; let results depend on what calls wrote, never on how many there were, nor on chance"
            )
        turned = [n for n in usual if row[n] is not usual[n] and is_page(n)]
        if not (turned and is_code(answer)) and await self._is_chance(space, row, given, answer):
            return None
        if await self._holds(space, {**plain, **usual}, answer):
            how = ", ".join(_told(n, v) for n, v in plain.items())
            return f"{space.call({**plain, **usual})} holds answer {number} with {how}{_REMEDY}"
        row = await self._reduced(space, row, usual, answer)
        opened = [_told(n, v) for n, v in row.items() if n in usual and v is not usual[n]]
        return f"{space.call(row)} holds answer {number} with {' and '.join(opened)}{_REMEDY}"

    async def _is_chance(
        self, space: _Space, row: _Row, given: Mapping[str, JsonValue], answer: str
    ) -> bool:
        """Tell whether the answer goes with one of the values that other records have."""
        for name in given:
            others = [v for v in space.real[name] if v != given[name]]
            calls = [space.call({**row, name: v}) for v in others]
            seen = [await self._player.observe(c, self._step.before) for c in calls]
            held = [s.holds(answer) for s in seen if s.is_success]
            if held and 2 * sum(held) < len(held):
                return True
        return False

    async def _reduced(
        self, space: _Space, row: _Row, usual: Mapping[str, object], answer: str
    ) -> _Row:
        """Take back every option that the answer does not need."""
        for name in usual:
            other = {**row, name: usual[name]}
            if row[name] is not usual[name] and await self._holds(space, other, answer):
                row = other
        return row

    async def _holds(self, space: _Space, row: _Row, answer: str) -> bool:
        call = space.call(row)
        if not self._player.accepts(call):
            return False
        seen: Observation = await self._player.observe(call, self._step.before)
        return contains_answer(seen.result.text, answer)


def _names(node: JsonValue) -> Iterator[str]:
    """The names of members in a result."""
    if isinstance(node, dict):
        yield from node
        node = [*node.values()]
    if isinstance(node, list):
        for item in node:
            yield from _names(item)


def _told(name: str, value: object) -> str:
    return (
        f"{name} left out" if value is _LEFT_OUT else f"{name} = {canonical_json(value).decode()}"
    )


def _covering(places: Mapping[str, Sequence[object]], random: Random) -> Iterator[tuple[_Row, int]]:
    """Rows in which every value stands, and every pair of values of two places, greedily few of them.

    Each comes with the number of pairs that stand in no row before it.
    """
    names = list(places)
    pairs = [
        (a, i, b, j)
        for a, b in itertools.combinations(names, 2)
        for i in range(1, len(places[a]))
        for j in range(1, len(places[b]))
    ]
    random.shuffle(pairs)
    missing = dict.fromkeys(pairs)
    for name in names:  # each value beside the first of all others comes before any pair
        for value in places[name]:
            yield {**{n: places[n][0] for n in names}, name: value}, len(missing)
    while missing:
        drawn = [_drawn(places, next(iter(missing)), random) for _ in range(_MAX_TRIES)]
        chosen = max(drawn, key=lambda row: sum(p in missing for p in _pairs(row, names)))
        for pair in _pairs(chosen, names):
            missing.pop(pair, None)
        yield {n: places[n][chosen[n]] for n in names}, len(missing)


def _drawn(
    places: Mapping[str, Sequence[object]], pair: tuple[str, int, str, int], random: Random
) -> dict[str, int]:
    """A row that holds a pair, by the indices of its values."""
    a, i, b, j = pair
    return {n: random.randrange(len(values)) for n, values in places.items()} | {a: i, b: j}


def _pairs(chosen: Mapping[str, int], names: Sequence[str]) -> Iterator[tuple[str, int, str, int]]:
    return ((a, chosen[a], b, chosen[b]) for a, b in itertools.combinations(names, 2))
