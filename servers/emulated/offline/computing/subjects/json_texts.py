"""JSON texts: written otherwise, checked, and asked for a member by its path."""

import json
import re
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    Operand,
    computation,
    integer,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError, anything

__all__ = ["COMPUTATIONS", "at_path"]

_MAX_STEPS: Final = 50
_STEP: Final = re.compile(r"""\.?([^.\[\]/"']+)|\[(\d+)\]|\[["']([^"'\]]+)["']\]|/([^/]*)""")


def _parsed(content: JsonValue) -> JsonValue:
    if not isinstance(content, str):
        return content
    try:
        return json.loads(content, parse_constant=_refused)
    except RecursionError:
        raise UnfitError("Invalid JSON: nested too deeply") from None
    except ValueError as fault:
        raise UnfitError(f"Invalid JSON: {fault}") from None


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _pretty(content: JsonValue, indent: int) -> str:
    if not 0 <= indent <= 16:
        raise UnfitError("indent must be between 0 and 16")
    return json.dumps(_parsed(content), indent=indent, ensure_ascii=False)


def _small(content: JsonValue) -> str:
    return json.dumps(_parsed(content), separators=(",", ":"), ensure_ascii=False)


def _checked(content: JsonValue) -> JsonObject:
    try:
        _parsed(content)
    except UnfitError as fault:
        return {"valid": False, "error": str(fault)}
    return {"valid": True}


def at_path(content: JsonValue, path: str) -> JsonValue:
    """The member at a path such as ``a.b[0]``, ``$.a.b`` or ``/a/b/0``.

    Raises:
        UnfitError: It is not JSON, the path is none, or nothing stands there.
    """
    found = _parsed(content)
    for step in _steps(path):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif (
            isinstance(found, list) and step.isascii() and step.isdigit() and int(step) < len(found)
        ):
            found = found[int(step)]
        else:
            raise UnfitError(f"Path not found: {path[:80]}")
    return {"result": found}


def _steps(path: str) -> list[str]:
    rest, steps = path.strip().removeprefix("$"), list[str]()
    while rest:
        match = _STEP.match(rest)
        if match is None or len(steps) == _MAX_STEPS:
            raise UnfitError(f"Invalid path: {path[:80]}")
        steps.append(next(group for group in match.groups() if group is not None))
        rest = rest[match.end() :]
    return steps


def _read(content: JsonValue) -> JsonObject:
    return {"result": _parsed(content)}


_CONTENT: Final = Operand(
    name="content",
    keys=("json", "json_string", "json_data", "json_text", "data", "content", "input", "text", "value", "json_str", "object", "json_content"),
    read=anything,
    types=frozenset(("string", "object", "array")),
)  # fmt: skip
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("format json, json format, json formatter, pretty print json, prettify json, beautify json, json prettify", _pretty, _CONTENT,
                integer("indent", "indentation spaces indent_size", default=2), beside="pretty print"),
    computation("minify json, json minify, compact json, json minifier", _small, _CONTENT),
    computation("validate json, json validate, valid json, json validator, json validation", _checked, _CONTENT, beside="syntax"),
    computation("parse json, json parse", _read, _CONTENT),
    computation("query json, json query, json path, jsonpath, extract json, json extract, jsonpath query", at_path, _CONTENT,
                text("path", "json_path jsonpath query expression key pointer"), beside="path query extract"),
)  # fmt: skip
