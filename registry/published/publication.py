"""What a catalog publishes, as who serves it follows it: names, versions, and how many tools of which domain.

A server's version says what its documents hold and nothing else: an import that finds the same again, or
another database that holds the same, gives the same version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.types import canonical_json
from registry.documents.sources import Provenance
from registry.store.servers import StoredServer, load_servers
from registry.store.tables import ServerRow, ServerToolRow
from registry.store.version import catalog_version, published_names

__all__ = ["Publication", "find_publication", "load_published_server"]

_COLUMNS = (
    *(col(ServerRow.name), col(ServerRow.title), col(ServerRow.description)),
    *(col(ServerRow.domain), col(ServerRow.language), col(ServerRow.tools_hash)),
)
"""All that a version is made of; the hash is of the kept tools in their order."""


class ServerVersion(NamedTuple):
    """What is known of a published server before its documents are read."""

    version: str
    """Content hash."""
    num_tools: int
    domain: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What a version of the catalog publishes."""

    version: int
    """Of the catalog, for :func:`registry.store.version.follow` to go on from."""
    servers: Mapping[str, ServerVersion]
    """By name, in the order of the names."""


def find_publication(session: Session, *, crawled: bool) -> Publication:
    """Read what is known of all that is published before its documents are read.

    Args:
        session: Sees one state of the database.
        crawled: True to publish crawled servers too, whose tools nobody has seen at work.
    """
    published = published_names(session, crawled=crawled)
    server = col(ServerToolRow.server_id)
    kept = select(server, func.count()).where(col(ServerToolRow.status) == "kept")
    counts = {id_: count for id_, count in session.execute(kept.group_by(server))}  # noqa: C416 - rows
    found = {
        row.name: ServerVersion(_version_of(row), counts.get(row.id, 0), row.domain)
        for row in session.execute(select(col(ServerRow.id), *_COLUMNS))
        if row.name in published
    }
    return Publication(version=catalog_version(session), servers=dict(sorted(found.items())))


def load_published_server(
    session: Session, name: str, *, crawled: bool
) -> tuple[StoredServer, str] | None:
    """Load one server with its version; None where it is not published.

    Args:
        session: Sees one state of the database.
        name: Of the server.
        crawled: As for :func:`find_publication`.
    """
    row = session.execute(select(*_COLUMNS).where(col(ServerRow.name) == name)).one_or_none()
    loaded = load_servers(session, [name])
    if row is None or not loaded:
        return None
    [server] = loaded
    is_published = server.status == "kept" and (crawled or server.provenance == Provenance.LIVE)
    return (server, _version_of(row)) if is_published else None


def _version_of(row: Any) -> str:
    content = [row.name, row.title, row.description, row.domain, row.language, row.tools_hash]
    return sha256(canonical_json(content)).hexdigest()
