"""The JSON of calls: written as templates write it, and read with a reason where it is wrong."""

import json
import re
from collections.abc import Mapping
from typing import cast

from astra_mcp.text.strict_json import parse_strict_prefix
from astra_mcp.types import json_fault
from training.render.dialects.turns import ParsedCall

__all__ = [
    "call_fault",
    "decode_call",
    "decode_value",
    "end_of_space",
    "normal_arguments",
    "written_call",
]

_SPACE = re.compile(r"[ \t\r\n]*")
_WINDOW = 1 << 10
"""Characters that are read at first. An error of Python's costs as much as all text that it was in, and a
turn may hold thousands of values that fail."""
_EDGE = 16
"""No word, escape or sign of a number is as long; what stands nearer to the end may be cut."""
_MAX_NAME = 80
"""Characters of a word of the model that a fault repeats."""


def normal_arguments(arguments: str) -> str | None:
    """Give the form in which templates write a JSON object; None where the text is none.

    Nothing at all is an object without members, as it is for a rollout.
    """
    begin = end_of_space(arguments, 0)
    if begin == len(arguments):
        return "{}"
    try:
        value, end = decode_value(arguments, begin)
    except ValueError:
        return None
    is_whole = end_of_space(arguments, end) == len(arguments)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and is_whole else None


def written_call(call: ParsedCall, member: str) -> str:
    """Write the members of a call's object: its name and arguments, without braces.

    Arguments that are no JSON object stand as they are: that is what the model wrote.

    Args:
        call: The call.
        member: Name of the member with the arguments.
    """
    arguments = normal_arguments(call.arguments)
    name = json.dumps(call.name, ensure_ascii=False)
    return f'"name": {name}, "{member}": {call.arguments if arguments is None else arguments}'


def decode_value(text: str, at: int) -> tuple[object, int]:
    """Read the JSON value that begins at a place, and say where it ends.

    Raises:
        ValueError: There is none, or it is none that every program reads alike; the message says why.
    """
    size = _WINDOW
    while True:
        part, is_rest = text[at : at + size], at + size >= len(text)
        try:
            value, end = parse_strict_prefix(part, 0)
        except json.JSONDecodeError as error:
            if is_rest or not _may_be_cut(error, len(part)):
                raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
        except RecursionError:
            raise ValueError("it nests too deeply") from None
        else:
            if is_rest or end + _EDGE <= len(part):
                break
        size *= 4
    fault = json_fault(value)
    if fault is not None:
        raise ValueError(fault)
    return value, at + end


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    """Whether more text could mend it: it is at the end of what was read, or a string is still open."""
    return error.pos + _EDGE >= length or error.msg.startswith("Unterminated string")


def decode_call(value: object, member: str, others: frozenset[str] = frozenset()) -> ParsedCall:
    """Take a call out of a JSON value.

    Args:
        value: As it was read.
        member: Name of the member with the arguments.
        others: Further members that may be there; ``id`` is kept.

    Raises:
        ValueError: It is no call; the message says why.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"it is {_kind(value)}, and has to be an object")  # noqa: TRY004
    row = cast("Mapping[str, object]", value)
    unknown = [key for key in row if key not in {"name", member, *others}]
    name, arguments, id = row.get("name"), row.get(member), row.get("id")
    if not isinstance(name, str) or not name:
        raise ValueError('"name" has to be there, the name of a tool as a string')
    if member not in row:
        raise ValueError(f'"{member}" is missing: write an object, {{}} for none')
    if not isinstance(arguments, dict):
        fault = f'"{member}" of {_shown(name)} is {_kind(arguments)}, not an object'
        raise ValueError(fault)  # noqa: TRY004
    if unknown:
        raise ValueError(f"there is no member {_shown(unknown[0])} in a call")
    text = json.dumps(arguments, ensure_ascii=False)
    return ParsedCall(name, text, id if isinstance(id, str) and "id" in others else None)


def call_fault(number: int, reason: object, form: str) -> str:
    """Say what is wrong with a call, and how it is written right.

    Args:
        number: Of the call in its turn, from 1.
        reason: What is wrong.
        form: A call as it should be.
    """
    return f"call {number} cannot be read: {reason}. Write a call as {form}"


_KINDS: Mapping[object, str] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
}


def end_of_space(text: str, at: int) -> int:
    """Say where the white space of JSON that begins at a place ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _kind(value: object) -> str:
    return "null" if value is None else _KINDS.get(type(value), "an object")


def _shown(name: str) -> str:
    return json.dumps(name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}...")
