"""What a call that computes is told, in the form that its tool declares or that such tools usually have."""

from collections.abc import Callable, Mapping
from typing import Final, cast

from astra_mcp.types import JsonObject, JsonValue, json_fault
from astra_mcp.values.alternatives import as_schema
from astra_mcp.values.guesses import resolve
from astra_mcp.values.nouns import key_of, words_of
from astra_mcp.values.scalars import takes
from servers.emulated.offline.computing.binding import PRECISION, Bound
from servers.emulated.offline.computing.computation import Moment
from servers.emulated.offline.computing.operands import UnfitError, integer
from servers.emulated.offline.computing.recognition import Recognition
from servers.emulated.offline.finding import Call
from servers.emulated.offline.result_lists import Answer
from servers.emulated.offline.selection import EntityRefusedError
from servers.emulated.parameters import Role

__all__ = ["computed", "of_session"]

Run = Callable[[Bound, dict[str, object]], JsonValue]

_MAX_ECHOED: Final = 200
_RESULTS: Final = ("result", "value", "output", "answer", "results", "data", "content", "text")
_ASIDE: Final = frozenset(
    (
        "success",
        "ok",
        "error",
        "status",
        "message",
        "unit",
        "operation",
        "formula",
        "is_error",
        "timestamp",
    )
)
"""Members of answers beside a result."""


def of_session(moment: Moment) -> Run:
    """Compute at a moment of a session."""

    def run(bound: Bound, values: dict[str, object]) -> JsonValue:
        if bound.computation.is_of_session:
            values["moment"] = moment
        return bound.computation.run(**values)

    return run


def computed(recognition: Recognition, call: Call, run: Run) -> Answer | None:
    """Compute what a call asks for; None where it asks for something else.

    Args:
        recognition: Of the server's tools.
        call: Any.
        run: Computes, given what is bound and its operands by name.

    Raises:
        EntityRefusedError: It cannot be computed from these arguments.
    """
    readings = recognition.readings(call.tool, call.reading.parameters, call.arguments)
    faults: list[UnfitError] = []
    for bound in readings:
        try:
            values = bound.values(call.arguments)
            if values is not None:
                return _answer(call, bound, _result(run, bound, values))
        except UnfitError as fault:
            if bound.computation.is_sure:
                faults.append(fault)
    if faults:
        raise EntityRefusedError(_sentence(str(faults[0])))
    return None


def _result(run: Run, bound: Bound, values: dict[str, object]) -> JsonValue:
    try:
        result = run(bound, values)
    except ZeroDivisionError:
        raise EntityRefusedError("Division by zero") from None
    except OverflowError:
        raise EntityRefusedError("The result is out of range") from None
    if json_fault(result) is not None:
        raise EntityRefusedError("The result is out of range")
    return result


def _answer(call: Call, bound: Bound, result: JsonValue) -> Answer | None:
    """The result among what was asked; None where the tool declares an answer that has no place for it."""
    result = _rounded(call, result)
    told: JsonObject = dict(result) if isinstance(result, dict) else {"result": result}
    shown = {**_echo(call), **told}
    if call.tool.output_schema is None:
        return Answer(shown)
    if isinstance(result, dict):
        if None in result.values():
            raise EntityRefusedError(
                "Not found"
            )  # rather than a value that is made up in its place
        return Answer(shown, {"result": result})
    place = _place(call, bound, result)
    return None if place is None else Answer({**shown, place: result})


def _rounded(call: Call, result: JsonValue) -> JsonValue:
    asked = next((call.arguments[n] for n in call.arguments if key_of(n) in PRECISION), None)
    if asked is None or not isinstance(result, float):
        return result
    return round(result, max(-15, min(integer(asked), 15)))


def _echo(call: Call) -> JsonObject:
    """The arguments that fit on a line, but no secrets."""
    return {
        p.name: call.arguments[p.name]
        for p in call.reading.parameters
        if p.role not in (Role.OPTION, Role.NOISE)
        and isinstance(value := call.arguments.get(p.name), str | int | float)
        and len(str(value)) <= _MAX_ECHOED
        and p.key not in ("result", "results", *PRECISION)
    }


def _place(call: Call, bound: Bound, result: JsonValue) -> str | None:
    """The member of a declared answer that is to hold the result."""
    root = call.tool.output_schema or {}
    declared = resolve(root, root).get("properties")
    if not isinstance(declared, dict):
        return "result"
    members = cast("Mapping[str, object]", declared)
    fitting = {name for name, schema in members.items() if _takes(schema, root, result)}
    for key in _RESULTS:
        for name in members:
            if name in fitting and key_of(name) == key:
                return name
    words = frozenset[str]().union(*bound.computation.phrases)
    named = [n for n in members if n in fitting and n not in call.arguments]
    likely = [n for n in named if not words.isdisjoint(words_of(n))]
    others = [n for n in named if key_of(n) not in _ASIDE]
    return next((names[0] for names in (likely, others) if len(names) == 1), None)


def _takes(schema: object, root: Mapping[str, object], result: JsonValue) -> bool:
    known = resolve(as_schema(schema), root)
    if isinstance(result, list | dict):
        kinds = known.get("type")
        return kinds is None or ("array" if isinstance(result, list) else "object") in kinds
    if "type" not in known and "enum" not in known:
        return True
    written = str(result)
    return takes(known, result) or (not isinstance(result, bool) and takes(known, written))


def _sentence(said: str) -> str:
    is_plain = said.startswith("Invalid") or "not found" in said
    return said if is_plain else f"Invalid input: {said[:1].lower()}{said[1:]}"
