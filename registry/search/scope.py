"""Which of the stored tools are meant: the kept ones of servers that fulfil some conditions."""

from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlmodel import col

from astra_mcp.domains import Domain
from registry.documents.sources import Provenance
from registry.store.tables import ServerRow, ServerToolRow

__all__ = ["LIVE_TOOLS", "Scope", "tools_in"]


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


LIVE_TOOLS = Scope()
"""All kept tools that their servers listed themselves."""


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
    }
    for column, value in conditions.items():
        if value is not None:
            hashes = hashes.where(col(column) == str(value))
    return hashes
