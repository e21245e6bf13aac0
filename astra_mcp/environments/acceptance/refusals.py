"""How do the tools answer bad arguments, and does everything that was seen keep the rules?"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping

import jsonschema_rs

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.gold import planned_gold
from astra_mcp.environments.acceptance.neighbours import known_values, property_of
from astra_mcp.environments.acceptance.perturbation import masked
from astra_mcp.environments.acceptance.playing import (
    LIMIT_KINDS,
    REFUSED,
    Observation,
    PlannedCall,
    Player,
)
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import ArgumentRole, Bundle, GoldCall
from astra_mcp.schemas import compile_schema, compile_validator
from astra_mcp.types import JsonValue, ToolSpec

__all__ = ["refusal_failures", "schema_refusal_failures", "seen_failures"]

_WRONG_TYPES: tuple[JsonValue, ...] = ([["nested"]], {"unexpected": {}}, "\u2042", -1.5, True, None)
_GARBAGE: tuple[JsonValue, ...] = ("", "zzqx-unknown", "ZZ-99999", "0", -1, 0, 999_999_937, 0.5)
_CRASHES = frozenset(
    {
        "AssertionError",
        "AttributeError",
        "NameError",
        "NotImplementedError",
        "RecursionError",
        "StopIteration",
        "SystemExit",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    }
)
_MACHINE_TEXT = re.compile(r"Traceback|tools\.py|(?<![\w/:.])/(?:[\w.-]+/)+[\w.-]+")
_INTERPRETER_TEXT = re.compile(
    r"invalid literal for|could not convert string|values to unpack|does not match format|"
    r"is not in list|x not in (list|tuple)|substring not found|empty sequence|index out of range|"
    r"math domain error"
)
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
_MIN_MESSAGE_WORDS = 3


def schema_refusal_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Each schema must refuse a missing argument and a value of a wrong type, and name it."""
    for tool in bundle.document.tools:
        check = compile_schema(tool.input_schema)
        for name in tool.input_schema.get("required", ()):
            if not any(repr(name) in fault for fault in check.faults({})):
                detail = f"{tool.name}: a call without {name} is not refused by its name"
                yield FailedCheck.of(Check.CLEAR_ERROR, detail)
        for name in tool.input_schema["properties"]:
            if all(_accepts_type(tool, name, value) for value in _WRONG_TYPES):
                detail = f"{tool.name}: the schema of {name} takes any value; give it a type"
                yield FailedCheck.of(Check.CLEAR_ERROR, detail)


def _accepts_type(tool: ToolSpec, name: str, value: JsonValue) -> bool:
    schema = {"$defs": tool.input_schema.get("$defs", {}), **property_of(tool, name)}
    return compile_validator(schema).is_valid(value)


async def refusal_failures(bundle: Bundle, player: Player) -> AsyncIterator[FailedCheck]:
    """Put senseless values into each argument of each gold call."""
    calls = planned_gold(bundle)
    answers = {s.id: s.answer for s in bundle.document.sub_tasks}
    tools = {t.name: t for t in bundle.document.tools}
    for index, (gold, call) in enumerate(zip(bundle.document.gold, calls, strict=True)):
        usual = await player.observe(call, calls[:index])
        wanted = [answers[i] for i in gold.solves]
        for name, value in _garbage_arguments(tools[gold.tool], gold, player):
            seen = await player.observe(call.having(name, value), calls[:index])
            if gold.arguments[name].role is not ArgumentRole.IDENTIFYING or not seen.is_success:
                continue
            words = {str(value).casefold(), str(call.arguments[name]).casefold()}
            kept = [a for a in wanted if contains_answer(seen.result.text, a)]
            if kept or masked(seen, words) == masked(usual, words):
                found = f"answer {kept[0]!r}" if kept else "the gold result"
                detail = f"{call.having(name, value)} still has {found}; refuse unknown values"
                yield FailedCheck.of(Check.SWALLOWED_ARGUMENT, detail)


def _garbage_arguments(
    tool: ToolSpec, gold: GoldCall, player: Player
) -> Iterator[tuple[str, JsonValue]]:
    """Values of the argument's own type that the schema accepts, but neither names nor means."""
    call = PlannedCall.of_gold(gold)
    for name, argument in gold.arguments.items():
        schema = property_of(tool, name)
        meant = [argument.value, *known_values(schema), schema.get("default")]
        for value in _GARBAGE:
            is_same_type = type(value) is type(argument.value)
            if is_same_type and value not in meant and player.accepts(call.having(name, value)):
                yield name, value


def seen_failures(bundle: Bundle, player: Player) -> Iterator[FailedCheck]:
    """Judge every result that the other checks led to; each fault of a tool once."""
    validators = {
        t.name: compile_validator(t.output_schema)
        for t in bundle.document.tools
        if t.output_schema is not None
    }
    told: set[tuple[str, str]] = set()
    for call, seen in ((p.call, p.seen) for p in player.plays()):
        fault = _fault(call, seen, validators)
        if fault is None:
            continue
        check, problem = fault
        if (call.tool, problem) not in told:
            told.add((call.tool, problem))
            yield FailedCheck.of(check, f"{call} {problem}: {seen}")


def _fault(
    call: PlannedCall, seen: Observation, validators: Mapping[str, jsonschema_rs.Validator]
) -> tuple[Check, str] | None:
    if _ADDRESS.search(seen.result.text):
        return Check.DETERMINISM, "shows the address of an object"
    if seen.error_kind is not None:
        return _error_fault(seen, seen.error_kind)
    if seen.value in (None, "", {}):
        printed = " and prints instead" if seen.output.strip() else ""
        return Check.RESULT, f"returns nothing{printed}"
    validator = validators.get(call.tool)
    if validator is not None and not validator.is_valid(seen.value):
        error = next(iter(validator.iter_errors(seen.value)))
        return Check.RESULT, f"returns what its output schema refuses ({error.message[:120]})"
    return None


def _error_fault(seen: Observation, kind: str) -> tuple[Check, str] | None:
    message = seen.result.text.removeprefix(f"{kind}: ")
    if kind == REFUSED:
        return None
    if kind in LIMIT_KINDS:
        return Check.LIMITS, "exceeds the limits"
    if kind == "NotJson":
        return Check.RESULT, "returns what JSON cannot carry"
    if _MACHINE_TEXT.search(message):
        return Check.CLEAR_ERROR, "shows a path or a traceback"
    is_plain = len(message.split()) >= _MIN_MESSAGE_WORDS or not message.isascii()
    if kind in _CRASHES or _INTERPRETER_TEXT.search(message) or not is_plain:
        remedy = "raise ValueError with a sentence that says what is wrong and what is allowed"
        return Check.CLEAR_ERROR, f"crashes instead of explaining ({kind}); {remedy}"
    return None
