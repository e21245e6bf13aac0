"""Documents of servers and tools as sources give them, before anything is made of them.

Importers produce them, normalisation and filters read them. Values only: no database, no network.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from astra_mcp.types import JsonObject, JsonValue

__all__ = [
    "MIN_TOOLS",
    "DocumentFault",
    "DocumentStream",
    "Provenance",
    "Rejection",
    "ServerDocument",
    "ServerReason",
    "ToolDocument",
    "ToolReason",
]

MIN_TOOLS: Final = 3
"""A server of fewer tools is left out unless an import is told another number."""


class Provenance(StrEnum):
    """How much the tools of a document can be trusted to be those of the server."""

    LIVE = "live"
    """The server listed them itself, or its publisher wrote them down."""
    CRAWLED = "crawled"
    """Read off a page: without types; stored and searchable, published only on request."""


class ToolReason(StrEnum):
    """Why a tool is rejected."""

    NO_DESCRIPTION = "no_description"
    VAGUE_DESCRIPTION = "vague_description"
    UNDECIDED = "undecided"
    """A judge was to say whether its description is vague, and failed; the next import asks again."""
    NOT_CONVERTIBLE = "not_convertible"
    UNREAD_PARAMETERS = "unread_parameters"
    """Crawled from a page that shows its name where its parameters stand: what it takes is not known."""
    DUPLICATE = "duplicate"
    """Another tool of the same server has its name."""
    SERVER_REJECTED = "server_rejected"
    """Nothing is wrong with it but that its server is rejected."""


class ServerReason(StrEnum):
    """Why a server is rejected."""

    NO_TOOLS = "no_tools"
    """Its document lists none."""
    TOO_FEW_TOOLS = "too_few_tools"
    """Fewer than an import wants are left after the rejection of tools; three by ASTRA sec. 2.1.1."""
    DUPLICATE = "duplicate"
    """Another kept server has the same list of tools."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why something is not kept."""

    reason: ToolReason | ServerReason
    detail: str
    """What was found, for people; names the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDocument:
    """A tool as its source gives it."""

    name: str
    description: str | None
    input_schema: JsonValue
    """As found, in whatever dialect; None where the source has none."""
    output_schema: JsonValue = None
    extra: JsonObject = field(default_factory=dict[str, JsonValue])
    """Further members in MCP's terms: ``title``, ``annotations``, ``icons``, ``_meta``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDocument:
    """A server as its source gives it: the tools of one originating service."""

    source: str
    """The importer's name, such as ``toucan``."""
    key: str
    """Identifies the document in its source for ever: a later import of the same key is the same server."""
    name: str
    """For display; not unique."""
    description: str = ""
    version: str | None = None
    labels: tuple[str, ...] = ()
    """The source's own words for what it is about, the most telling first."""
    provenance: Provenance
    tools: tuple[ToolDocument, ...]
    origin: JsonObject = field(default_factory=dict[str, JsonValue])
    """Where it comes from and how it may be used: ``url``, ``license``, ``package`` …; holds no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFault:
    """A part of a file that cannot be read; the rest is imported."""

    line: int
    """From 1; the number of the entry where the file has no lines."""
    reason: str


DocumentStream = Iterable[ServerDocument | DocumentFault] | Iterator[ServerDocument | DocumentFault]
