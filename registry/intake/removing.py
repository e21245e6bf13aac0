"""Removing servers from the registry, with the tools that no other server lists.

What repeated a removed server is judged again, as if the removed one had never been there. Importing the
document again is the one way by which a removed server comes back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import bindparam, delete, select, text
from sqlalchemy.orm import Session

from registry.intake.storing import judge_repetitions
from registry.store.servers import StoredServer, find_server
from registry.store.statements import batches
from registry.store.tables import ServerRow, ServerToolRow, ToolRow, table_of
from registry.store.version import lock_catalog, next_version

__all__ = ["Removal", "remove_servers"]

_SERVERS = table_of(ServerRow)
_PLACES = table_of(ServerToolRow)
_TOOLS = table_of(ToolRow)
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What is no longer there."""

    servers: tuple[StoredServer, ...]
    """As they were."""
    dropped_tools: int
    """Versions of tools that no server lists any more, and that went with their vectors."""
    kept_instead: tuple[str, ...]
    """Servers that repeated one of them, and are kept from now on."""


def remove_servers(session: Session, names: Iterable[str]) -> Removal:
    """Remove servers, kept or rejected: all that are named, or none.

    Args:
        session: Of a writing transaction.
        names: Each a name of the registry, else a key or title of a source.

    Raises:
        UnknownNameError: There is no such server, or there are several; nothing is removed.
    """
    lock_catalog(session)
    named = {server.name: server for server in (find_server(session, name) for name in names)}
    columns = _SERVERS.c
    rows = [
        row
        for some in batches(named, _AT_ONCE)
        for row in session.execute(
            select(columns.id, columns.tools_hash).where(columns.name.in_(some))
        )
    ]
    tools = sorted({t.tool_hash for s in named.values() for t in s.tools if t.tool_hash})
    for some in batches((row.id for row in rows), _AT_ONCE):
        session.execute(delete(_PLACES).where(_PLACES.c.server_id.in_(some)))
        session.execute(delete(_SERVERS).where(columns.id.in_(some)))
    dropped = sum(_drop_unlisted(session, some) for some in batches(tools, _AT_ONCE))
    stamp = {"revision": next_version(session), "changed_at": datetime.now(UTC)}
    kept = judge_repetitions(session, [row.tools_hash for row in rows], stamp)
    return Removal(servers=tuple(named.values()), dropped_tools=dropped, kept_instead=tuple(kept))


def _drop_unlisted(session: Session, hashes: Sequence[str]) -> int:
    """Delete those versions of tools that stand in no list; their vectors go with them."""
    listed = select(_PLACES.c.tool_hash).where(_PLACES.c.tool_hash.in_(hashes))
    unlisted = sorted(set(hashes) - set(session.scalars(listed)))
    session.execute(delete(_TOOLS).where(_TOOLS.c.hash.in_(unlisted)))
    if session.connection().dialect.name == "sqlite":  # PostgreSQL keeps the words in the row
        forget = text("DELETE FROM tool_text WHERE hash IN :hashes")
        bound = forget.bindparams(bindparam("hashes", expanding=True))
        session.execute(bound, {"hashes": unlisted})
    return len(unlisted)
