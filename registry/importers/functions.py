"""Lists of functions in OpenAI's form, as data sets of function calls have them (BFCL, ToolACE, xLAM …).

A file is a JSON list, one JSON object, or lines of them; each is a function, or a row that carries some
under ``functions``, ``function`` or ``tools``, or in the text of its system message. Functions that stand
alone are grouped by the service that they come from (:mod:`registry.importers.function_groups`).
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from pydantic import RootModel

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import (
    DocumentFault,
    DocumentStream,
    Provenance,
    ServerDocument,
    ToolDocument,
)
from registry.importers.formats import Format, Sample, tool_entry
from registry.importers.function_groups import group_names, service_of
from registry.importers.function_types import shape_parameters
from registry.importers.reading import holds_lines, read_lines, read_whole

__all__ = ["FORMAT", "read"]

SOURCE: Final = "functions"
MAX_FUNCTIONS: Final = 200_000
"""Of one file: all are held until the last is read, since any may belong to the group of the first."""
MAX_LABELS: Final = 8

_HOLDERS: Final = ("functions", "function", "tools")
_SCHEMAS: Final = ("parameters", "input_schema", "inputSchema")
_OUTPUTS: Final = ("output_schema", "outputSchema", "response", "returns")
_LABELS: Final = ("category_name", "category", "domain", "tags")
_NO_FUNCTION: Final = (
    f"no function in it: none has a name, and none stands under {', '.join(_HOLDERS)}"
)
_MAX_LOOKED_AT: Final = 100
"""So many rows may be none before the first that shows what the file is."""
_MAX_LISTS: Final = 200
"""So many places of a system message are tried, each of which may take its whole length to read."""


class _Line(RootModel[dict[str, JsonValue]]):
    """A line of any object."""


@dataclass(frozen=True, slots=True)
class _Function:
    tool: ToolDocument
    service: str | None
    labels: tuple[str, ...]


@dataclass(slots=True)
class _Group:
    tools: dict[str, ToolDocument] = field(default_factory=dict[str, ToolDocument])
    """By content, so that a function that many rows repeat is there once."""
    labels: Counter[str] = field(default_factory=Counter[str])


def read(path: Path, name: str | None = None) -> DocumentStream:
    """Read the functions of a file, grouped into servers.

    Args:
        path: The file.
        name: What the keys of its servers call it, wherever it lies; None for its own name.

    Yields:
        A fault for each row without a function that can be read, then the servers in the order in which
        their first functions stand in the file.

    Raises:
        ConfigError: The file cannot be opened.
    """
    found: list[_Function] = []
    rows = read_lines(path, _Line) if holds_lines(path) else read_whole(path, _listed_rows)
    for item in rows:
        if isinstance(item, DocumentFault):
            yield item
            continue
        number, row = item
        functions = list(_functions(row.root if isinstance(row, _Line) else row))
        if not any(function.tool.name for function in functions):
            yield DocumentFault(line=number, reason=_NO_FUNCTION)
            continue
        found += functions
        if len(found) > MAX_FUNCTIONS:
            reason = f"only {MAX_FUNCTIONS:,} functions are read of one file: split it"
            yield DocumentFault(line=number, reason=reason)
            break
    yield from _servers(found, (name or path.name).removesuffix(".gz"))


def _listed_rows(value: JsonValue) -> Iterator[tuple[int, JsonObject] | DocumentFault]:
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        is_row = isinstance(row, dict)
        yield (number, row) if is_row else DocumentFault(line=number, reason="must be an object")


def _functions(row: JsonObject) -> Iterator[_Function]:
    """Find the functions of a row, which may be one itself."""
    is_one = isinstance(row.get("name"), str) and any(name in row for name in _SCHEMAS)
    for entry in [row] if is_one else _held(row):
        inner = entry.get("function") if isinstance(entry, dict) else None
        function = inner if isinstance(inner, dict) else entry
        own = [each for each in (function, entry, row) if isinstance(each, dict)]
        labels = tuple(label for each in own for label in _labels(each))
        yield _Function(_tool(function), service_of(*own), tuple(dict.fromkeys(labels)))


def _held(row: JsonObject) -> list[JsonValue]:
    for name in _HOLDERS:
        value = row.get(name)
        if isinstance(value, str):
            value = _parsed(value)
        if value:
            return value if isinstance(value, list) else [value]
    system = row.get("system")
    return _listed(system) if isinstance(system, str) else []


def _parsed(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _listed(text: str) -> list[JsonValue]:
    """Find the list of functions in a system message; it may stand anywhere in it."""
    decoder = json.JSONDecoder()
    begin = text.find("[{")
    for _ in range(_MAX_LISTS):
        if begin < 0:
            break
        try:
            value: JsonValue = decoder.raw_decode(text, begin)[0]
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, list):
            return [entry for entry in value if isinstance(entry, dict) and "name" in entry]
        begin = text.find("[{", begin + 1)
    return []


def _tool(function: JsonValue) -> ToolDocument:
    if not isinstance(function, dict):
        return tool_entry(function, schema_member=_SCHEMAS[0])
    schema = next((name for name in _SCHEMAS if name in function), _SCHEMAS[0])
    output = next((name for name in _OUTPUTS if isinstance(function.get(name), dict)), _OUTPUTS[0])
    shaped = {**function, schema: shape_parameters(function.get(schema))}
    return tool_entry(shaped, schema_member=schema, output_member=output)


def _labels(source: JsonObject) -> Iterator[str]:
    for name in _LABELS:
        value = source.get(name)
        for label in value if isinstance(value, list) else [value]:
            if isinstance(label, str) and label.strip():
                yield label.strip()


def _servers(functions: list[_Function], file: str) -> Iterator[ServerDocument]:
    last = file.rpartition("/")[2]
    loose = [function.tool.name for function in functions if function.service is None]
    named = iter(group_names(loose, last.split(".", 1)[0] or last))
    groups: dict[str, _Group] = {}
    for function in functions:
        name = function.service if function.service is not None else next(named)
        group = groups.setdefault(name, _Group())
        group.tools.setdefault(_content(function.tool), function.tool)
        group.labels.update(function.labels)
    for name, group in groups.items():
        yield ServerDocument(
            source=SOURCE,
            key=f"{file}#{name}",
            name=name,
            labels=tuple(label for label, _ in group.labels.most_common(MAX_LABELS)),
            provenance=Provenance.LIVE,
            tools=tuple(group.tools.values()),
            origin={"file": file},
        )


def _content(tool: ToolDocument) -> str:
    # The standard library writes whatever it has read, huge integers and half characters too.
    parts = (tool.name, tool.description, tool.input_schema, tool.output_schema, tool.extra)
    return json.dumps(parts, sort_keys=True)


def _recognises(sample: Sample) -> bool:
    rows = sample.value if isinstance(sample.value, list) else [sample.value]
    return any(
        function.tool.name
        for row in rows[:_MAX_LOOKED_AT]
        if isinstance(row, dict)
        for function in _functions(row)
    )


FORMAT = Format(
    name=SOURCE,
    summary="functions in OpenAI's form: a list, or rows that carry some (BFCL, ToolACE, xLAM)",
    recognises=_recognises,
    read=read,
    read_as=read,
)
