"""Saved answers of MCP servers to ``tools/list``.

An answer is the JSON-RPC message or its result alone. A file has one, or several as a list or one a line:
pages of a server, of which the last names no further one, and then those of the next server. What the pages
do not hold is told, and so is what is no such answer.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import RootModel

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import DocumentFault, DocumentStream, Provenance, ServerDocument
from registry.importers.formats import Format, Sample, tool_entry
from registry.importers.reading import holds_lines, read_lines, read_whole

__all__ = ["FORMAT", "read"]

SOURCE: Final = "mcp_tools"


class _Line(RootModel[dict[str, JsonValue]]):
    """A line of any object."""


class _Page(NamedTuple):
    number: int
    tools: list[JsonValue]
    next_cursor: str | None


def read(path: Path, name: str | None = None) -> DocumentStream:
    """Read the servers whose tools a file lists.

    Args:
        path: The file.
        name: What the keys of its servers call it, wherever it lies; None for its own name.

    Yields:
        A fault for each entry that is no answer, and where the last page names a further one; a server
        behind its last page.

    Raises:
        ConfigError: The file cannot be opened.
    """
    file = (name or path.name).removesuffix(".gz")
    found = read_lines(path, _Line) if holds_lines(path) else read_whole(path, _entries)
    pages: list[_Page] = []
    place = 1
    for item in found:
        page = item if isinstance(item, DocumentFault) else _page(*item)
        if isinstance(page, DocumentFault):
            yield page
            continue
        pages.append(page)
        if page.next_cursor is None:
            yield _server(file, place, pages)
            pages, place = [], place + 1
    if pages:
        num_tools = sum(len(page.tools) for page in pages)
        reason = (
            f"nextCursor: names a further page, which is not in the file: these {num_tools} tools are not "
            "all of the server; save the answers to all cursors"
        )
        yield DocumentFault(line=pages[-1].number, reason=reason)
        yield _server(file, place, pages)


def _entries(value: JsonValue) -> Iterator[tuple[int, JsonValue]]:
    yield from enumerate(value if isinstance(value, list) else [value], 1)


def _page(number: int, entry: "JsonValue | _Line") -> _Page | DocumentFault:
    value = entry.root if isinstance(entry, _Line) else entry
    if fault := _fault(value):
        return DocumentFault(line=number, reason=fault)
    result = _result(value) or {}
    tools, cursor = result.get("tools"), result.get("nextCursor")
    listed = tools if isinstance(tools, list) else []
    return _Page(number, listed, cursor if isinstance(cursor, str) else None)


def _result(entry: JsonValue) -> JsonObject | None:
    result = entry.get("result", entry) if isinstance(entry, dict) else None
    return result if isinstance(result, dict) else None


def _fault(entry: JsonValue) -> str | None:
    """Say why an entry is no answer to ``tools/list``; None where it is one."""
    if not isinstance(entry, dict):
        return "must be an object"
    error = entry.get("error")
    if isinstance(error, dict):
        return f"error: the server refused to list its tools: {error.get('message')!s:.200}"
    if "method" in entry:
        return f"method: a message of {entry['method']!s:.40}, not an answer"
    result = _result(entry)
    if result is None:
        return "result: must be an object"
    place = "result.tools" if "result" in entry else "tools"
    if "tools" not in result:
        return f"{place}: missing: this is no answer to tools/list"
    return None if isinstance(result["tools"], list) else f"{place}: must be a list"


def _server(file: str, place: int, pages: list[_Page]) -> ServerDocument:
    last = file.rpartition("/")[2]
    name = last.split(".", 1)[0] or last
    return ServerDocument(
        source=SOURCE,
        key=file if place == 1 else f"{file}#{place}",
        name=name if place == 1 else f"{name} {place}",
        provenance=Provenance.LIVE,
        tools=tuple(
            tool_entry(tool, schema_member="inputSchema", output_member="outputSchema")
            for page in pages
            for tool in page.tools
        ),
        origin={"file": file},
    )


def _recognises(sample: Sample) -> bool:
    value = sample.value
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    if "jsonrpc" in first:
        return True
    result = _result(first) or {}
    tools = result.get("tools")
    return isinstance(tools, list) and _is_of_mcp(result, tools)


def _is_of_mcp(result: JsonObject, tools: list[JsonValue]) -> bool:
    """Tell a result of MCP from a row of functions, which may also stand under ``tools``."""
    is_alone = result.keys() <= {
        "tools",
        "nextCursor",
        "_meta",
        "ttlMs",
        "cacheScope",
        "resultType",
    }
    named = [tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
    return is_alone and any("inputSchema" in tool for tool in named)


FORMAT = Format(
    name=SOURCE,
    summary="answers of an MCP server to tools/list, as JSON-RPC or the result alone",
    recognises=_recognises,
    read=read,
    read_as=read,
)
