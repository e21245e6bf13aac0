"""Answers of models, kept in the database; satisfies the model layer's ``CompletionCache``."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from sqlalchemy import select
from sqlalchemy.orm import Session

from astra_mcp.types import JsonObject
from registry.documents.texts import storable_key
from registry.store.database import Database
from registry.store.shared_transactions import SharedTransactions
from registry.store.statements import insert_or_replace
from registry.store.tables import CompletionRow, table_of

__all__ = ["DatabaseCompletionCache"]

_COMPLETIONS = table_of(CompletionRow)


class _Put:
    """A value on its way into the database."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.is_kept = False


class DatabaseCompletionCache:
    """Keeps completions by their keys."""

    def __init__(self, database: Database) -> None:
        """Keep them in a database."""
        self._finding = SharedTransactions(database.read, _find)
        self._putting = SharedTransactions(database.write, _put)
        self._under_way: dict[str, _Put] = {}

    async def get(self, key: str) -> JsonObject | None:
        """Find what was put last, or None."""
        return await self._finding.ask(storable_key(key))

    async def put(self, key: str, value: JsonObject) -> None:
        """Keep a value, in place of an earlier one; of values that are put at once the first is kept.

        Raises:
            RegistryError: The database failed or refused; nothing is kept.
        """
        while (earlier := self._under_way.get(key)) is not None:
            await earlier.ended.wait()
            if earlier.is_kept:
                return
        mine = self._under_way[key] = _Put()
        try:
            await self._putting.ask({"key": storable_key(key), "value": value})
            mine.is_kept = True
        finally:
            del self._under_way[key]
            mine.ended.set()


def _find(session: Session, keys: Sequence[str]) -> list[JsonObject | None]:
    columns = _COMPLETIONS.c
    rows = session.execute(select(columns.key, columns.value).where(columns.key.in_(set(keys))))
    found: dict[str, JsonObject] = {row.key: row.value for row in rows}
    return [found.get(key) for key in keys]


def _put(session: Session, rows: Sequence[Mapping[str, Any]]) -> list[None]:
    insert_or_replace(session, _COMPLETIONS, rows)
    return [None] * len(rows)
