"""The tools of a server: from the documents that it lists to what the gateway knows of them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

import anyio
from mcp.shared.inbound import (
    X_MCP_HEADER_KEY,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from pydantic import ValidationError

from astra_mcp.errors import UpstreamError
from astra_mcp.types import JsonObject, JsonValue, ToolSpec, canonical_json, json_fault, tools_hash
from servers.deployed.connecting import Connection

__all__ = ["ToolHints", "list_tools", "read_tools"]

MAX_PAGES: Final = 1000
LIST_SECONDS: Final = 30.0
_OWN_MEMBERS: Final = ("name", "description", "inputSchema", "outputSchema")

_log = logging.getLogger(__name__)


class ToolHints(NamedTuple):
    """What a server says of a tool's effects (MCP ``annotations``); what it leaves out is as MCP has it."""

    is_read_only: bool = False
    """It changes nothing."""
    is_idempotent: bool = False
    """To call it twice with the same arguments does what one call does."""

    @property
    def is_repeatable(self) -> bool:
        """True where a call may be sent again that may have been executed."""
        return self.is_read_only or self.is_idempotent


_NO_HINTS = ToolHints()


@dataclass(frozen=True, slots=True)
class ToolList:
    """What a server lists, ready to show."""

    specs: tuple[ToolSpec, ...] = ()
    header_maps: Mapping[str, dict[tuple[str, ...], str]] = field(
        default_factory=dict[str, dict[tuple[str, ...], str]]
    )
    """Of the tools that mirror arguments into HTTP headers."""
    hints_of: Mapping[str, ToolHints] = field(default_factory=dict[str, "ToolHints"])
    """Of the tools of which the server says something."""
    hash: str = tools_hash(())
    """Of the specs; made with them, as of thousands it takes long."""

    def hints(self, tool: str) -> ToolHints:
        """What the server says of a tool's effects; nothing of one that it does not list."""
        return self.hints_of.get(tool, _NO_HINTS)

    def headers(self, tool: str, arguments: Mapping[str, JsonValue]) -> dict[str, str] | None:
        """The ``Mcp-Param-*`` headers of a call."""
        mapping = self.header_maps.get(tool)
        return mcp_param_headers(mapping, arguments) if mapping else None


async def list_tools(connection: Connection, *, name: str) -> tuple[JsonObject, ...]:
    """Ask for all pages of the tool list.

    Args:
        connection: To the server.
        name: Of the server, for messages.

    Raises:
        UpstreamError: It does not answer in time, or not with tools.
    """
    if "tools" not in connection.facts.capabilities:
        return ()
    documents: list[JsonObject] = []
    cursor: JsonValue = None
    with anyio.move_on_after(LIST_SECONDS):
        for _ in range(MAX_PAGES):
            params: JsonObject = {} if cursor is None else {"cursor": cursor}
            result = await connection.request("tools/list", params)
            page = result.get("tools")
            if not isinstance(page, list):
                raise UpstreamError(f"upstream {name} answered tools/list without a list of tools")
            documents += [tool for tool in page if isinstance(tool, dict)]
            cursor = result.get("nextCursor")
            if cursor is None:
                return tuple(documents)
        raise UpstreamError(f"upstream {name} lists more than {MAX_PAGES} pages of tools")
    raise UpstreamError(f"upstream {name} did not list its tools within {LIST_SECONDS:.0f} s")


def read_tools(documents: Sequence[Mapping[str, Any]], *, name: str) -> ToolList:
    """Make specs of tool documents, in their order; those that cannot be shown are left out with a notice."""
    specs: dict[str, ToolSpec] = {}
    maps: dict[str, dict[tuple[str, ...], str]] = {}
    for document in documents:
        spec = _spec(document, name)
        if spec is None:
            continue
        if spec.name in specs:
            _log.warning("upstream %s lists %r twice: the first one counts", name, spec.name)
            continue
        specs[spec.name] = spec
        if X_MCP_HEADER_KEY.encode() in canonical_json(spec.input_schema):
            fault = find_invalid_x_mcp_header(spec.input_schema)
            if fault is None:
                maps[spec.name] = x_mcp_header_map(spec.input_schema)
            else:
                del specs[spec.name]
                _log.warning("upstream %s: tool %r is left out: %s", name, spec.name, fault)
    hints = {spec.name: hint for spec in specs.values() if (hint := _hints(spec)) != _NO_HINTS}
    listed = tuple(specs.values())
    return ToolList(listed, maps, hints, tools_hash(listed))


def _hints(spec: ToolSpec) -> ToolHints:
    said: object = spec.extra.get("annotations")
    if not isinstance(said, dict):
        return _NO_HINTS
    known = cast("Mapping[str, object]", said)
    return ToolHints(known.get("readOnlyHint") is True, known.get("idempotentHint") is True)


def _spec(document: Mapping[str, Any], name: str) -> ToolSpec | None:
    fault = json_fault(document)
    if fault is None and not str(document.get("name", "")).isprintable():
        fault = "its name holds characters that cannot be printed"
    if fault is None:
        try:
            return ToolSpec(
                name=document.get("name", ""),
                description=document.get("description") or "",
                input_schema=document.get("inputSchema"),  # pyright: ignore[reportArgumentType]
                output_schema=document.get("outputSchema"),
                extra={k: v for k, v in document.items() if k not in _OWN_MEMBERS},
            )
        except ValidationError as error:
            fault = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors(include_url=False))
    _log.warning("upstream %s: tool %.128r is left out: %s", name, document.get("name"), fault)
    return None
