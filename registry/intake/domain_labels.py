"""Giving domains to servers whose labels say none: read from the database, asked about, written back."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from sqlalchemy import ColumnElement, bindparam, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.concurrency import map_concurrently
from astra_mcp.domains import Domain
from astra_mcp.errors import BudgetSpentError, ModelError
from registry.store.database import Database
from registry.store.tables import ServerRow, ServerToolRow, ToolRow, table_of
from registry.store.version import lock_catalog, next_version

__all__ = ["DescribedServer", "DomainLabeller", "LabelReport", "label_servers"]

_BATCH = 64
"""Servers that are asked about before what was found is stored; how many calls a model gets is its role's
matter."""
_MAX_TOOLS = 30
"""Of one server; the first ones tell what the others would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedServer:
    """What a domain is guessed from."""

    id: int
    title: str
    description: str
    labels: tuple[str, ...]
    """The source's own words, none of which says a domain."""
    tools: tuple[tuple[str, str], ...]
    """Names and descriptions of the first kept ones."""
    document_hash: str


class DomainLabeller(Protocol):
    """Says what a server is about."""

    @property
    def by(self) -> Literal["model", "embedding"]:
        """What goes into ``domain_by``."""
        ...

    async def label(self, server: DescribedServer) -> Domain | None:
        """Find the domain of a server; None where it has none of them, or none clearly.

        Raises:
            ModelError: There was no answer.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelReport:
    """What became of the servers without a domain."""

    labelled: Mapping[Domain, int]
    unlabelled: int
    """Those that fit no domain well enough."""
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Those about which the model failed, by its fault; the next run asks again."""


async def label_servers(
    database: Database,
    labeller: DomainLabeller,
    *,
    hear: Callable[[int], None] = lambda _: None,
) -> LabelReport:
    """Label the kept servers whose labels say no domain; what is found is kept when the budget is spent.

    A model goes over those again that were labelled by likeness, since it knows better.

    Args:
        database: Holds the servers.
        labeller: Asked about each of them.
        hear: Told after each batch how many are done.

    Raises:
        BudgetSpentError: The model's budget does not allow another call.
        RegistryError: The database failed.
    """
    labelled: Counter[Domain] = Counter()
    failed: Counter[str] = Counter()
    unlabelled = done = 0
    after = -1
    while batch := await database.read(partial(_next_servers, labeller.by, after)):
        answers = await map_concurrently(partial(_ask, labeller), batch, limit=_BATCH)
        found = [
            (server, answer)
            for server, answer in zip(batch, answers, strict=True)
            if not isinstance(answer, ModelError | BudgetSpentError)
        ]
        await database.write(partial(_store, labeller.by, found))
        if spent := [answer for answer in answers if isinstance(answer, BudgetSpentError)]:
            raise spent[0]
        labelled.update(domain for _, domain in found if domain is not None)
        unlabelled += sum(domain is None for _, domain in found)
        failed.update(answer.fault for answer in answers if isinstance(answer, ModelError))
        done += len(batch)
        after = batch[-1].id
        hear(done)
    return LabelReport(labelled=dict(labelled), unlabelled=unlabelled, failed=dict(failed))


async def _ask(
    labeller: DomainLabeller, server: DescribedServer
) -> Domain | ModelError | BudgetSpentError | None:
    """Ask about a server; a spent budget is an answer too, so that those before it are stored."""
    try:
        return await labeller.label(server)
    except (ModelError, BudgetSpentError) as error:
        return error


def _next_servers(by: str, after: int, session: Session) -> list[DescribedServer]:
    rows = session.scalars(
        select(ServerRow)
        .where(col(ServerRow.status) == "kept", col(ServerRow.id) > after, _is_open(by))
        .order_by(col(ServerRow.id))
        .limit(_BATCH)
    ).all()
    tools = _tools_of(session, [row.id for row in rows])
    return [
        DescribedServer(
            id=row.id,
            title=row.title,
            description=row.description,
            labels=tuple(row.labels),
            tools=tuple(tools[row.id][:_MAX_TOOLS]),
            document_hash=row.document_hash,
        )
        for row in rows
    ]


def _is_open(by: str) -> ColumnElement[bool]:
    """Select the servers that have no domain, or none from anybody who knows better."""
    is_open = col(ServerRow.domain).is_(None)
    return or_(is_open, col(ServerRow.domain_by) == "embedding") if by == "model" else is_open


def _tools_of(session: Session, servers: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    tools: dict[int, list[tuple[str, str]]] = {server: [] for server in servers}
    rows = session.execute(
        select(col(ServerToolRow.server_id), col(ToolRow.name), col(ToolRow.description))
        .join(ToolRow, col(ToolRow.hash) == col(ServerToolRow.tool_hash))
        .where(col(ServerToolRow.server_id).in_(servers), col(ServerToolRow.status) == "kept")
        .order_by(col(ServerToolRow.server_id), col(ServerToolRow.position))
    )
    for server, name, description in rows:
        tools[server].append((name, description))
    return tools


def _store(
    by: str, found: Sequence[tuple[DescribedServer, Domain | None]], session: Session
) -> None:
    """Write what is new, unless the document was replaced or labelled while it was asked about."""
    lock_catalog(session)
    ids = [server.id for server, _ in found]
    rows = session.scalars(select(ServerRow).where(col(ServerRow.id).in_(ids), _is_open(by)))
    stored = {row.id: row for row in rows}
    changed = [
        {"of_id": server.id, "domain": domain, "domain_by": domain and by}
        for server, domain in found
        if (row := stored.get(server.id)) is not None
        and row.document_hash == server.document_hash
        and (row.domain, row.domain_by) != (domain, domain and by)
    ]
    if changed:
        version = next_version(session)
        servers = table_of(ServerRow)
        statement = update(servers).where(servers.c.id == bindparam("of_id"))
        session.execute(statement.values(revision=version), changed)
