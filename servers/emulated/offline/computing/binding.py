"""Which arguments of a tool are the operands of a computation: by name, else where there is no doubt."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from astra_mcp.types import JsonValue
from servers.emulated.offline.computing.computation import Computation, Operand
from servers.emulated.offline.computing.operands import UnfitError
from servers.emulated.parameters import Parameter, Role, key_suffix

__all__ = ["Bound", "bind"]

_NUMBERED: Final = re.compile(
    r"(?:number|num|n|value|val|operand|arg|argument|int|integer|float|addend|factor|term|text|string|str"
    r"|word|list|vector|vec|matrix|date|array|x|y|v|s|a|input|point)_?(\d|one|two|three|four|[a-d])"
)
_PLACES: Final = {
    word: place
    for place, words in enumerate(
        ("first left one", "second right two", "third three", "fourth four"), start=1
    )
    for word in words.split()
}
_LETTERS: Final = "abcdmnuvxyz"
_ELSEWHERE: Final = frozenset(
    ("path", "url", "uri", "file", "filename", "file_path", "image", "symbol", "name", "query")
)
"""A text that says where something is, not what is to be computed with."""
_IGNORED: Final = frozenset(
    (
        "verbose",
        "explain",
        "explanation",
        "show_steps",
        "ctx",
        "context",
        "kwargs",
        "debug",
        "api_key",
    )
)
"""Change nothing of a result."""
PRECISION: Final = frozenset(
    ("precision", "decimals", "decimal_places", "digits", "decimal_digits", "round_to", "rounding")
)
"""How many decimals a result is to have."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A computation, and where its operands stand in a call."""

    computation: Computation
    places: Mapping[str, tuple[Parameter, ...]]
    """The parameters that hold each operand."""
    told: Mapping[str, object]
    """Operands that the tool's words decide."""

    def values(self, arguments: Mapping[str, JsonValue]) -> dict[str, object] | None:
        """Read the operands of a call.

        Returns:
            None where an argument is given that the computation knows nothing of.

        Raises:
            UnfitError: An argument is not what the computation takes.
        """
        held = {p.name for group in self.places.values() for p in group}
        if not all(_is_known(name, value, held) for name, value in arguments.items()):
            return None
        found: dict[str, object] = {}
        for operand in self.computation.operands:
            given = [
                (p.name, arguments[p.name])
                for p in self.places.get(operand.name, ())
                if arguments.get(p.name) is not None
            ]
            if given:
                found[operand.name] = _read(operand, given)
            elif operand.name in self.told or not operand.is_required:
                found[operand.name] = self.told.get(operand.name, operand.default)
            else:
                raise UnfitError(f"{operand.name} is missing")
        return found


def _is_known(name: str, value: JsonValue, held: set[str]) -> bool:
    return name in held or value is None or name.lower() in _IGNORED | PRECISION


def _read(operand: Operand, given: Sequence[tuple[str, JsonValue]]) -> object:
    """Read the arguments that hold an operand.

    Raises:
        UnfitError: One of them does not fit; the message names it.
    """
    name = given[0][0]
    try:
        if not operand.takes_many or len(given) == 1:
            return operand.read(given[0][1])
        read: list[object] = []
        for name, value in given:  # noqa: B007 - the last one is named in the error
            read += operand.read([value])
    except UnfitError as fault:
        raise UnfitError(f"Invalid value for {name}: {fault}") from None
    return read


def bind(
    computation: Computation, parameters: Sequence[Parameter], told: Mapping[str, object]
) -> Bound | None:
    """Find the parameters of all operands.

    Args:
        computation: What the tool's name says.
        parameters: Of the tool.
        told: Operands that its words decide.

    Returns:
        None where an operand has none, or where a required parameter is none.
    """
    left = [p for p in parameters if p.role is not Role.NOISE]
    places: dict[str, tuple[Parameter, ...]] = {}
    for operand in computation.operands:
        named = _named(operand, left)
        if named is not None:
            places[operand.name] = (named,)
            left.remove(named)
    for operand in computation.operands:
        is_sought = operand.is_neutral or (operand.is_required and operand.name not in told)
        if operand.name not in places and is_sought:
            found = _by_place(operand, left, is_only=len(parameters) == 1)
            if found:
                places[operand.name] = found
                left = [p for p in left if p not in found]
    known = places.keys() | told.keys()
    is_complete = all(o.name in known for o in computation.operands if o.is_required)
    is_used_up = not any(p.is_required and not _is_known(p.name, "", set()) for p in left)
    return Bound(computation, places, told) if is_complete and is_used_up else None


def _named(operand: Operand, left: Sequence[Parameter]) -> Parameter | None:
    """The parameter that is called like an operand."""
    for key in operand.keys:
        for parameter in left:
            if parameter.key == key and _fits(operand, parameter):
                return parameter
    return None


def _fits(operand: Operand, parameter: Parameter) -> bool:
    return not parameter.types or not parameter.types.isdisjoint(operand.types)


def _by_place(
    operand: Operand, left: Sequence[Parameter], *, is_only: bool
) -> tuple[Parameter, ...]:
    """The parameters that can but be an operand, in their order."""
    if operand.takes_many:
        many = [p for p in left if _is_of_numbers(p)]
        if len(many) == 1 and len([p for p in left if p.is_required]) <= 1:
            return tuple(many)
        return _side_by_side(left) if operand.is_neutral else ()
    if operand.is_neutral:
        ranked = [
            (rank, p) for p in left if _fits(operand, p) and (rank := _rank(p.key)) is not None
        ]
        if ranked:
            return (min(ranked, key=lambda item: item[0])[1],)
    if is_only and left and _fits(operand, left[0]) and _can_be_only(operand, left[0]):
        return (left[0],)
    return ()


def _is_of_numbers(parameter: Parameter) -> bool:
    items: Any = parameter.schema.get("items")
    kind = cast("dict[str, Any]", items).get("type") if isinstance(items, dict) else None
    return "array" in parameter.types and kind in ("number", "integer")


def _side_by_side(left: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Numbers that stand beside each other, such as ``a`` and ``b``."""
    scalars = [
        p for p in left if not p.types or not p.types.isdisjoint(("number", "integer", "string"))
    ]
    ranked = [(rank, p) for p in scalars if (rank := _rank(p.key)) is not None]
    if len(ranked) < 2:
        return ()
    return tuple(p for _, p in sorted(ranked, key=lambda item: item[0]))


def _rank(key: str) -> tuple[int, str] | None:
    """Where a neutral name stands among such; None for other names."""
    if len(key) == 1 and key in _LETTERS:
        return 0, key
    head = key.partition("_")[0]
    if head in _PLACES:
        return _PLACES[head], key
    numbered = _NUMBERED.fullmatch(key)
    if numbered is None:
        return None
    mark = numbered[1]
    if mark.isdigit():
        return int(mark), key
    return _PLACES.get(mark, ord(mark[0]) - ord("a") + 1), key


def _can_be_only(operand: Operand, parameter: Parameter) -> bool:
    """Say whether a tool's only argument is the operand whatever it is called."""
    if key_suffix(parameter.key)[1] or parameter.key in _ELSEWHERE:
        return False
    return bool(parameter.types) and (
        "string" not in parameter.types or "number" not in operand.types
    )
