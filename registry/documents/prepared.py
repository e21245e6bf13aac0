"""Server documents with verdicts, ready to be stored: each tool's own, and the server's by what is left.

Values alone; who makes them is :mod:`registry.documents.preparation`.
"""

from dataclasses import dataclass, replace
from hashlib import sha256

from astra_mcp.domains import Domain
from astra_mcp.types import ToolSpec, canonical_json
from registry.documents.filters import reject_server
from registry.documents.sources import (
    MIN_TOOLS,
    Rejection,
    ServerDocument,
    ToolDocument,
    ToolReason,
)

__all__ = ["PreparedServer", "PreparedTool", "of_tools", "with_verdicts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTool:
    """A place in a server's list of tools, with its verdict."""

    document: ToolDocument
    """As found."""
    spec: ToolSpec | None
    """Normalised; None where it could not be converted. A rejected tool may have one."""
    hash: str | None
    """Of the spec: 64 hex digits of SHA-256 over its canonical JSON; None where there is no spec."""
    words: str
    """What full-text search reads: name, description and parameters, split into words."""
    notes: tuple[str, ...] = ()
    """What normalisation changed in the meaning of the document, for people; each names the field."""
    rejection: Rejection | None = None
    """None where it is kept. A tool of a rejected server with no fault of its own is rejected too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedServer:
    """A server document, ready to be stored."""

    document: ServerDocument
    document_hash: str
    """Of the document: 64 hex digits."""
    name: str
    """Provider-safe and made from the document's name; who stores it makes it unique."""
    tools: tuple[PreparedTool, ...]
    """In the order of the document, rejected ones included."""
    tools_hash: str | None
    """Of the tools that are left after the rejection of tools, in their order; None where none is left.
    Two servers of one hash have the same tools."""
    domain: Domain | None
    """By the document's labels; None where they say nothing."""
    language: str | None
    """ISO 639-1; None where there is too little text."""
    min_tools: int = MIN_TOOLS
    """So many tools are to be left for it to be kept."""
    rejection: Rejection | None = None
    """None where it is kept, unless it repeats another server."""


def with_verdicts(server: PreparedServer, tools: tuple[PreparedTool, ...]) -> PreparedServer:
    """Judge a server by its tools, each with a verdict of its own.

    Args:
        server: As prepared.
        tools: In the place of its own ones; none of them rejected for its server.
    """
    kept = [tool for tool in tools if tool.rejection is None]
    rejection = reject_server(len(tools), len(kept), server.min_tools)
    fallen = tuple(replace(t, rejection=t.rejection or of_tools(rejection)) for t in tools)
    hashes = [tool.hash for tool in kept]
    return replace(
        server,
        tools=fallen,
        tools_hash=sha256(canonical_json(hashes)).hexdigest() if hashes else None,
        rejection=rejection,
    )


def of_tools(rejection: Rejection | None) -> Rejection | None:
    """What the rejection of a server is for its tools that have no fault of their own."""
    if rejection is None:
        return None
    return Rejection(ToolReason.SERVER_REJECTED, f"server: {rejection.reason}")
