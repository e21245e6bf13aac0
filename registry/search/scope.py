"""What a search is asked and what it answers: among which of the stored tools, by what, what was found."""

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Select, select
from sqlmodel import col

from astra_mcp.domains import Domain
from astra_mcp.types import ToolSpec
from registry.documents.sources import Provenance
from registry.store.tables import ServerRow, ServerToolRow

__all__ = ["LIVE_TOOLS", "Hit", "Scope", "SearchAnswer", "SearchBy", "tools_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Conditions on the servers of tools; all of them hold at once."""

    domain: Domain | None = None
    language: str | None = None
    """ISO 639-1."""
    provenance: Provenance | None = Provenance.LIVE
    """None means crawled tools too, which have no types and are published only on request."""
    server: str | None = None
    """The name that it is published by."""
    source: str | None = None
    """Where its document is from."""


LIVE_TOOLS = Scope()
"""All kept tools that their servers listed themselves."""


class SearchBy(StrEnum):
    """What tools are ranked by."""

    WORDS = "words"
    """Full-text search of the database."""
    VECTORS = "vectors"
    """Cosine with the query."""
    BOTH = "both"
    """Reciprocal rank fusion of the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A tool that was found."""

    hash: str
    tool: ToolSpec
    servers: tuple[str, ...]
    """Names of the servers in scope that list it, sorted."""
    score: float
    """Of the kind that was searched by; higher is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """What a search found, and in how much."""

    hits: tuple[Hit, ...]
    """The best first; equal scores in the order of their hashes."""
    searched: int
    """Tools in scope."""
    embedded: int
    """Those of them that have a vector of the model; the others are found by words alone."""


def tools_in(scope: Scope) -> Select[str | None]:
    """Select the hashes of the tools that a scope means; one that several servers list comes repeatedly."""
    hashes = (
        select(col(ServerToolRow.tool_hash))
        .join(ServerRow, col(ServerRow.id) == col(ServerToolRow.server_id))
        .where(col(ServerToolRow.status) == "kept")
    )
    conditions = {
        ServerRow.domain: scope.domain,
        ServerRow.language: scope.language,
        ServerRow.provenance: scope.provenance,
        ServerRow.name: scope.server,
        ServerRow.source: scope.source,
    }
    for column, value in conditions.items():
        if value is not None:
            hashes = hashes.where(col(column) == str(value))
    return hashes
