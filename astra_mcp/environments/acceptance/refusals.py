"""Do the schemas refuse bad arguments, and does everything that was seen keep the rules?"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping

import jsonschema_rs

from astra_mcp.answers import contains_answer, match_answers
from astra_mcp.environments.acceptance.documents import addressed_words
from astra_mcp.environments.acceptance.planned import (
    LIMIT_KINDS,
    REFUSED,
    Observation,
    PlannedCall,
    Play,
)
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle
from astra_mcp.schemas import compile_schema, compile_validator
from astra_mcp.types import JsonValue, ToolSpec, canonical_json
from astra_mcp.values.neighbours import property_of

__all__ = ["schema_refusal_failures", "seen_failures", "slow_call_failures", "takes_alone"]

_WRONG_TYPES: tuple[JsonValue, ...] = ([["nested"]], {"unexpected": {}}, "\u2042", -1.5, True, None)
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
_MACHINE_TEXT = re.compile(
    r"Traceback|tools\.py|(?<![\w/:.])/(?:[\w.-]+/)+[\w.-]+|\b[A-Za-z]:\\{1,2}\w"
)
_INTERPRETER_TEXT = re.compile(
    r"invalid literal for|could not convert string|values to unpack|does not match format|"
    r"is not in list|x not in (list|tuple)|substring not found|empty sequence|index out of range|"
    r"math domain error|Invalid isoformat string|unconverted data remains|is out of range for month|"
    r"month must be in 1\.\.12|year -?\d+ is out of range|unhashable type|unsupported operand|"
    r"object is not subscriptable|object has no attribute|Unknown format code|nothing to repeat|"
    r"Replacement index|not enough arguments for format|not all arguments converted|"
    r"unsupported format character|format requires a mapping|encountered in format string"
)
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
_MIN_MESSAGE_WORDS = 3
_MAX_TEXT = 64 << 10
_SLOW_SECONDS, _SLOW_TIMES = 0.25, 50
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|"
    r"\\u00[01][0-9a-f]|\\u00[89][0-9a-f]|\\[bf]"
)
"""As such, or as JSON escapes them; lines and tabs are none."""
_ALIKE = re.compile(
    "[\u0410\u0412\u0415\u041a\u041c-\u041e\u0420-\u0423\u0425"
    "\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7]"
)
"""Cyrillic and Greek capitals that look like A to Z."""
_FORMATTED = re.compile(r"<class '|<built-in |<function |<bound method |<module '")


def schema_refusal_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Each schema must refuse a missing argument and a value of a wrong type, and name it."""
    for tool in bundle.document.tools:
        check = compile_schema(tool.input_schema)
        for name in tool.input_schema.get("required", ()):
            if not any(repr(name) in fault for fault in check.faults({})):
                detail = f"{tool.name}: a call without {name} is not refused by its name"
                yield FailedCheck.of(Check.CLEAR_ERROR, detail)
        for name in tool.input_schema["properties"]:
            if all(takes_alone(tool, name, value) for value in _WRONG_TYPES):
                detail = f"{tool.name}: the schema of {name} takes any value; give it a type"
                yield FailedCheck.of(Check.CLEAR_ERROR, detail)


def takes_alone(tool: ToolSpec, name: str, value: JsonValue) -> bool:
    """Tell whether the schema of a parameter takes a value, whatever the others are."""
    schema = {"$defs": tool.input_schema.get("$defs", {}), **property_of(tool, name)}
    return compile_validator(schema).is_valid(value)


def seen_failures(player: Player) -> Iterator[FailedCheck]:
    """Judge every result that the other checks led to; each fault of a tool once."""
    validators = {
        t.name: compile_validator(t.output_schema)
        for t in player.tools.values()
        if t.output_schema is not None
    }
    told: set[tuple[str, str]] = set()
    known = player.bundle.document.model_dump_json()
    for play in player.plays():
        yield from _listing_failures(player, play)
        call, seen = play.call, play.seen
        fault = _fault(
            call, seen, validators, known + canonical_json(dict(call.arguments)).decode()
        )
        if fault is None:
            continue
        check, problem = fault
        kind = problem.partition(" (")[0]
        if (call.tool, kind) not in told:
            told.add((call.tool, kind))
            yield FailedCheck.of(check, f"{call} {problem}: {seen}")


async def slow_call_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Find calls that take far longer than most, each made twice more: the machine may have been busy."""
    plays = sorted(player.plays(), key=lambda p: -p.seen.seconds)
    usual = plays[len(plays) // 2].seen.seconds if plays else 0.0
    slow = max(_SLOW_SECONDS, _SLOW_TIMES * usual)
    told: set[str] = set()
    for play in plays:
        if play.seen.seconds < slow:
            return
        if play.call.tool in told or play.seen.error_kind in LIMIT_KINDS:
            continue
        again = [(await player.play([*play.after, play.call]))[-1].seconds for _ in range(2)]
        if min(again) >= slow:
            told.add(play.call.tool)
            detail = (
                f"{play.call} takes {min(again):.2f} s, and most calls {usual:.4f} s; give what drives its "
                "cost a maximum"
            )
            yield FailedCheck.of(Check.HYGIENE, detail)


def _listing_failures(player: Player, play: Play) -> Iterator[FailedCheck]:
    """No error tells an answer of its tool, but one that a call before it has found."""
    call, seen = play.call, play.seen
    if seen.is_success or seen.error_kind == REFUSED:
        return
    own = [item for item in player.job if call.tool in item.tools]
    told = match_answers(seen.result.text, [item.answer for item in own]).found
    sent = canonical_json(dict(call.arguments)).decode()
    for item in (item for item in own if item.answer in told):
        is_found = any(s.call in play.after and item.id in dict(s.answers) for s in player.gold)
        if not is_found and not contains_answer(sent, item.answer):
            detail = (
                f"{call} fails, and its error holds answer {item.id}; say what is allowed, not what is "
                f"there: {seen}"
            )
            yield FailedCheck.of(Check.OPEN_TABLE, detail, f"{call.tool} answer {item.id}")


def _fault(
    call: PlannedCall,
    seen: Observation,
    validators: Mapping[str, jsonschema_rs.Validator],
    known: str,
) -> tuple[Check, str] | None:
    if _ADDRESS.search(seen.result.text):
        return Check.DETERMINISM, "shows the address of an object"
    unclean = _unclean(seen.result.text)
    if unclean is not None:
        return Check.HYGIENE, unclean
    if seen.error_kind is not None:
        return _error_fault(seen, seen.error_kind, known)
    if _is_nothing(seen.value):
        printed = " and prints instead" if seen.output.strip() else ""
        return Check.RESULT, f"returns nothing{printed}"
    validator = validators.get(call.tool)
    if validator is not None and not validator.is_valid(seen.value):
        error = next(iter(validator.iter_errors(seen.value)))
        return Check.RESULT, f"returns what its output schema refuses ({error.message[:120]})"
    return None


def _unclean(text: str) -> str | None:
    """Why a result is of no use to an agent, or should not reach one."""
    if len(text) > _MAX_TEXT:
        return f"returns {len(text):,} characters, more than {_MAX_TEXT:,}; return fewer records"
    if found := _CONTROL.search(text):
        return f"returns a control character ({found.group()!r}); take it out"
    if found := _FORMATTED.search(text):
        return f"shows the interpreter's insides ({found.group()!r}); never format by an argument"
    if not text.isascii() and (code := _foreign_code(text)):
        return f"returns a code whose letters only look like A to Z ({code!r}); write it in these"
    words = addressed_words(text)
    if words is not None:
        return f"speaks to the model that reads it ({words!r}); return data"
    return None


def _foreign_code(text: str) -> str | None:
    """A code with letters of another alphabet that nobody can tell from those of ours."""
    if not _ALIKE.search(text):
        return None
    words = (w for w in re.findall(r"[\w-]+", text) if _ALIKE.search(w))
    return next((w for w in words if any(c.isdigit() for c in w)), None)


def _is_nothing(value: JsonValue) -> bool:
    """Tell whether a result says nothing; an empty list says that nothing was found."""
    return not value.strip() if isinstance(value, str) else not value and value != []


def _error_fault(seen: Observation, kind: str, known: str) -> tuple[Check, str] | None:
    message = seen.result.text.removeprefix(f"{kind}: ")
    if kind == REFUSED:
        return None
    if kind in LIMIT_KINDS:
        return Check.LIMITS, "exceeds the limits; give what drives its cost a maximum"
    if kind == "NotJson":
        return Check.RESULT, "returns what JSON cannot carry"
    if any(not _is_of_data(m.group(), known) for m in _MACHINE_TEXT.finditer(message)):
        return Check.CLEAR_ERROR, "shows a path or a traceback"
    is_plain = len(message.split()) >= _MIN_MESSAGE_WORDS or not message.isascii()
    if kind in _CRASHES or _INTERPRETER_TEXT.search(message) or not is_plain:
        remedy = "raise ValueError with a sentence that says what is wrong and what is allowed"
        return Check.CLEAR_ERROR, f"crashes instead of explaining ({kind}); {remedy}"
    return None


def _is_of_data(path: str, known: str) -> bool:
    """Tell whether a path is one of those that an environment is about: its document names its root."""
    return path.startswith("/") and f"/{path.split('/')[1]}" in known
