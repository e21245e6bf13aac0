"""Playing calls in fresh sessions, as an agent's calls would run, and under which seeds.

Those follow from a hash over the tool code itself: code that knew them could behave while it is examined.
"""

import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from astra_mcp.environments.acceptance.planned import (
    DIED,
    LIMIT_KINDS,
    REFUSED,
    GoldStep,
    Observation,
    PlannedCall,
    Play,
)
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.rendering import render_answer, render_refusal
from astra_mcp.environments.worlds import NUM_LAYOUTS, World, start_session
from astra_mcp.errors import AstraError, SandboxDiedError
from astra_mcp.sandbox.protocol import Raised, Sandbox, SandboxSession
from astra_mcp.schemas import compile_schema
from astra_mcp.seeds import derive_seed
from astra_mcp.types import JsonValue, ToolResult, canonical_json
from astra_mcp.values.guesses import resolve
from astra_mcp.values.neighbours import Neighbours, find_neighbours, property_of

__all__ = [
    "MAX_CALLS",
    "MAX_SECONDS",
    "BudgetError",
    "Conditions",
    "LimitsExceededError",
    "Make",
    "Player",
    "are_same",
    "conditions_of",
]

_MAX_EXCEEDED = 2
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?|\b\d\d:\d\d(?::\d\d)?\b")
MAX_CALLS = 20_000
"""Of the acceptance of one bundle, with those that only lead to others."""
MAX_SECONDS = 20.0
"""That its slow calls may take together."""
_QUICK_SECONDS = 0.1
_MAX_WRITES = 12
_MAX_OTHERS = 3
Make = Callable[[PlannedCall], Awaitable[Observation]]
"""Makes a call in a session."""
_NUM_OTHER_SEEDS = 8
"""Enough that an answer which one seed in two gives is seen through."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Seeds of the episodes; each has a clock of its own."""

    seed: int
    other_seeds: tuple[int, ...]


def conditions_of(bundle: Bundle) -> Conditions:
    """Derive the conditions of one bundle; equal contents have equal ones."""
    root = int(bundle.content_hash, 16)
    seeds = [derive_seed(root, "acceptance", "seed", i) for i in range(_NUM_OTHER_SEEDS + 1)]
    return Conditions(seeds[0], tuple(seeds[1:]))


def are_same(one: Sequence[Observation], other: Sequence[Observation]) -> bool:
    """Tell whether calls had the same results, but for moments of the clock, which goes on."""
    return [_timeless(o) for o in one] == [_timeless(o) for o in other]


def _key(call: PlannedCall, after: Sequence[PlannedCall]) -> bytes:
    return canonical_json([[c.tool, dict(c.arguments)] for c in (*after, call)])


def _timeless(seen: Observation) -> tuple[str, bool]:
    return _MOMENT.sub("", seen.result.text), seen.is_success


class BudgetError(AstraError):
    """The calls of one acceptance have used up what they may."""


class LimitsExceededError(AstraError):
    """Several calls exceeded the limits, each at the cost of its time: no further one is worth it."""


class Player:
    """Plays calls of a bundle under one seed, in sessions that start like those which are served."""

    def __init__(self, bundle: Bundle, sandbox: Sandbox, *, seed: int) -> None:
        self.bundle = bundle
        self.tools = {t.name: t for t in bundle.document.tools}
        self.job = bundle.job
        self.answers = {s.id: s.answer for s in bundle.document.sub_tasks}
        gold = bundle.document.gold
        self.calls = tuple(PlannedCall(g.tool, g.values) for g in gold)
        """The gold calls, in order."""
        dependencies = {s.id: s.dependencies for s in bundle.document.sub_tasks}
        self.gold = tuple(
            GoldStep.of(i, g, self.answers, dependencies, self.calls[:i])
            for i, g in enumerate(gold)
        )
        self._sandbox = sandbox
        self._content_hash = bundle.content_hash
        self.root = int(self._content_hash, 16)
        """Every random choice of the checks follows from it."""
        self.world = self.world_of(seed)
        """That of the sessions."""
        self._checks = {t.name: compile_schema(t.input_schema) for t in bundle.document.tools}
        self._remembered: dict[bytes, Play] = {}
        self._shared: list[Play] = []
        self._writers: dict[str, bool] = {}
        self._num_exceeded = 0
        self.left_out: list[str] = []
        """What a cap on the calls of a check left out."""
        self.num_calls = 0
        self.seconds = 0.0
        """Time that the tools took, where a call took longer than most do."""

    def world_of(self, seed: int) -> World:
        """The world of an episode's session."""
        return World.of(self._content_hash, self.bundle.document.clock, seed)

    def in_other_layout(self) -> "Player":
        """One that has seen nothing yet, with another layout of memory and all else alike."""
        other = copy(self)
        other.world = replace(self.world, layout=(self.world.layout + 1) % NUM_LAYOUTS)
        other._remembered, other._shared, other._num_exceeded = {}, [], 0
        return other

    def accepts(self, call: PlannedCall) -> bool:
        """Tell whether the arguments pass the tool's schema."""
        return not self._checks[call.tool].faults(call.arguments)

    def property_of(self, call: PlannedCall, name: str) -> Mapping[str, Any]:
        """The schema of one parameter of a call, or of a member of one."""
        outer, *inner = name.split(".")
        tool = self.tools[call.tool]
        schema = property_of(tool, outer)
        for member in inner:
            properties = cast("Mapping[str, Any]", schema.get("properties") or {})
            schema = resolve(properties.get(member, {}), tool.input_schema)
        return schema

    def is_optional(self, call: PlannedCall, name: str) -> bool:
        """Tell whether a call is accepted without one of its arguments."""
        return call.has(name) and self.accepts(call.without(name))

    def neighbours(
        self, call: PlannedCall, name: str, value: JsonValue, declared: Sequence[JsonValue]
    ) -> Neighbours:
        """Values of an argument other than the given one, with which the call is accepted."""
        schema = self.property_of(call, name)
        return find_neighbours(
            schema, value, lambda v: self.accepts(call.having(name, v)), declared
        )

    def gold_neighbours(self, step: GoldStep, name: str) -> Neighbours:
        """Other values of an argument of a gold call."""
        slot = step.slots[name]
        found = self.neighbours(step.call, name, slot.value, slot.neighbours)
        return found.unlike(slot.value) if slot.forgiving else found

    async def observe(self, call: PlannedCall, after: Sequence[PlannedCall] = ()) -> Observation:
        """Make a call in a fresh session, after other calls; equal plays are run once.

        Raises:
            LimitsExceededError: Two calls have exceeded the limits.
        """
        key = _key(call, after)
        if key not in self._remembered:
            seen = await self.play([*after, call])
            self._remembered[key] = Play(call, tuple(after), seen[-1])
            self._count_exceeded(seen[-1])
        return self._remembered[key].seen

    async def observe_in_one(
        self, calls: Sequence[PlannedCall], after: Sequence[PlannedCall] = ()
    ) -> list[Observation]:
        """Make calls that change nothing one after another in one session, after other calls.

        Raises:
            LimitsExceededError: Two calls have exceeded the limits.
        """
        seen: list[Observation] = []
        while len(seen) < len(calls):
            rest = calls[len(seen) :]
            played = (await self.play([*after, *rest]))[len(after) :]
            self._keep_shared(rest, after, played)
            seen.extend(played)
        return seen

    def _keep_shared(
        self,
        calls: Sequence[PlannedCall],
        after: Sequence[PlannedCall],
        seen: Sequence[Observation],
    ) -> None:
        plays = [Play(c, tuple(after), one) for c, one in zip(calls, seen, strict=False)]
        self._shared.extend(plays)
        for play in plays:
            self._count_exceeded(play.seen)

    async def observe_each(
        self, calls: Sequence[PlannedCall], after: Sequence[PlannedCall] = ()
    ) -> list[Observation]:
        """Make calls of one tool, after other calls; in one session where the tool changes nothing.

        Raises:
            LimitsExceededError: Two calls have exceeded the limits.
        """
        if not calls or not await self.writes(calls[0].tool):
            return await self.observe_in_one(calls, after)
        return await self.observe_apart(calls, after)

    async def observe_apart(
        self, calls: Sequence[PlannedCall], after: Sequence[PlannedCall] = ()
    ) -> list[Observation]:
        """Make calls, after other calls, such that none comes after one of them that succeeded.

        A call that fails changes nothing, which is looked at elsewhere.

        Raises:
            LimitsExceededError: Two calls have exceeded the limits.
        """
        seen: list[Observation] = []
        while len(seen) < len(calls):
            rest = calls[len(seen) :]
            known = self._remembered.get(_key(rest[0], after))
            if known is not None:
                seen.append(known.seen)
                continue
            played = await self._play_to_success(rest, after)
            self._remembered[_key(rest[0], after)] = Play(rest[0], tuple(after), played[0])
            self._count_exceeded(played[0])
            self._keep_shared(rest[1:], after, played[1:])
            seen.extend(played)
        return seen

    async def writes(self, tool: str) -> bool:
        """Tell whether calls of a tool change what any call returns, as far as calls were observed.

        Raises:
            LimitsExceededError: Two calls have exceeded the limits.
        """
        if tool not in self._writers:
            before = next((s.before for s in self.gold if s.call.tool == tool), ())
            own = [c for c in self.calls if c.tool == tool]
            own += [p.call for p in self._after(before, tool) if p.seen.is_success]
            own = [*{str(call): call for call in own}.values()][:_MAX_WRITES]
            self._writers[tool] = await self._change_any(own, before)
        return self._writers[tool]

    async def _change_any(
        self, calls: Sequence[PlannedCall], before: tuple[PlannedCall, ...]
    ) -> bool:
        """Tell whether calls change one another, gold calls, or calls that were observed alone."""
        alone = [await self.observe(call, before) for call in calls]
        twice = (await self.play([*before, *calls, *calls]))[len(before) :]
        gold = await self.play(self.calls)
        later = await self.play([*calls, *self.calls])
        if not are_same([*alone, *alone], twice) or not are_same(gold, later[len(calls) :]):
            return True
        for call in self.calls:
            await self.observe(call)
        others = [p for tool in self.tools for p in self._after((), tool)[:_MAX_OTHERS]]
        for other in others:
            if not are_same([other.seen], [await self.observe(other.call, calls)]):
                return True
        return False

    def _after(self, before: tuple[PlannedCall, ...], tool: str) -> list[Play]:
        """Calls of a tool that were observed after some others alone; the gold calls' own first."""
        rows = [
            p
            for p in self._remembered.values()
            if p.call.tool == tool
            and p.after == before
            and p.seen.error_kind not in (REFUSED, *LIMIT_KINDS)
        ]
        return sorted(rows, key=lambda p: p.call not in self.calls)

    def plays(self) -> tuple[Play, ...]:
        """Every call that was observed, in order, with what it led to."""
        return (*self._remembered.values(), *self._shared)

    def plays_in_one(self) -> tuple[Play, ...]:
        """Those that had other calls of the same session before them, which change nothing."""
        return tuple(self._shared)

    def plays_apart(self) -> tuple[Play, ...]:
        """Those that had a session of their own."""
        return tuple(self._remembered.values())

    def _count_exceeded(self, seen: Observation) -> None:
        self._num_exceeded += seen.error_kind in LIMIT_KINDS
        if self._num_exceeded >= _MAX_EXCEEDED:
            raise LimitsExceededError

    async def play(
        self, calls: Sequence[PlannedCall], *, world: World | None = None
    ) -> tuple[Observation, ...]:
        """Make the calls in one fresh session; stops after one that destroys its process.

        Args:
            calls: What to call, in order.
            world: That of the session, where it is not the player's own.

        Raises:
            SandboxError: The sandbox failed.
        """
        seen: list[Observation] = []
        async with self.session(world) as make:
            for call in calls:
                seen.append(await make(call))
                if seen[-1].error_kind == DIED:
                    break
        return tuple(seen)

    async def _play_to_success(
        self, calls: Sequence[PlannedCall], after: Sequence[PlannedCall]
    ) -> list[Observation]:
        """Make calls in one fresh session after others, up to the first that succeeds, or ends it."""
        seen: list[Observation] = []
        async with self.session() as make:
            for call in after:
                await make(call)
            for call in calls:
                seen.append(await make(call))
                if seen[-1].is_success or seen[-1].error_kind == DIED:
                    break
        return seen

    @asynccontextmanager
    async def session(self, world: World | None = None) -> AsyncGenerator[Make]:
        """A fresh session, by what makes a call in it.

        Args:
            world: That of the session, where it is not the player's own.

        Raises:
            SandboxError: The sandbox failed.
        """
        session = await start_session(self._sandbox, self.bundle, world or self.world)
        try:
            yield partial(self._call, session)
        finally:
            await session.aclose()

    async def _call(self, session: SandboxSession, call: PlannedCall) -> Observation:
        faults = self._checks[call.tool].faults(call.arguments)
        if faults:
            return Observation(render_refusal(call.tool, faults), error_kind=REFUSED)
        self._spend()
        began = time.perf_counter()
        try:
            answer = await session.call(call.tool, call.arguments)
        except SandboxDiedError as error:
            self.seconds += time.perf_counter() - began
            return Observation(ToolResult.from_text(str(error), is_error=True), error_kind=DIED)
        took = time.perf_counter() - began
        self.seconds += took if took > _QUICK_SECONDS else 0
        result = render_answer(self.tools[call.tool], answer)
        if isinstance(answer, Raised):
            return Observation(result, output=answer.output, error_kind=answer.kind, seconds=took)
        return Observation(result, value=answer.value, output=answer.output, seconds=took)

    def _spend(self) -> None:
        self.num_calls += 1
        if self.num_calls > MAX_CALLS or self.seconds > MAX_SECONDS:
            raise BudgetError(
                f"{self.num_calls - 1:,} calls of at most {MAX_CALLS:,} were made, and slow ones took "
                f"{self.seconds:.0f} s of at most {MAX_SECONDS:.0f}"
            )
