"""What is made of a server document before it is stored: its tools with a verdict each, and its own.

Pure: values in, values out. Knows neither the database nor other servers, so that whether a server
repeats another one is judged where it is stored.
"""

from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.types import ToolSpec
from registry.documents import Rejection, ServerDocument, ToolDocument

__all__ = ["PreparedServer", "PreparedTool"]


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
    """Of the document: 64 hex digits; an import of an equal one changes nothing."""
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
    rejection: Rejection | None = None
    """None where it is kept, unless it repeats another server."""
