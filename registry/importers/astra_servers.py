"""Servers as the published ASTRA code reads them (``mcp_servers.jsonl``), before and after synthesis.

The format is nowhere described: ``group_info`` names its server in several ways, of which any may be
missing, and rows that went through synthesis carry the server as ``mcp_info``.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, Field

from astra_mcp.types import JsonObject, JsonValue, canonical_json
from registry.documents.sources import DocumentFault, Provenance, ServerDocument, ToolDocument
from registry.documents.texts import public_url
from registry.importers.formats import Format, Sample, tool_entry
from registry.importers.reading import read_lines

__all__ = ["FORMAT", "read"]

_SOURCE = "astra_servers"


class _Group(BaseModel):
    group_id: str | int | None = None
    server_name: str | None = None
    server_title: str | None = None
    name: str | None = None
    tool_name: str | None = None
    server_description: str | None = None
    domain: str | list[str] | None = None


class _Base(BaseModel):
    group_info: _Group = _Group()
    tool_list: list[JsonValue] = Field(default_factory=list[JsonValue])


class _Server(BaseModel):
    base_info: _Base
    call_info: dict[str, JsonValue] | None = None


class _Row(BaseModel):
    mcp_info: _Server | None = None
    base_info: _Base | None = None
    call_info: dict[str, JsonValue] | None = None

    def server(self) -> _Server | None:
        """The server of the row, wherever it stands in it."""
        if self.mcp_info is not None or self.base_info is None:
            return self.mcp_info
        return _Server(base_info=self.base_info, call_info=self.call_info)


def read(path: Path) -> Iterator[ServerDocument | DocumentFault]:
    """Read a file of one server a line, packed by gzip or plain.

    Different servers of one name are told apart by their order. Rows of one server that differ in what
    was synthesised for it give the server once.

    Raises:
        ConfigError: The file cannot be opened.
    """
    named: Counter[str] = Counter()
    known: set[bytes] = set()
    for line in read_lines(path, _Row):
        if isinstance(line, DocumentFault):
            yield line
            continue
        number, row = line
        server = row.server()
        key = _key(server.base_info.group_info) if server else None
        if server is None or key is None:
            field = "base_info.group_info.server_name" if server else "base_info"
            yield DocumentFault(line=number, reason=f"{field}: Field required")
            continue
        content = canonical_json(server.model_dump())
        if content not in known:
            known.add(content)
            named[key] += 1
            yield _document(key if named[key] == 1 else f"{key}#{named[key]}", server)


def _key(group: _Group) -> str | None:
    number = None if group.group_id is None else str(group.group_id)
    names = (number, group.server_name, group.server_title, group.name, group.tool_name)
    return next((name for name in names if name), None)


def _document(key: str, server: _Server) -> ServerDocument:
    group = server.base_info.group_info
    names = (group.server_title, group.server_name, group.name, group.tool_name)
    domains = [group.domain] if isinstance(group.domain, str) else group.domain or []
    return ServerDocument(
        source=_SOURCE,
        key=key,
        name=next((name for name in names if name), key),
        description=group.server_description or "",
        labels=tuple(dict.fromkeys(domain for domain in domains if domain)),
        provenance=Provenance.LIVE,
        tools=tuple(_tool(entry) for entry in server.base_info.tool_list),
        origin=_origin(server.call_info or {}),
    )


def _tool(entry: JsonValue) -> ToolDocument:
    """Read an entry; it may stand in an OpenAI ``function`` member."""
    function = entry.get("function") if isinstance(entry, dict) else None
    return tool_entry(function if isinstance(function, dict) else entry, schema_member="parameters")


def _origin(call_info: JsonObject) -> JsonObject:
    """Say how the server was called; headers and settings hold keys and are left out."""
    address = public_url(call_info.get("url")) or public_url(call_info.get("python_sdk_url"))
    found: JsonObject = {"url": address} if address else {}
    if "mock_tool" in call_info:
        found["emulated"] = True
    return found


def _recognises(sample: Sample) -> bool:
    value = sample.value
    return isinstance(value, dict) and not value.keys().isdisjoint({"base_info", "mcp_info"})


FORMAT = Format(
    name=_SOURCE,
    summary="servers of the published ASTRA code (mcp_servers.jsonl), one JSON object a line",
    recognises=_recognises,
    read=read,
)
