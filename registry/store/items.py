"""What became of items in pipelines, kept in the database; satisfies the pipeline's ``ItemStore``."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from astra_mcp.errors import RegistryError
from astra_mcp.pipeline import Outcome
from registry.documents.texts import storable_key
from registry.store.database import Database
from registry.store.shared_transactions import SharedTransactions
from registry.store.statements import insert_or_replace
from registry.store.tables import ItemRow, table_of

__all__ = ["DatabaseItemStore", "find_outcomes", "runs_with"]

_ITEMS = table_of(ItemRow)


class DatabaseItemStore:
    """Keeps outcomes by run, stage and item."""

    def __init__(self, database: Database) -> None:
        """Keep them in a database."""
        self._finding = SharedTransactions(database.read, _find)
        self._saving = SharedTransactions(database.write, _save)

    async def find(self, run: str, stage: str, item: str) -> Outcome | None:
        """The outcome that was saved last, whatever its input was.

        Raises:
            RegistryError: The database failed, or what stands there is no outcome.
        """
        key = (storable_key(run), storable_key(stage), storable_key(item))
        try:
            found = await self._finding.ask(key)
            return None if found is None else Outcome.model_validate(found)
        except ValueError:
            raise RegistryError(
                f"what the registry keeps of the item {item!r} in the stage {stage!r} of the run {run!r} is"
                " damaged: restore the registry, or name another run"
            ) from None

    async def save(self, run: str, stage: str, outcome: Outcome) -> None:
        """Keep an outcome, with its outputs, in place of an earlier one.

        Raises:
            RegistryError: The database failed or refused; nothing is kept.
        """
        await self._saving.ask(
            {
                "run": storable_key(run),
                "stage": storable_key(stage),
                "item": storable_key(outcome.item),
                "status": outcome.status,
                "outcome": outcome.model_dump(mode="json"),
            }
        )


def runs_with(session: Session, stage: str, item: str) -> tuple[str, ...]:
    """Name the runs in which something became of an item in a stage, sorted; one look for each run."""
    columns = _ITEMS.c
    found: list[str] = []
    run = session.scalar(select(func.min(columns.run)))
    while run is not None:
        key = (columns.run == run, columns.stage == stage, columns.item == storable_key(item))
        if session.scalar(select(columns.run).where(*key)) is not None:
            found.append(run)
        run = session.scalar(select(func.min(columns.run)).where(columns.run > run))
    return tuple(found)


def find_outcomes(
    session: Session, run: str, stage: str, items: Sequence[str]
) -> tuple[Outcome, ...]:
    """Read what became of items in a stage of a run, in their order; those that are not there are left out.

    Raises:
        RegistryError: What stands there is no outcome.
    """
    keys = [(storable_key(run), storable_key(stage), storable_key(item)) for item in items]
    found = [each for each in _find(session, keys) if each is not None]
    try:
        return tuple(map(Outcome.model_validate, found))
    except ValueError:
        raise RegistryError(
            f"what the registry keeps of the stage {stage!r} of the run {run!r} is damaged: restore the "
            "registry, or name another run"
        ) from None


def _find(session: Session, keys: Sequence[tuple[str, str, str]]) -> list[dict[str, Any] | None]:
    """Find outcomes, stage by stage: SQLite finds no tuples by an index."""
    stages: dict[tuple[str, str], set[str]] = {}
    for run, stage, item in keys:
        stages.setdefault((run, stage), set()).add(item)
    columns = _ITEMS.c
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for (run, stage), items in stages.items():
        rows = select(columns.item, columns.outcome).where(
            columns.run == run, columns.stage == stage, columns.item.in_(sorted(items))
        )
        found |= {(run, stage, row.item): row.outcome for row in session.execute(rows)}
    return [found.get(key) for key in keys]


def _save(session: Session, rows: Sequence[Mapping[str, Any]]) -> list[None]:
    insert_or_replace(session, _ITEMS, rows)
    return [None] * len(rows)
