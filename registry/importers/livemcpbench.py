"""Servers as LiveMCPBench lists them (``tools.json``): entries with the tools of their configurations.

An entry describes a project; its member ``tools`` has an object for each way in which the project is
started, with the tools that it listed then. Each of them is a server.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import DocumentFault, DocumentStream, Provenance, ServerDocument
from registry.documents.texts import public_url
from registry.importers.formats import Format, Sample, tool_entry
from registry.importers.reading import read_whole

__all__ = ["FORMAT", "read"]

SOURCE: Final = "livemcpbench"


def read(path: Path) -> DocumentStream:
    """Read the servers of a file.

    Raises:
        ConfigError: The file cannot be opened.
    """
    return read_whole(path, _servers)


def _servers(value: JsonValue) -> Iterator[ServerDocument | DocumentFault]:
    if not isinstance(value, list):
        yield DocumentFault(line=1, reason="must be a list of servers")
        return
    for number, entry in enumerate(value, 1):
        if fault := _fault(entry):
            yield DocumentFault(line=number, reason=fault)
        elif isinstance(entry, dict):
            yield from _of_entry(number, entry)


def _fault(entry: JsonValue) -> str | None:
    if not isinstance(entry, dict):
        return "must be an object"
    if not _text(entry, "name"):
        return "name: must be a text"
    if not isinstance(entry.get("tools"), dict):
        return "tools: must be an object with a member for each configuration"
    return None


def _of_entry(number: int, entry: JsonObject) -> Iterator[ServerDocument | DocumentFault]:
    by_config = entry["tools"]
    assert isinstance(by_config, dict)  # noqa: S101 - checked where the entry was
    if not by_config:
        yield _server(entry, "", {}, [], is_alone=True)
    for config, listed in by_config.items():
        tools = listed.get("tools") if isinstance(listed, dict) else None
        if isinstance(listed, dict) and isinstance(tools, list):
            yield _server(entry, config, listed, tools, is_alone=len(by_config) == 1)
        else:
            yield DocumentFault(
                line=number, reason=f"tools.{config}.tools: must be a list of tools"
            )


def _server(
    entry: JsonObject, config: str, listed: JsonObject, tools: list[JsonValue], *, is_alone: bool
) -> ServerDocument:
    name, category = _text(entry, "name"), _text(entry, "category")
    origin: dict[str, JsonValue] = {
        "website": public_url(entry.get("web")),
        "author": _text(entry, "organization") or None,
        "config": config or None,
    }
    return ServerDocument(
        source=SOURCE,
        key=f"{name}#{config}",
        name=name if is_alone else f"{name} {config}",
        description=_text(entry, "description"),
        version=_text(listed, "version") or None,
        labels=(category,) if category else (),
        provenance=Provenance.LIVE,
        tools=tuple(
            tool_entry(tool, schema_member="inputSchema", output_member="outputSchema")
            for tool in tools
        ),
        # How the server is started is left out: its arguments and variables may be secret.
        origin={member: value for member, value in origin.items() if value is not None},
    )


def _text(members: JsonObject, name: str) -> str:
    value = members.get(name)
    return value.strip() if isinstance(value, str) else ""


def _recognises(sample: Sample) -> bool:
    entries = sample.value if isinstance(sample.value, list) else []
    return any(_has_tools(entry) for entry in entries)


def _has_tools(entry: JsonValue) -> bool:
    by_config = entry.get("tools") if isinstance(entry, dict) and "name" in entry else None
    listed = list(by_config.values()) if isinstance(by_config, dict) else []
    return any(isinstance(each, dict) and isinstance(each.get("tools"), list) for each in listed)


FORMAT = Format(
    name=SOURCE,
    summary="servers of LiveMCPBench (tools.json): a list of them, each with its tools by configuration",
    recognises=_recognises,
    read=read,
)
