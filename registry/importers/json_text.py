"""JSON as it is to be written: what is none is told with its place, and so is what stands twice.

Stricter than the standard library, which takes ``NaN``, numbers that no computer holds and keys that stand
twice. Knows no format that is written in it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NoReturn, cast

from astra_mcp.types import JsonValue
from registry.documents.sources import DocumentFault
from registry.importers.yaml_text import MAX_DEPTH

__all__ = ["JsonError", "parse_json"]

MAX_DIGITS: Final = 4300
"""Of a number; Python reads no longer ones, since that takes the square of their length."""
_SHOWN_DIGITS: Final = 20

_TOKEN: Final = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"(?P<colon>\s*:)?|[\[\]{}]|NaN|-?Infinity|[-+.\deE]+', re.DOTALL
)
_CONSTANTS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_WORDS: Final = {
    "Expecting value": "a value must stand here",
    "Expecting property name enclosed in double quotes": "a name in double quotes must stand here",
    "Expecting ',' delimiter": "a comma must stand here, or the end of the list or object",
    "Expecting ':' delimiter": "a colon must stand here",
    "Extra data": "the value has ended, and something stands behind it",
    "Invalid control character at": "a control character stands in a text: write it as \\u and four digits",
    "Invalid \\escape": "a backslash stands in a text before what it cannot stand before",
    "Invalid \\uXXXX escape": "\\u stands in a text without four hexadecimal digits",
}
"""What the standard library says, in words for who wrote the file."""
_UNENDED: Final = "Unterminated string starting at"
_CUT_SHORT: Final = "the text ends before the value does: it was cut short"


class JsonError(ValueError):
    """A text is no JSON, or nested too deeply."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        """Name the place, from 1, and what is wrong there."""
        super().__init__(f"line {line}, column {column}: {reason}")
        self.line = line
        self.column = column
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Token:
    """What stands at a place of a text: a bracket, a number, a constant or a text."""

    at: int
    text: str
    is_key: bool


class _RefusedError(ValueError):
    """A number is none of JSON."""


def parse_json(text: str) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    """Read one JSON value.

    Returns:
        The value, and a fault for each key that stands twice in an object (the first one counts).

    Raises:
        JsonError: It cannot be read; nothing of it is.
    """
    repeats = False

    def keep_first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        repeats = True
        return {**members, **dict(reversed(pairs))}

    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=keep_first, parse_constant=_refuse, parse_float=_finite
        )
    except RecursionError:
        raise _too_deep(text) from None
    except json.JSONDecodeError as error:
        raise _explained(text, error) from None
    except ValueError:  # of a number
        raise _bad_number(text) from None
    if not _is_shallow(value):
        raise _too_deep(text)
    return value, tuple(_repeated_keys(text)) if repeats else ()


def _refuse(name: str) -> NoReturn:
    raise _RefusedError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise _RefusedError(digits)
    return number


def _explained(text: str, error: json.JSONDecodeError) -> JsonError:
    if error.msg == _UNENDED:
        return JsonError(
            error.lineno, error.colno, f"a text begins here and does not end; {_CUT_SHORT}"
        )
    if error.pos >= len(text.rstrip()):
        return JsonError(error.lineno, error.colno, _CUT_SHORT)
    return JsonError(error.lineno, error.colno, _WORDS.get(error.msg, error.msg.lower()))


def _error_at(text: str, at: int, reason: str) -> JsonError:
    return JsonError(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), reason)


def _too_deep(text: str) -> JsonError:
    depth = 0
    for token in _tokens(text):
        depth += (token.text in "[{") - (token.text in "]}")
        if depth > MAX_DEPTH:
            return _error_at(text, token.at, f"nested more than {MAX_DEPTH} levels deep")
    return _error_at(text, 0, f"nested more than {MAX_DEPTH} levels deep")


def _bad_number(text: str) -> JsonError:
    bad = next(token for token in _tokens(text) if _is_bad(token.text))
    reason = f"{bad.text[:_SHOWN_DIGITS]} is no number of JSON that computers hold"
    return _error_at(text, bad.at, reason)


def _is_bad(token: str) -> bool:
    if token in _CONSTANTS:
        return True
    if token[0] not in "-0123456789":
        return False
    return not isfinite(float(token)) if re.search("[.eE]", token) else len(token) > MAX_DIGITS


def _repeated_keys(text: str) -> Iterator[DocumentFault]:
    """Find the keys that stand twice in an object, in a text that was read."""
    objects: list[set[str]] = []
    for token in _tokens(text):
        if token.text in "[{":
            objects.append(set())
        elif token.text in "]}":
            objects.pop()
        elif token.is_key:
            key = cast("str", json.loads(token.text))
            if key in objects[-1]:
                message = f"the key {key!r} stands twice in one object; the first one counts"
                line = text.count("\n", 0, token.at) + 1
                yield DocumentFault(line=line, reason=message)
            objects[-1].add(key)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        colon = match["colon"]
        written = match[0] if colon is None else match[0][: -len(colon)]
        yield _Token(match.start(), written, colon is not None)


def _is_shallow(value: JsonValue) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return False
