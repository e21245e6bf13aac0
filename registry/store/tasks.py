"""Tasks that synthesis made, kept in the database; satisfies the ``TaskStore`` of synthesis."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.errors import RegistryError
from astra_mcp.synthesis.trajectories.task import Task
from registry.documents.texts import storable_key
from registry.store.database import Database
from registry.store.shared_transactions import SharedTransactions
from registry.store.statements import batches, insert_or_replace
from registry.store.tables import TaskRow, table_of

__all__ = ["DatabaseTaskStore"]

_TASKS = table_of(TaskRow)
_IDS_AT_ONCE = 500


class DatabaseTaskStore:
    """Keeps tasks by the run that made them and their id."""

    def __init__(self, database: Database) -> None:
        """Keep them in a database."""
        self._database = database
        self._saving = SharedTransactions(database.write, _save)

    async def save(self, run: str, tasks: Sequence[Task]) -> None:
        """Keep tasks; one of an id that the run has already takes its place.

        Raises:
            RegistryError: The database failed; nothing is kept.
        """
        for task in tasks:
            row = {
                "run": storable_key(run),
                "id": task.id,
                "document": task.model_dump(mode="json"),
            }
            await self._saving.ask(row)

    async def retain(self, run: str, ids: Collection[str], servers: Collection[str]) -> None:
        """Remove the tasks of a run that are of these servers alone, but for those of these ids.

        Tasks of other servers are none that the run looked at. It is one transaction.

        Raises:
            RegistryError: The database failed; all are kept.
        """
        await self._database.write(lambda session: _retain(session, run, ids, servers))

    async def ids(self, run: str) -> frozenset[str]:
        """Name the tasks of a run.

        Raises:
            RegistryError: The database failed.
        """
        return await self._database.read(lambda session: _ids(session, run))

    async def find(self, ids: Sequence[str]) -> Mapping[str, Task]:
        """Find tasks by their ids, which say servers and query; those that there are not are left out.

        Raises:
            RegistryError: The database failed, or what stands there is no task.
        """
        rows = await self._database.read(lambda session: _find(session, ids))
        return {id: _task(document) for id, document in rows}

    async def runs(self) -> Sequence[str]:
        """Name the runs that have tasks.

        Raises:
            RegistryError: The database failed.
        """
        return await self._database.read(_runs)

    async def page(self, *, run: str | None, after: str, limit: int) -> Sequence[tuple[str, Task]]:
        """List tasks by their ids, each once with the first run that has it.

        Args:
            run: Only those that this run made; None for all.
            after: Id of the last one of the page before; empty for the first page.
            limit: How many at most.

        Raises:
            RegistryError: The database failed, or what stands there is no task.
        """
        rows = await self._database.read(lambda session: _page(session, run, after, limit))
        return [(name, _task(document)) for name, document in rows]


def _runs(session: Session) -> list[str]:
    return sorted(session.scalars(select(col(TaskRow.run)).distinct()))


def _save(session: Session, rows: Sequence[Mapping[str, Any]]) -> list[None]:
    insert_or_replace(session, _TASKS, rows)
    return [None] * len(rows)


def _retain(session: Session, run: str, ids: Collection[str], servers: Collection[str]) -> None:
    looked_at = frozenset(servers)
    others = _find(session, sorted(_ids(session, run).difference(ids)))
    stale = [id for id, document in others if looked_at.issuperset(document["servers"])]
    of_run = delete(TaskRow).where(col(TaskRow.run) == storable_key(run))
    for batch in batches(stale, _IDS_AT_ONCE):
        session.execute(of_run.where(col(TaskRow.id).in_(batch)))


def _ids(session: Session, run: str) -> frozenset[str]:
    of_run = select(col(TaskRow.id)).where(col(TaskRow.run) == storable_key(run))
    return frozenset(session.scalars(of_run))


def _find(session: Session, ids: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    found: dict[str, dict[str, Any]] = {}
    for batch in batches(sorted(set(ids)), _IDS_AT_ONCE):
        columns = select(col(TaskRow.id), col(TaskRow.document))
        rows = session.execute(columns.where(col(TaskRow.id).in_(batch)).order_by(col(TaskRow.run)))
        for row in rows:
            found.setdefault(row.id, row.document)
    return [(id, found[id]) for id in dict.fromkeys(ids) if id in found]


def _page(
    session: Session, run: str | None, after: str, limit: int
) -> list[tuple[str, dict[str, Any]]]:
    first = select(col(TaskRow.id), func.min(col(TaskRow.run)).label("run"))
    first = first.where(col(TaskRow.id) > after)
    if run is not None:
        first = first.where(col(TaskRow.run) == storable_key(run))
    named = first.group_by(col(TaskRow.id)).order_by(col(TaskRow.id)).limit(limit).subquery()
    rows = select(col(TaskRow.run), col(TaskRow.document)).join(
        named, (col(TaskRow.id) == named.c.id) & (col(TaskRow.run) == named.c.run)
    )
    return [(row.run, row.document) for row in session.execute(rows.order_by(col(TaskRow.id)))]


def _task(document: Mapping[str, Any]) -> Task:
    try:
        return Task.model_validate(document)
    except ValueError:
        raise RegistryError(
            "a task that the registry keeps is damaged: restore the registry, or make the tasks anew"
        ) from None
