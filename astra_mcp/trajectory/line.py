"""The line of a trajectory file: a few plain members, and JSON text for all others; older versions too.

Programs that load lines as tables guess the type of each member from the first lines that they see. A member
that is null or empty there, or has other members in a later line, loses what it holds or stops the load. A
text has one type whatever stands in it.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from astra_mcp.call_record import Step, upgraded
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject

__all__ = ["PLAIN_MEMBERS", "SCHEMA_VERSION", "closed_line", "instant_text", "opened_line"]

SCHEMA_VERSION = 4
PLAIN_MEMBERS = ("created_at", "status", "stop")
"""Beside the version, which is an integer: texts that are no JSON text, never null or empty."""
_VERSION = "schema_version"


def closed_line(fields: Mapping[str, Any]) -> JsonObject:
    """Make the line of a trajectory's fields, each as JSON has it.

    Raises:
        ValueError: A number is not finite, which JSON cannot carry.
    """
    texts = {k: v if k in PLAIN_MEMBERS else _json_text(v) for k, v in fields.items()}
    return {_VERSION: SCHEMA_VERSION, **texts}


def opened_line(line: Mapping[str, Any]) -> JsonObject:
    """Give the fields of a line of this version or an older one, each as JSON has it.

    Raises:
        ValueError: It is of no version that is known, or a member is no JSON text; names it.
    """
    if _VERSION not in line:
        raise ValueError(f"{_VERSION} is missing: this is no line of a trajectory file")
    fields: JsonObject = upgraded(line, SCHEMA_VERSION, _STEPS)
    if (found := fields.pop(_VERSION)) != SCHEMA_VERSION:
        raise ValueError(f"{_VERSION} {found!r} is none of 1 to {SCHEMA_VERSION}")
    return {k: v if k in PLAIN_MEMBERS else _value_of(k, v) for k, v in fields.items()}


def instant_text(instant: datetime) -> str:
    """Write a time with all six digits of its second: such a text, no program takes for another type.

    PyArrow takes texts without a fraction for times, and then stops at the first one that has it.
    """
    return instant.isoformat(timespec="microseconds")


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _value_of(name: str, text: object) -> Any:
    if not isinstance(text, str):
        raise ValueError(f"{name}: must be JSON text in a string, as it is since version 3")  # noqa: TRY004
    try:
        return parse_strict(text)
    except RecursionError:
        raise ValueError(f"{name}: nests too deeply") from None
    except ValueError as error:
        raise ValueError(f"{name}: is no JSON text: {error}") from None


_STEPS: Mapping[int, Step] = {1: lambda old: old, 2: closed_line, 3: lambda old: old}
"""From each older version to the next. What versions 2 and 4 added may be missing; before version 3, no
member was JSON text."""
