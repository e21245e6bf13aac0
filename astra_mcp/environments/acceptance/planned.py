"""Calls to make, the gold calls among them, and what calls led to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, cast

from astra_mcp.answers import contains_answer
from astra_mcp.environments.bundle import ArgumentRole, GoldArgument, GoldCall
from astra_mcp.types import JsonObject, JsonValue, ToolResult, canonical_json

__all__ = [
    "DIED",
    "LIMIT_KINDS",
    "REFUSED",
    "GoldStep",
    "Observation",
    "PlannedCall",
    "Play",
    "Slot",
]

DIED = "Died"
"""``error_kind`` of a call that destroyed its process."""
LIMIT_KINDS = frozenset({DIED, "Timeout", "MemoryError", "ResultTooLarge"})
"""``error_kind`` of calls that exceeded a limit."""
REFUSED = "Refused"
"""``error_kind`` of a call whose arguments the schema refuses."""
_MAX_SHOWN = 240
_MISSING = object()


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to make; members of objects are named ``outer.inner``."""

    tool: str
    arguments: Mapping[str, JsonValue]

    def having(self, name: str, value: JsonValue) -> Self:
        """Copy with another value of one argument."""
        return type(self)(self.tool, _with(self.arguments, name.split("."), value))

    def having_all(self, values: Mapping[str, JsonValue]) -> Self:
        """Copy with other values of several arguments."""
        call = self
        for name, value in values.items():
            call = call.having(name, value)
        return call

    def without(self, name: str) -> Self:
        """Copy with one argument left out."""
        return type(self)(self.tool, _with(self.arguments, name.split("."), _MISSING))

    def has(self, name: str) -> bool:
        """Tell whether an argument is given."""
        return _find(self.arguments, name) is not _MISSING

    def value(self, name: str, default: JsonValue = None) -> JsonValue:
        """The value of an argument, or what stands for it where it is left out."""
        found = _find(self.arguments, name)
        return default if found is _MISSING else cast("JsonValue", found)

    def __str__(self) -> str:
        arguments = canonical_json(dict(self.arguments)).decode()
        text = f"{self.tool}({arguments[1:-1]})"
        return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _with(arguments: Mapping[str, JsonValue], path: Sequence[str], value: object) -> JsonObject:
    name, *inner = path
    if inner:
        outer = arguments.get(name)
        value = _with(outer if isinstance(outer, dict) else {}, inner, value)
    rest = {**arguments, name: value}
    return {k: cast("JsonValue", v) for k, v in rest.items() if v is not _MISSING}


def _find(arguments: Mapping[str, Any], name: str) -> object:
    found: object = arguments
    for step in name.split("."):
        members = cast("dict[str, object]", found) if isinstance(found, Mapping) else {}
        found = members.get(step, _MISSING)
    return found


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a gold call where a value stands: an argument, or a member of one."""

    value: JsonValue
    role: ArgumentRole
    neighbours: tuple[JsonValue, ...] = ()
    derived_from: tuple[str | int, ...] = ()
    forgiving: bool = False
    any_value: bool = False


@dataclass(frozen=True, slots=True)
class GoldStep:
    """A gold call in its place among the others."""

    index: int
    call: PlannedCall
    slots: Mapping[str, Slot]
    """By name; an object whose members have roles has no place of its own."""
    answers: tuple[tuple[int, str], ...]
    """The sub-tasks that it solves, each with what its result is to contain."""
    before: tuple[PlannedCall, ...]
    """The gold calls before it."""
    after: frozenset[int]
    """Sub-tasks whose calls must come first."""

    @classmethod
    def of(
        cls,
        index: int,
        gold: GoldCall,
        answers: Mapping[int, str],
        dependencies: Mapping[int, Sequence[int]],
        before: tuple[PlannedCall, ...],
    ) -> "GoldStep":
        """Take a gold call of a document."""
        needed = {d for i in gold.solves for d in dependencies.get(i, ())}
        return cls(
            index,
            PlannedCall(gold.tool, gold.values),
            dict(s for name, a in gold.arguments.items() for s in _slots(name, a)),
            tuple((i, answers[i]) for i in gold.solves),
            before,
            frozenset({*gold.after, *needed} - {*gold.solves}),
        )

    def subject(self, number: int) -> str:
        """Name what a fault of one of its answers is about."""
        return f"{self.call.tool} answer {number}"

    @property
    def identifying(self) -> tuple[str, ...]:
        """Names of the places that pick the record."""
        return tuple(name for name in self.slots if self.is_identifying(name))

    def is_identifying(self, name: str) -> bool:
        """Tell whether a place picks the record."""
        slot = self.slots.get(name)
        return slot is not None and slot.role is ArgumentRole.IDENTIFYING


def _slots(name: str, argument: GoldArgument) -> Iterator[tuple[str, Slot]]:
    if not argument.members:
        a = argument
        yield (
            name,
            Slot(a.value, a.role, a.neighbours, a.derived_from, a.forgiving, a.any_value),
        )
    for path, m in argument.members.items():
        value = cast("JsonValue", _find({name: argument.value}, f"{name}.{path}"))
        slot = Slot(value, m.role, m.neighbours, m.derived_from, m.forgiving, m.any_value)
        yield f"{name}.{path}", slot


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
    seconds: float = field(default=0.0, compare=False)
    """How long it took."""

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
