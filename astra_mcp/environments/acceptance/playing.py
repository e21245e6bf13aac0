"""Playing calls in fresh sessions, as an agent's calls would run, and under which seeds.

Those follow from a hash over the tool code itself: code that knew them could behave while it is examined.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

from astra_mcp.answers import contains_answer
from astra_mcp.environments.bundle import ArgumentRole, Bundle, GoldArgument
from astra_mcp.environments.rendering import render_answer, render_refusal
from astra_mcp.environments.worlds import NUM_LAYOUTS, World, start_session
from astra_mcp.errors import AstraError, SandboxDiedError
from astra_mcp.sandbox.protocol import Raised, Sandbox, SandboxSession
from astra_mcp.schemas import compile_schema
from astra_mcp.seeds import derive_seed
from astra_mcp.types import JsonValue, ToolResult, canonical_json
from astra_mcp.values.neighbours import Neighbours, find_neighbours, property_of

__all__ = [
    "LIMIT_KINDS",
    "REFUSED",
    "Conditions",
    "GoldStep",
    "LimitsExceededError",
    "Observation",
    "PlannedCall",
    "Play",
    "Player",
    "conditions_of",
]

_DIED = "Died"
"""``error_kind`` of a call that destroyed its process."""
LIMIT_KINDS = frozenset({_DIED, "Timeout", "MemoryError", "ResultTooLarge"})
"""``error_kind`` of calls that exceeded a limit."""
REFUSED = "Refused"
"""``error_kind`` of a call whose arguments the schema refuses."""
_MAX_EXCEEDED = 2
_MAX_SHOWN = 240
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


class LimitsExceededError(AstraError):
    """Several calls exceeded the limits, each at the cost of its time: no further one is worth it."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to make."""

    tool: str
    arguments: Mapping[str, JsonValue]

    def having(self, name: str, value: JsonValue) -> Self:
        """Copy with another value of one argument."""
        return type(self)(self.tool, {**self.arguments, name: value})

    def __str__(self) -> str:
        arguments = canonical_json(dict(self.arguments)).decode()
        text = f"{self.tool}({arguments[1:-1]})"
        return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


@dataclass(frozen=True, slots=True)
class GoldStep:
    """A gold call in its place among the others."""

    call: PlannedCall
    arguments: Mapping[str, GoldArgument]
    answers: tuple[tuple[int, str], ...]
    """The sub-tasks that it solves, each with what its result is to contain."""
    before: tuple[PlannedCall, ...]
    """The gold calls before it."""

    def is_identifying(self, name: str) -> bool:
        """Tell whether an argument picks the record."""
        argument = self.arguments.get(name)
        return argument is not None and argument.role is ArgumentRole.IDENTIFYING


@dataclass(frozen=True, slots=True)
class Observation:
    """What a call led to."""

    result: ToolResult
    value: JsonValue = None
    """What the tool returned, where it did."""
    output: str = ""
    """What it printed."""
    error_kind: str | None = None
    """Class of the exception, ``DIED`` or ``REFUSED``; None where the tool returned."""

    @property
    def is_success(self) -> bool:
        """True where the tool returned."""
        return self.error_kind is None

    def holds(self, answer: str) -> bool:
        """Tell whether the tool returned, and an answer with it."""
        return self.is_success and contains_answer(self.result.text, answer)

    def __str__(self) -> str:
        text = self.result.text
        return repr(text if len(text) <= 160 else text[:157] + "...")


@dataclass(frozen=True, slots=True)
class Play:
    """A call that was observed, in a fresh session after other calls."""

    call: PlannedCall
    after: tuple[PlannedCall, ...]
    seen: Observation


class Player:
    """Plays calls of a bundle under one seed, in sessions that start like those which are served."""

    def __init__(self, bundle: Bundle, sandbox: Sandbox, *, seed: int) -> None:
        self.bundle = bundle
        self.tools = {t.name: t for t in bundle.document.tools}
        self.answers = {s.id: s.answer for s in bundle.document.sub_tasks}
        gold = bundle.document.gold
        self.calls = tuple(PlannedCall(g.tool, g.values) for g in gold)
        """The gold calls, in order."""
        self.gold = tuple(
            GoldStep(
                call, g.arguments, tuple((i, self.answers[i]) for i in g.solves), self.calls[:index]
            )
            for index, (call, g) in enumerate(zip(self.calls, gold, strict=True))
        )
        self._sandbox = sandbox
        self._content_hash = bundle.content_hash
        self.world = self.world_of(seed)
        """That of the sessions."""
        self._checks = {t.name: compile_schema(t.input_schema) for t in bundle.document.tools}
        self._remembered: dict[bytes, Play] = {}
        self._num_exceeded = 0

    def world_of(self, seed: int) -> World:
        """The world of an episode's session."""
        return World.of(self._content_hash, self.bundle.document.clock, seed)

    def in_other_layout(self) -> "Player":
        """One that has seen nothing yet, with another layout of memory and all else alike."""
        other = copy(self)
        other.world = replace(self.world, layout=(self.world.layout + 1) % NUM_LAYOUTS)
        other._remembered, other._num_exceeded = {}, 0
        return other

    def accepts(self, call: PlannedCall) -> bool:
        """Tell whether the arguments pass the tool's schema."""
        return not self._checks[call.tool].faults(call.arguments)

    def property_of(self, call: PlannedCall, name: str) -> Mapping[str, Any]:
        """The schema of one parameter of a call."""
        return property_of(self.tools[call.tool], name)

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
        argument = step.arguments[name]
        return self.neighbours(step.call, name, argument.value, argument.neighbours)

    async def observe(self, call: PlannedCall, after: Sequence[PlannedCall] = ()) -> Observation:
        """Make a call in a fresh session, after other calls; equal plays are run once.

        Raises:
            LimitsExceededError: Two calls have exceeded the limits.
        """
        key = canonical_json([[c.tool, dict(c.arguments)] for c in (*after, call)])
        if key not in self._remembered:
            seen = await self.play([*after, call])
            self._remembered[key] = Play(call, tuple(after), seen[-1])
            self._num_exceeded += seen[-1].error_kind in LIMIT_KINDS
            if self._num_exceeded >= _MAX_EXCEEDED:
                raise LimitsExceededError
        return self._remembered[key].seen

    def plays(self) -> tuple[Play, ...]:
        """Every call that was observed, in order, with what it led to."""
        return tuple(self._remembered.values())

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
        session = await start_session(self._sandbox, self.bundle, world or self.world)
        seen: list[Observation] = []
        try:
            for call in calls:
                seen.append(await self._call(session, call))
                if seen[-1].error_kind == _DIED:
                    break
        finally:
            await session.aclose()
        return tuple(seen)

    async def _call(self, session: SandboxSession, call: PlannedCall) -> Observation:
        faults = self._checks[call.tool].faults(call.arguments)
        if faults:
            return Observation(render_refusal(call.tool, faults), error_kind=REFUSED)
        try:
            answer = await session.call(call.tool, call.arguments)
        except SandboxDiedError as error:
            return Observation(ToolResult.from_text(str(error), is_error=True), error_kind=_DIED)
        result = render_answer(self.tools[call.tool], answer)
        if isinstance(answer, Raised):
            return Observation(result, output=answer.output, error_kind=answer.kind)
        return Observation(result, value=answer.value, output=answer.output)
