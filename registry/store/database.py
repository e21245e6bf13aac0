"""The registry's database: opened and migrated in one step, used in transactions that threads run.

Knows what a transaction is on either database, and nothing of what the tables mean.
"""

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from astra_mcp.concurrency import completed
from registry.store.engines import WRITING, Deadlines, fault_of, make_engine
from registry.store.opening import is_current, migrate

__all__ = ["Database", "Deadlines", "open_database"]

Value = TypeVar("Value")

_READERS = 4
_WRITERS = 4
"""Threads of each kind; SQLite has one writer, which the others would only wait for."""

_SETTLED_NS = 2_000_000_000
_OPTIONS: dict[tuple[str, bool], dict[str, Any]] = {
    ("sqlite", False): {},
    ("sqlite", True): {WRITING: True},
    ("postgresql", False): {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
    ("postgresql", True): {},
}
"""What makes the transactions of a connection reading or writing ones."""


class Database:
    """Runs transactions, each in a worker thread and within the deadlines."""

    def __init__(self, engine: Engine, deadlines: Deadlines) -> None:
        """Use prepared connections; :func:`open_database` makes them."""
        self._engine = engine
        self._deadlines = deadlines
        self._reading = CapacityLimiter(_READERS)
        self._writing = CapacityLimiter(1 if self.dialect == "sqlite" else _WRITERS)

    @property
    def dialect(self) -> Literal["sqlite", "postgresql"]:
        """Which database it is."""
        return "sqlite" if self._engine.dialect.name == "sqlite" else "postgresql"

    async def read(self, do: Callable[[Session], Value]) -> Value:
        """Run a function in a transaction that sees one state of the database and cannot change it.

        Args:
            do: Called in a thread; what it returns must need no session any more, rows do not.

        Raises:
            RegistryError: The database failed or refused.
        """
        return await self._run(do, self._reading, writes=False)

    async def write(self, do: Callable[[Session], Value]) -> Value:
        """Run a function in a transaction that is committed when it returns, all of it or nothing.

        Args:
            do: As for :meth:`read`; what it raises rolls everything back.

        Raises:
            RegistryError: The database failed or refused; nothing is kept.
        """
        return await self._run(do, self._writing, writes=True)

    def stamp(self) -> tuple[int, ...] | None:
        """What is another one whenever somebody has written to the database's file.

        A hundredth of a transaction. None where only a transaction can tell: another database, or a file
        that was just written, since a further change could bear the same time.
        """
        file = self._engine.url.database
        if self.dialect != "sqlite" or not file:
            return None
        try:
            seen = [os.stat(file), os.stat(f"{file}-wal")]
        except OSError:
            return None
        if time.time_ns() - max(each.st_mtime_ns for each in seen) < _SETTLED_NS:
            return None
        return tuple(n for s in seen for n in (s.st_ino, s.st_mtime_ns, s.st_size))

    async def _run(
        self, do: Callable[[Session], Value], limiter: CapacityLimiter, *, writes: bool
    ) -> Value:
        return await anyio.to_thread.run_sync(self._transact, do, writes, limiter=limiter)

    def _transact(self, do: Callable[[Session], Value], writes: bool) -> Value:
        try:
            with self._engine.connect() as connection:
                connection.execution_options(**_OPTIONS[self.dialect, writes])
                with Session(connection, expire_on_commit=False) as session:
                    value = do(session)
                    if writes:
                        session.commit()
                    return value
        except DBAPIError as error:
            raise fault_of(error, self._engine, self._deadlines) from error


@asynccontextmanager
async def open_database(
    url: str, *, deadlines: Deadlines | None = None
) -> AsyncGenerator[Database]:
    """Open the database of a URL, made and migrated where it needs to be.

    Args:
        url: ``sqlite:///PATH`` or ``postgresql://USER:PASSWORD@HOST:PORT/NAME``.
        deadlines: Of its transactions.

    Raises:
        ConfigError: The URL is wrong, or the driver of its database is not installed.
        RegistryError: The database cannot be opened, or a newer version of this program made it.
    """
    deadlines = deadlines or Deadlines()
    engine = make_engine(url, deadlines, connections=_READERS + _WRITERS)
    database = Database(engine, deadlines)
    try:
        if not await database.read(is_current):
            await database.write(migrate)
        yield database
    finally:
        await completed(anyio.to_thread.run_sync(engine.dispose))
