"""The registry's database: opened and migrated in one step, used in transactions that threads run.

Knows what a transaction is on either database, and nothing of what the tables mean.
"""

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from astra_mcp.concurrency import completed
from astra_mcp.errors import RegistryError
from registry.store import migrations
from registry.store.engines import WRITING, Deadlines, fault_of, make_engine

__all__ = ["Database", "Deadlines", "look_into", "open_database"]

Value = TypeVar("Value")

_READERS = 4
_WRITERS = 4
"""Threads of each kind; SQLite has one writer, which the others would only wait for."""

_FOLDER = Path(migrations.__file__).parent
_SETTLED_NS = 2_000_000_000
_OPTIONS: dict[tuple[str, bool], dict[str, Any]] = {
    ("sqlite", False): {},
    ("sqlite", True): {WRITING: True},
    ("postgresql", False): {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
    ("postgresql", True): {},
}
"""What makes the transactions of a connection reading or writing ones."""
_LOCK = 0x61737472615F6D63
"""Of PostgreSQL's locks by number, the one that a migration holds; ``astra_mc`` in ASCII."""


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
        return await anyio.to_thread.run_sync(self._transact, do, False, limiter=self._reading)

    async def write(self, do: Callable[[Session], Value]) -> Value:
        """Run a function in a transaction that is committed when it returns, all of it or nothing.

        Args:
            do: As for :meth:`read`; what it raises rolls everything back.

        Raises:
            RegistryError: The database failed or refused; nothing is kept.
        """
        return await anyio.to_thread.run_sync(self._transact, do, True, limiter=self._writing)

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
    connections = _READERS + _WRITERS
    async with _connected(url, deadlines or Deadlines(), connections) as database:
        if not await database.read(_is_current):
            await database.write(_migrate)
        yield database


async def look_into(
    url: str, look: Callable[[Session], Value], *, deadlines: Deadlines
) -> Value | None:
    """Read from a database without making or migrating its tables; None where that is yet to be done.

    Args:
        url: Of a database that exists; where a SQLite file does not, an empty one is made.
        look: As for :meth:`Database.read`.
        deadlines: Of the reading.

    Raises:
        ConfigError: The URL is wrong, or the driver of its database is not installed.
        RegistryError: The database cannot be read, or a newer version of this program made it.
    """
    async with _connected(url, deadlines, 1) as database:
        return await database.read(look) if await database.read(_is_current) else None


@asynccontextmanager
async def _connected(url: str, deadlines: Deadlines, connections: int) -> AsyncGenerator[Database]:
    engine = make_engine(url, deadlines, connections=connections)
    try:
        yield Database(engine, deadlines)
    finally:
        await completed(anyio.to_thread.run_sync(engine.dispose))


def _is_current(session: Session) -> bool:
    """True where nothing is to be done.

    Raises:
        RegistryError: A newer version of this program made it.
    """
    reached = None
    if inspect(session.connection()).has_table("alembic_version"):
        reached = session.scalar(text("SELECT version_num FROM alembic_version"))
    known = {file.name[:4] for file in _FOLDER.glob("versions/[0-9]*.py")}
    if reached is not None and reached not in known:
        raise RegistryError(
            f"the registry was made by a newer version of astra-mcp (its tables are of step {reached}): "
            "update astra-mcp, or name another database"
        )
    return reached == migrations.HEAD


def _migrate(session: Session) -> None:
    """Bring the tables to those of today, in a session's transaction; two processes may do so at once.

    SQLite's writing transaction excludes others; PostgreSQL's takes a lock for it.
    """
    from alembic import command  # noqa: PLC0415 - takes longer to load than a database to open
    from alembic.config import Config  # noqa: PLC0415

    connection = session.connection()
    if connection.dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if _is_current(session):
        return
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_FOLDER))
    command.upgrade(config, "head")
