"""Reading the registry: servers by name or by filter, with their tools."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.errors import UnknownNameError
from astra_mcp.types import ToolSpec
from registry.documents.stored import ServerFacts, ToolPlace
from registry.store.statements import batches
from registry.store.tables import ServerRow, ServerToolRow, ToolRow

__all__ = [
    "ListedServer",
    "ServerFilter",
    "StoredServer",
    "StoredTool",
    "Twin",
    "count_servers",
    "facet_values",
    "find_server",
    "list_servers",
    "load_servers",
    "page_of_servers",
    "servers_of_tools",
    "twins_of",
]

_BATCH_ROWS = 500
"""So many values stand in one statement; databases bound it."""
_MAX_CANDIDATES = 10
"""So many servers of one name are told apart; more would be no help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFilter:
    """Which servers are meant; None where any is."""

    status: str | None = "kept"
    reason: str | None = None
    """Why it is rejected."""
    source: str | None = None
    provenance: str | None = None
    domain: str | None = None
    language: str | None = None
    words: str | None = None
    """Part of its name or its title, in small or large letters."""


class ListedServer(NamedTuple):
    """A server in a list, without its tools."""

    name: str
    title: str
    source: str
    provenance: str
    domain: str | None
    language: str | None
    status: str
    reason: str | None
    num_tools: int
    """Those that are kept."""


class Twin(NamedTuple):
    """A server with the same tools as another one."""

    name: str
    status: str
    reason: str | None


class StoredTool(ToolPlace):
    """A place in a server's list of tools, with what stands there."""

    spec: ToolSpec | None
    """None where it could not be converted."""


class StoredServer(ServerFacts):
    """A server with its tools, kept or rejected."""

    revision: int
    imported_at: datetime
    changed_at: datetime
    tools: tuple[StoredTool, ...]
    """In the order of the document, rejected ones included."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that are kept."""
        return tuple(t.spec for t in self.tools if t.status == "kept" and t.spec is not None)


def list_servers(
    session: Session,
    where: ServerFilter | None = None,
    *,
    after: str | None = None,
    limit: int | None = None,
) -> tuple[StoredServer, ...]:
    """List servers by name, with their tools.

    Args:
        session: Sees one state of the database.
        where: Which ones; the kept ones by default.
        after: Begin behind this name.
        limit: At most so many.
    """
    names = session.scalars(select(col(ServerRow.name)).where(*_conditions(where)))
    # Sorted here: databases differ in how they compare texts.
    behind = sorted(name for name in names if after is None or name > after)
    return load_servers(session, behind[:limit])


def page_of_servers(
    session: Session, where: ServerFilter, *, offset: int, limit: int
) -> tuple[ListedServer, ...]:
    """List a part of the servers that a filter means, by name in the order of the database.

    Args:
        session: Sees one state of the database.
        where: Which ones.
        offset: So many come before.
        limit: At most so many.
    """
    columns = [col(getattr(ServerRow, name)) for name in ("id", *ListedServer._fields[:-1])]
    listed = select(*columns).where(*_conditions(where)).order_by(col(ServerRow.name))
    rows = session.execute(listed.offset(offset).limit(limit)).all()
    server = col(ServerToolRow.server_id)
    kept = select(server, func.count()).where(
        server.in_([row.id for row in rows]), col(ServerToolRow.status) == "kept"
    )
    counts = {id_: count for id_, count in session.execute(kept.group_by(server))}  # noqa: C416 - rows
    return tuple(ListedServer._make((*row[1:], counts.get(row.id, 0))) for row in rows)


def twins_of(session: Session, name: str, *, limit: int) -> tuple[Twin, ...]:
    """Find other servers whose kept tools are the same, in the same order; by name."""
    own = select(col(ServerRow.tools_hash)).where(col(ServerRow.name) == name).scalar_subquery()
    columns = (col(ServerRow.name), col(ServerRow.status), col(ServerRow.reason))
    same = select(*columns).where(col(ServerRow.tools_hash) == own, col(ServerRow.name) != name)
    rows = session.execute(same.order_by(col(ServerRow.name)).limit(limit))
    return tuple(Twin(*row) for row in rows)


def servers_of_tools(session: Session, hashes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Name the servers that list tools, kept or rejected, by the hash of the tool; sorted."""
    found: dict[str, set[str]] = {}
    for batch in batches(hashes, _BATCH_ROWS):
        listed = (
            select(col(ServerToolRow.tool_hash), col(ServerRow.name))
            .join(ServerRow, col(ServerRow.id) == col(ServerToolRow.server_id))
            .where(col(ServerToolRow.tool_hash).in_(batch))
        )
        for tool, server in session.execute(listed):
            found.setdefault(str(tool), set()).add(server)
    return {tool: tuple(sorted(names)) for tool, names in found.items()}


def count_servers(session: Session, where: ServerFilter | None = None) -> int:
    """Count the servers that a filter means."""
    counted = select(func.count()).select_from(ServerRow).where(*_conditions(where))
    return session.execute(counted).scalar_one()


def facet_values(
    session: Session, facet: Literal["source", "language"], where: ServerFilter | None = None
) -> tuple[str, ...]:
    """Find what the servers that a filter means have of it, sorted."""
    values = select(getattr(ServerRow, facet)).where(*_conditions(where)).distinct()
    return tuple(sorted(value for value in session.scalars(values) if value is not None))


def find_server(session: Session, name: str) -> StoredServer:
    """Load one server, kept or rejected, by its name, else by the key or the title of its source.

    Raises:
        UnknownNameError: There is none, and the closest ones are named; or there are several.
    """
    found = load_servers(session, [name]) or load_servers(session, _named_by_source(session, name))
    if len(found) > 1:
        names = [server.name for server in found[:_MAX_CANDIDATES]]
        msg = f"{len(found)} servers are called {name!r} by their sources: name one of {', '.join(names)}"
        raise UnknownNameError(msg)
    if not found:
        known = session.scalars(select(col(ServerRow.name))).all()
        hint = "`astra-mcp registry list` names all"
        raise UnknownNameError.among("server", name, known, hint)
    return found[0]


def _named_by_source(session: Session, name: str) -> tuple[str, ...]:
    """Find the servers that a source knows by a name: by its keys, which tell more, or by its titles."""
    for column in (col(ServerRow.key), col(ServerRow.title)):
        found = session.scalars(select(col(ServerRow.name)).where(column == name)).all()
        if found:
            return tuple(sorted(found))
    return ()


def load_servers(session: Session, names: Iterable[str]) -> tuple[StoredServer, ...]:
    """Load servers in the order of the names; a name that there is not is left out."""
    wanted = tuple(names)
    found: dict[str, StoredServer] = {}
    for batch in batches(wanted, _BATCH_ROWS):
        rows = session.scalars(select(ServerRow).where(col(ServerRow.name).in_(batch))).all()
        tools = _tools_of(session, [row.id for row in rows])
        for row in rows:
            facts = row.model_dump(exclude={"id", "document_hash", "tools_hash"})
            found[row.name] = StoredServer(**facts, tools=tuple(tools.get(row.id, ())))
        session.expunge_all()
    return tuple(found[name] for name in wanted if name in found)


def _conditions(where: ServerFilter | None) -> Iterator[ColumnElement[bool]]:
    asked = asdict(where or ServerFilter())
    words = asked.pop("words")
    for name, value in asked.items():
        if value is not None:
            yield getattr(ServerRow, name) == value
    if words is not None:
        names = (col(ServerRow.name), col(ServerRow.title))
        yield or_(*(name.icontains(words, autoescape=True) for name in names))


def _tools_of(session: Session, ids: Sequence[int]) -> dict[int, list[StoredTool]]:
    placed = (
        select(ServerToolRow, ToolRow)
        .outerjoin(ToolRow, col(ServerToolRow.tool_hash) == col(ToolRow.hash))
        .where(col(ServerToolRow.server_id).in_(ids))
        .order_by(col(ServerToolRow.server_id), col(ServerToolRow.position))
    )
    found: dict[int, list[StoredTool]] = {}
    for place, tool in session.execute(placed):
        spec = tool and tool.spec  # None by the outer join, where it could not be converted
        stored = StoredTool(**place.model_dump(exclude={"server_id"}), spec=spec)
        found.setdefault(place.server_id, []).append(stored)
    return found
