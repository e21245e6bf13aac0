"""Places in earlier results, which words that were written beforehand have in the stead of values.

``$2.hold_id`` is the member ``hold_id`` of the second result, and ``$1.books.0.title`` lies in a list.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from astra_mcp.types import JsonObject, JsonValue

__all__ = ["filled", "filled_text"]

_PLACE: Final = re.compile(r"\$([1-9][0-9]*)((?:\.[A-Za-z0-9_]+)+)")


def filled(arguments: JsonObject, results: Sequence[str]) -> JsonObject:
    """Put values into arguments; one that is a place and nothing else takes the value's own type.

    Args:
        arguments: Of a call.
        results: Of the calls before, as JSON texts.

    Raises:
        LookupError: A result has no such place.
    """
    return {name: _filled(value, results) for name, value in arguments.items()}


def filled_text(text: str, results: Sequence[str]) -> str:
    """Put values into a text; see :func:`filled`."""
    return _PLACE.sub(lambda found: str(_value(found, results)), text)


def _filled(value: JsonValue, results: Sequence[str]) -> JsonValue:
    if not isinstance(value, str):
        return value
    whole = _PLACE.fullmatch(value)
    return filled_text(value, results) if whole is None else _value(whole, results)


def _value(place: re.Match[str], results: Sequence[str]) -> JsonValue:
    number, path = int(place[1]), place[2].split(".")[1:]
    try:
        value: JsonValue = json.loads(results[number - 1])
        for part in path:
            value = _member(value, part)
    except (IndexError, KeyError, ValueError):
        raise LookupError(f"no result has {place[0]}") from None
    return value


def _member(value: JsonValue, part: str) -> JsonValue:
    if isinstance(value, list):
        return value[int(part)]
    if isinstance(value, dict):
        return value[part]
    raise KeyError(part)
