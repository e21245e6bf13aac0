"""What a join says becomes an argument: a field of an earlier result, found by code and changed by nobody."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from astra_mcp.schemas import SchemaError, compile_validator
from astra_mcp.synthesis.trajectories.chain import ExecutedCall, Join
from astra_mcp.synthesis.trajectories.checks.results import plain_name
from astra_mcp.types import JsonValue, json_fault

__all__ = ["Bound", "NotRead", "Nothing", "bind"]

_MAX_NODES: Final = 10_000
"""Objects of a result that are looked into."""
_DEFINITIONS: Final = ("$defs", "definitions")


@dataclass(frozen=True, slots=True)
class Bound:
    """The argument has its value."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Nothing:
    """The result has nothing that the argument could be; no later step can go on from it."""

    detail: str


@dataclass(frozen=True, slots=True)
class NotRead:
    """Code does not find the field: the result is prose, or names things otherwise."""


def bind(join: Join, source: ExecutedCall, schema: Mapping[str, Any]) -> Bound | Nothing | NotRead:
    """Take an argument's value out of a result: the first of a list, at the least depth that has the path.

    Args:
        join: Names the field and the argument.
        source: The call of its source.
        schema: Of the arguments of the tool that takes it.
    """
    document = _document(source)
    if isinstance(document, NotRead) or "." in join.argument:
        return NotRead()
    place = f"the field {join.field!r} of step {join.source + 1} ({source.step.tool})"
    values = _find(document, join.field)
    if values is None:
        has_any = any(_scalars(document))
        return NotRead() if has_any else Nothing(f"the result that should have {place} is empty")
    if not values:
        return Nothing(f"{place} is empty")
    for value in _forms(values[0]):
        if _takes(schema, join.argument, value):
            return Bound(value)
    if isinstance(values[0], dict):
        return NotRead()  # a thing, of which the argument may take one of its members
    shown = orjson.dumps(values[0]).decode()[:80]
    return Nothing(f"{place} is {shown}, which {join.argument!r} does not take")


def _document(source: ExecutedCall) -> JsonValue | NotRead:
    """The result as JSON; blocks of text that are JSON each are a list."""
    if source.structured is not None:
        return source.structured
    parts = [source.result, *source.result.splitlines()]
    for chosen in (parts[:1], [line for line in parts[1:] if line.strip()]):
        try:
            read: list[JsonValue] = [orjson.loads(part) for part in chosen]
        except orjson.JSONDecodeError:
            continue
        are_documents = all(isinstance(value, dict | list) for value in read)
        if are_documents and json_fault(read) is None:
            return read[0] if len(read) == 1 else read
    return NotRead()


def _find(document: JsonValue, field: str) -> list[JsonValue] | None:
    """The values of a field in their order, by its exact name before another spelling; None without it."""
    path = [part for part in re.split(r"\.|\[\d*\]", field) if part and part != "$"]
    for is_exact in (True, False):
        wanted = path if is_exact else [plain_name(part) for part in path]
        for node in _nodes(document):
            found = _at(node, wanted, is_exact=is_exact)
            if found is not None:
                return found
    return None


def _nodes(document: JsonValue) -> Iterator[JsonValue]:
    """The document and the objects in it, the outer ones first."""
    waiting = deque([document])
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.popleft()
        if isinstance(node, dict) or node is document:
            yield node
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        waiting.extend(value for value in inner if isinstance(value, dict | list))


def _at(value: JsonValue, path: Sequence[str], *, is_exact: bool) -> list[JsonValue] | None:
    """The values at a path, those of all members of a list; none of them where it is there and empty."""
    if isinstance(value, list):
        found = [f for v in value if (f := _at(v, path, is_exact=is_exact)) is not None]
        return None if value and not found else [v for inner in found for v in inner]
    if not path:
        return [] if value is None or value == "" else [value]
    if not isinstance(value, dict):
        return None
    names = (n for n in value if (n if is_exact else plain_name(n)) == path[0])
    name = next(names, None)
    return None if name is None else _at(value[name], path[1:], is_exact=is_exact)


def _forms(value: JsonValue) -> Iterator[JsonValue]:
    """A value as arguments take it: as it is, a number as text or the other way, or as a list of one."""
    forms = [value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        forms.append(str(value))
    elif isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        forms.append(int(value))
    yield from forms
    yield from ([form] for form in forms)


def _takes(schema: Mapping[str, Any], argument: str, value: JsonValue) -> bool:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if argument not in properties:
        return False
    shared = {word: schema[word] for word in _DEFINITIONS if word in schema}
    alone = {**shared, "type": "object", "properties": {argument: properties[argument]}}
    try:
        return compile_validator(alone).is_valid({argument: value})
    except (
        SchemaError,
        ValueError,
    ):  # a reference to elsewhere, or a pattern beyond what can be checked
        return False


def _scalars(value: JsonValue) -> Iterator[bool]:
    """True for each text and number that says anything."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _scalars(inner)
    else:
        yield value is not None and value != "" and not isinstance(value, bool)
