"""How arguments are read as what is computed with: numbers, texts, lists, matrices, flags; all bounded.

Programs send numbers as texts and lists as texts with commas; whatever can be read in one way alone is read.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from astra_mcp.types import JsonValue

__all__ = [
    "MAX_ITEMS",
    "MAX_TEXT",
    "UnfitError",
    "anything",
    "flag",
    "integer",
    "items",
    "matrix",
    "number",
    "numbers",
    "text",
    "texts",
]

MAX_TEXT: Final = 100_000
"""Characters of a text that is computed with."""
MAX_ITEMS: Final = 10_000
"""Members of a list that is computed with."""
_MAX_SIDE: Final = 40
"""Rows and columns of a matrix."""
_NUMBER: Final = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,4})?")
_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")

Reader = Callable[[JsonValue], Any]


class UnfitError(Exception):
    """An argument is not what a computation takes; the message says what it is not."""


def number(value: JsonValue) -> int | float:
    """A number, also as a text.

    Raises:
        UnfitError: It is none, or infinite.
    """
    if isinstance(value, str):
        value = _written_number(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnfitError(f"{_short(value)} is not a number")
    return value


def _written_number(written: str) -> JsonValue:
    plain = written.replace(",", "") if _GROUPED.fullmatch(written) else written
    if not _NUMBER.fullmatch(plain):
        return written
    return int(plain) if plain.lstrip("+-").isdigit() else float(plain)


def integer(value: JsonValue) -> int:
    """A whole number, also as a text or as ``3.0``.

    Raises:
        UnfitError: It is none.
    """
    found = number(value)
    if isinstance(found, float) and not found.is_integer():
        raise UnfitError(f"{_short(value)} is not a whole number")
    return int(found)


def numbers(value: JsonValue) -> list[int | float]:
    """Numbers in a list, or in a text between commas, semicolons or spaces.

    Raises:
        UnfitError: One of them is none, or there are too many.
    """
    return [number(item) for item in items(value)]


def items(value: JsonValue) -> list[JsonValue]:
    """A list, also as JSON or between commas in a text.

    Raises:
        UnfitError: It is none, or too long.
    """
    if isinstance(value, str):
        value = _written_items(text(value))
    if not isinstance(value, list):
        raise UnfitError(f"{_short(value)} is not a list")
    if len(value) > MAX_ITEMS:
        raise UnfitError(f"a list of {len(value)} items is longer than {MAX_ITEMS}")
    return value


def _written_items(written: str) -> JsonValue:
    stripped = written.strip()
    if stripped.startswith("["):
        return parsed(stripped)
    mark = next((mark for mark in (";", ",", "\n") if mark in stripped), None)
    parts = stripped.split(mark)
    return [part.strip() for part in parts if part.strip()]


def parsed(written: str) -> JsonValue:
    """What a JSON text says.

    Raises:
        UnfitError: It is not JSON.
    """
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise UnfitError(f"{_short(written)} is not valid JSON") from None


def texts(value: JsonValue) -> list[str]:
    """Texts in a list, or between commas in one text.

    Raises:
        UnfitError: One of them is none, or there are too many.
    """
    return [text(item) for item in items(value)]


def matrix(value: JsonValue) -> list[list[int | float]]:
    """Rows of numbers, all of one length; a text may hold them as JSON.

    Raises:
        UnfitError: It is no matrix, or too large.
    """
    value = parsed(value) if isinstance(value, str) else value
    if not isinstance(value, list) or not value or len(value) > _MAX_SIDE:
        raise UnfitError(f"{_short(value)} is not a matrix of at most {_MAX_SIDE} rows")
    rows = [numbers(row) for row in value if isinstance(row, list)]
    if len(rows) != len(value) or len({len(row) for row in rows}) != 1:
        raise UnfitError("the rows of the matrix are not lists of one length")
    if not 0 < len(rows[0]) <= _MAX_SIDE:
        raise UnfitError(f"a row has no numbers, or more than {_MAX_SIDE}")
    return rows


def text(value: JsonValue) -> str:
    """A text; a number is one as it is written.

    Raises:
        UnfitError: It is none, or too long.
    """
    if isinstance(value, bool | dict | list | None):
        raise UnfitError(f"{_short(value)} is not a text")
    written = str(value)
    if len(written) > MAX_TEXT:
        raise UnfitError(f"a text of {len(written)} characters is longer than {MAX_TEXT}")
    return written


def flag(value: JsonValue) -> bool:
    """True or false, also as a text.

    Raises:
        UnfitError: It is neither.
    """
    said = str(value).lower()
    if said not in ("true", "false"):
        raise UnfitError(f"{_short(value)} is neither true nor false")
    return said == "true"


def anything(value: JsonValue) -> JsonValue:
    """Any value of bounded size.

    Raises:
        UnfitError: It is too long.
    """
    if isinstance(value, str):
        return text(value)
    return items(value) if isinstance(value, list) else value


def _short(value: object) -> str:
    written = repr(value)
    return written if len(written) <= 60 else f"{written[:57]}..."
