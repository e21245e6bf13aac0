"""Reading JSON that people write: what Python would let pass in silence is refused."""

import json
from math import isfinite
from typing import Any

__all__ = ["parse_strict", "parse_strict_prefix"]


def parse_strict(text: str) -> object:
    """Parse a JSON document in which no key stands twice in an object, and every number is finite.

    Raises:
        json.JSONDecodeError: It is not JSON.
        ValueError: It is refused; the message says why.
        RecursionError: It nests too deeply.
    """
    if text.startswith("\ufeff"):
        json.loads(text)  # says so
    return _DECODER.decode(text)


def parse_strict_prefix(text: str, at: int) -> tuple[object, int]:
    """Parse the JSON value that begins at a place of a text, and say where it ends; refuses the same.

    Raises:
        json.JSONDecodeError: No value begins there.
        ValueError: It is refused; the message says why.
        RecursionError: It nests too deeply.
    """
    return _DECODER.raw_decode(text, at)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({n for n in names if names.count(n) > 1})
        raise ValueError(f"the key {twice[0]!r} stands twice in one object; remove one")
    return row


def _finite(number: str) -> float:
    if isfinite(value := float(number)):
        return value
    raise ValueError(f"{number} is not JSON, or too large; use null or a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
