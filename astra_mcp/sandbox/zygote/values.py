"""What may leave a tool: JSON values, error messages, printed text. Each bounded."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any, cast

from astra_mcp.sandbox.zygote.settings import RESULT_VALUES

__all__ = [
    "NotJsonError",
    "Output",
    "ResultTooLargeError",
    "describe",
    "encode_value",
]

_MAX_DEPTH = 100
"""Nesting of a result; deeper ones would exhaust the stack of whoever reads them."""
_MAX_MESSAGE = 2000
_LEAST, _MOST = -(2**63), 2**64 - 1
"""Integers that JSON libraries agree on. No range: in one, a member of an enumeration is searched for."""

# No cycle gets past the check of the depth.
_ENCODE = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
_SCALARS = (str, bool, float, type(None))
_LISTS = (list, tuple)


class NotJsonError(Exception):
    """The tool returned a value that JSON cannot carry."""


class ResultTooLargeError(Exception):
    """The tool returned more than the host takes, in bytes or in values."""


def encode_value(value: object, limit: int) -> bytes:
    """Encode what a tool returned, in at most so many bytes.

    Raises:
        NotJsonError: It holds something else than finite numbers, strings, booleans, None, lists, tuples
            and dictionaries with string keys.
        ResultTooLargeError: It is larger, or holds more than ``RESULT_VALUES``.
    """
    _check(value, 0)
    try:
        encoded = _ENCODE(value).encode()
    except UnicodeEncodeError:
        raise NotJsonError("a string in the result is not valid Unicode") from None
    except ValueError:
        raise NotJsonError("the result holds NaN or an infinite number") from None
    if len(encoded) > limit:
        raise ResultTooLargeError(
            f"the result is {len(encoded):,} bytes large, the limit is {limit:,}; ask for less at once"
        )
    return encoded


def _check(value: Any, depth: int) -> int:
    """Check a value with all that it holds, and count names and values."""
    if depth > _MAX_DEPTH:
        raise NotJsonError(f"the result is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, _SCALARS):
        return 1
    count = 1
    if isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            if not isinstance(key, str):
                raise NotJsonError(f"the result has a key of type {type(key).__name__}, not str")
            count = _within(count + 1 + _check(item, depth + 1))
    elif isinstance(value, _LISTS):
        for item in cast("list[Any]", value):
            count = _within(count + _check(item, depth + 1))
    elif not isinstance(value, int):
        raise NotJsonError(f"the result holds a {type(value).__name__}, which is not JSON")
    elif not _LEAST <= value <= _MOST:
        raise NotJsonError("the result holds an integer of more than 64 bits")
    return count


def _within(count: int) -> int:
    if count > RESULT_VALUES:
        raise ResultTooLargeError(
            f"the result holds more than {RESULT_VALUES:,} names and values; ask for less at once"
        )
    return count


def describe(error: BaseException) -> tuple[str, str]:
    """Class name and message of an exception, without machine paths, at most 2,000 characters."""
    if isinstance(error, MemoryError):
        return "MemoryError", "the tool ran out of memory"
    try:
        # str(KeyError("no such order")) would add quotation marks
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        message = str(text)
    except BaseException as second:  # noqa: BLE001 - __str__ is the tool's own code
        message = f"(its message raised {type(second).__name__})"
    return type(error).__name__[:100], _MACHINE_PATH.sub("<library>", message)[:_MAX_MESSAGE]


def _machine_path() -> re.Pattern[str]:
    folders = {str(Path(json.__file__).parent.parent), str(Path(__file__).parent), sys.base_prefix}
    known = "|".join(
        re.escape(f) for f in sorted(folders, key=len, reverse=True) if f.count("/") > 1
    )
    return re.compile(rf"(?:{known})[^\s'\",)]*")


_MACHINE_PATH = _machine_path()


class Output(io.TextIOBase):
    """Takes what a tool prints and keeps its first bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._kept = bytearray()

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str, /) -> int:
        """Keep what there is room for, and claim to have written all."""
        room = self._limit - len(self._kept)
        if room > 0:
            self._kept += text[:room].encode("utf-8", "replace")[:room]
        return len(text)

    def take(self) -> str:
        """Return what was kept since the last time."""
        if not self._kept:
            return ""
        text = self._kept.decode("utf-8", "ignore")
        self._kept.clear()
        return text
