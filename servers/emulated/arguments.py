"""What a call gives beyond what its schema says: arguments that pages leave out, and JSON written as text.

Schemas that were read off a page have no types, and often no members. What such a call holds is read off its
description and off the arguments themselves, and the tool is shown as if its schema had said it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import orjson

from astra_mcp.types import JsonObject, JsonValue, ToolSpec
from astra_mcp.values.nouns import is_plural, key_of, singular
from servers.emulated.parameters import key_suffix

__all__ = ["documented", "one_by_one", "taken_apart", "with_given"]

_SECTION: Final = re.compile(
    r"(?:^|\s)(?:Args|Arguments|Parameters|Params|参数)\s*[:\uff1a]\s*(.*?)"
    r"(?=(?:^|\s)(?:Returns?|Raises|Examples?|Yields|Notes?|返回|示例)\s*[:\uff1a]|$)",
    re.DOTALL,
)
_MEMBER: Final = re.compile(
    r"(?:^|(?<=\s))[`*-]*\s?([a-z]\w{0,40})`?\s*(?:\(([^)]{0,60})\))?\s*[:\uff1a]\s+(?!//)"
)
_PARAM: Final = re.compile(r":param\s+(?:(\w+)\s+)?([A-Za-z]\w{0,40})\s*(?::|\s(?=\w))")
_READ: Final = 4000
_TYPES: Final = {
    "str": "string", "string": "string", "int": "integer", "integer": "integer", "float": "number",
    "number": "number", "bool": "boolean", "boolean": "boolean", "list": "array", "array": "array",
    "dict": "object", "object": "object",
}  # fmt: skip
_OPTIONAL: Final = re.compile(
    r"\boptional\b|\bdefaults?\b|\bif not (?:given|provided|specified)\b|可选|默认", re.IGNORECASE
)
_MAX_MEMBERS: Final = 24
_DEEPEST: Final = 3
_TEXTS: Final = frozenset(
    (
        "content", "contents", "text", "message", "code", "description", "value", "json", "json_string",
        "html", "markdown", "template", "prompt", "script", "source", "expression", "sql", "title", "note",
        "comment", "name", "input_text", "document", "json_text", "json_data", "summary", "thought",
        "question", "url",
    )
)  # fmt: skip
"""These hold texts, whatever stands in them."""
_NAMES: Final = frozenset(
    (
        "id", "symbol", "ticker", "coin", "name", "keyword", "city", "code", "url", "domain", "address",
        "username", "company", "stock", "pair", "token", "location", "country", "package", "isbn", "pmid",
        "doi", "word", "ip", "email", "phrase", "slug", "hostname",
    )
)  # fmt: skip
"""A list under the plural of one of these names several things."""
_WHOLE: Final = frozenset(
    ("params", "request_body", "body", "payload", "input", "request", "args", "arguments", "parameters")
)  # fmt: skip
"""An object under one of these names is all arguments in one."""


def documented(tool: ToolSpec) -> ToolSpec:
    """A tool with the arguments that its description names and its schema does not."""
    declared = _properties(tool)
    found = {name: told for name, told in _described(tool.description) if name not in declared}
    if not found:
        return tool
    required = {name for name, told in found.items() if not _OPTIONAL.search(told["description"])}
    return _with(tool, {**declared, **found}, required)


def _described(description: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The arguments that stand after ``Args:`` or ``:param``, each with what is said of it."""
    said = description[:_READ]
    section = _SECTION.search(said)
    marks: list[tuple[int, int, str, str]] = []
    start = 0
    if section is not None:
        start, said = 0, section.group(1)
        marks = [(m.start(), m.end(), m[1], m[2] or "") for m in _MEMBER.finditer(said)]
    if not marks:
        marks = [(m.start(), m.end(), m[2], m[1] or "") for m in _PARAM.finditer(said)]
    ends = [*(at for at, _, _, _ in marks[1:]), len(said)]
    for (_, start, name, kind), end in [*zip(marks, ends, strict=False)][:_MAX_MEMBERS]:
        words = re.findall(r"[a-z]+", kind.lower())
        typed = next((_TYPES[word] for word in words if word in _TYPES), None)
        told = f"{said[start:end].strip()} {'(optional)' if 'optional' in words else ''}".strip()
        yield name, {"description": told, **({"type": typed} if typed else {})}


def with_given(tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> ToolSpec:
    """A tool whose schema has all arguments of a call, those included that it leaves out."""
    declared = _properties(tool)
    if arguments.keys() <= declared.keys():
        return tool
    left = {n: _schema_of(v) for n, v in arguments.items() if n not in declared and v is not None}
    return _with(tool, {**declared, **left}, left.keys()) if left else tool


def taken_apart(
    tool: ToolSpec, arguments: Mapping[str, JsonValue]
) -> tuple[ToolSpec, Mapping[str, JsonValue]]:
    """A call in which JSON that is written as text is what it says.

    A list of ids may also be written with commas. An object that holds all arguments in one is left for
    its members, as far as they do not stand beside it.

    Returns:
        The tool, its schema as the arguments now are, and the arguments; both as they were where
        nothing is to be taken apart.
    """
    if not any(_may_hold_more(value) for value in arguments.values()):
        return tool, arguments
    declared = _properties(tool)
    meant = {name: _meant(name, value, declared.get(name)) for name, value in arguments.items()}
    members: JsonObject = {}
    for name, value in meant.items():
        if key_of(name) in _WHOLE and isinstance(value, dict) and not _has_members(declared, name):
            members |= value
        else:
            members[name] = value
    members |= {name: meant[name] for name in meant if name in members}
    changed = {n: v for n, v in members.items() if n not in arguments or arguments[n] is not v}
    if not changed:
        return tool, arguments
    kept = {
        name: schema for name, schema in declared.items() if name in members or name not in meant
    }
    described = {
        name: {**_said_of(declared.get(name)), **_schema_of(value)}
        for name, value in changed.items()
        if value is not None
    }
    return _with(tool, {**kept, **described}, described.keys()), members


def one_by_one(
    tool: ToolSpec, arguments: Mapping[str, JsonValue]
) -> list[tuple[ToolSpec, Mapping[str, JsonValue]]]:
    """The calls that each ask for one of the things that a list of names in one call asks for.

    Returns:
        None of them where no argument is such a list.
    """
    for name, value in arguments.items():
        key = key_of(name)
        one = singular(key)
        if key == one or one.rpartition("_")[2] not in _NAMES:
            continue
        if isinstance(value, str) and "," in value:
            value = [part.strip() for part in value.split(",")]  # noqa: PLW2901 - the same, as a list
        if isinstance(value, list) and value and all(isinstance(v, str | int) for v in value):
            declared = {n: schema for n, schema in _properties(tool).items() if n != name}
            others = {n: v for n, v in arguments.items() if n != name}
            alone = _with(tool, {**declared, one: _schema_of(value[0])}, {one})
            return [(alone, {**others, one: each}) for each in value[:_MAX_MEMBERS]]
    return []


def _meant(name: str, value: JsonValue, declared: Any) -> JsonValue:
    """What a text means that is written as JSON; other values as they are."""
    key = key_of(name)
    if not isinstance(value, str) or key in _TEXTS or not _is_plain_text(declared):
        return value
    text = value.strip()
    if text[:1] in ("[", "{"):
        try:
            parsed: JsonValue = orjson.loads(text)
        except orjson.JSONDecodeError:
            return value
        return parsed if isinstance(parsed, dict | list) else value
    is_many = is_plural(key) and key_suffix(key)[1] != ""
    parts = [part.strip() for part in text.split(",")]
    return [*parts] if is_many and len(parts) > 1 and all(parts) else value


def _may_hold_more(value: JsonValue) -> bool:
    """Say at a glance whether a value may be taken apart."""
    return isinstance(value, dict) or (
        isinstance(value, str) and ("," in value or "[" in value or "{" in value)
    )


def _is_plain_text(declared: Any) -> bool:
    """Say whether a schema says no more of an argument than that it is a text."""
    if not isinstance(declared, dict):
        return True
    schema = cast("dict[str, Any]", declared)
    return schema.keys().isdisjoint(("enum", "format", "pattern", "const"))


def _has_members(declared: Mapping[str, Any], name: str) -> bool:
    schema = declared.get(name)
    return isinstance(schema, dict) and "properties" in schema


def _said_of(declared: Any) -> dict[str, Any]:
    if not isinstance(declared, dict):
        return {}
    return {k: v for k, v in cast("dict[str, Any]", declared).items() if k == "description"}


def _schema_of(value: JsonValue, depth: int = 0) -> dict[str, Any]:
    """The types of a value, as a schema that it takes."""
    if isinstance(value, list):
        inner = _schema_of(value[0], depth + 1) if value and depth < _DEEPEST else {}
        return {"type": "array", "items": inner}
    if isinstance(value, dict):
        return {"type": "object"}
    if value is None:
        return {}
    named = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": named[type(value)]}


def _properties(tool: ToolSpec) -> dict[str, Any]:
    declared: Any = tool.input_schema.get("properties")
    return cast("dict[str, Any]", declared) if isinstance(declared, dict) else {}


def _with(tool: ToolSpec, properties: Mapping[str, Any], required: Any) -> ToolSpec:
    wanted: Any = tool.input_schema.get("required")
    before = (
        [n for n in cast("list[str]", wanted) if n in properties]
        if isinstance(wanted, list)
        else []
    )
    after = [*dict.fromkeys((*before, *(name for name in properties if name in required)))]
    schema = {**tool.input_schema, "properties": dict(properties), "required": after}
    return tool.model_copy(update={"input_schema": schema})
