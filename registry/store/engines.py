"""Connections to the two databases: what a URL means, and what each connection is told first.

Knows neither tables nor transactions' contents. On both databases a reading transaction sees one state
and cannot write, a writing one waits for a lock only so long, and neither lasts longer than its deadline.
"""

import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from astra_mcp.errors import ConfigError, RegistryError

__all__ = ["WRITING", "Deadlines", "fault_of", "make_engine"]

WRITING: Final = "astra_mcp_writing"
"""Execution option of a SQLite connection whose transactions write."""

_POSTGRES_SCHEMES = frozenset({"postgres", "postgresql", "postgresql+psycopg"})
_CONNECT_SECONDS = 10
_STEPS_BETWEEN_LOOKS = 100_000
"""So many steps of SQLite's machine, some milliseconds, pass between two looks at the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long a transaction may wait and last."""

    wait_seconds: float = 30.0
    """For a lock that another transaction, of this process or of another one, holds."""
    transaction_seconds: float = 120.0
    """For all of it."""


def make_engine(url: str, deadlines: Deadlines, *, connections: int) -> Engine:
    """Prepare connections to the database of a URL; only a SQLite file is touched already.

    Args:
        url: ``sqlite:///PATH`` or ``postgresql://USER:PASSWORD@HOST:PORT/NAME``.
        deadlines: Of its transactions.
        connections: At most so many are open at once.

    Raises:
        ConfigError: The URL is wrong, or the driver of its database is not installed.
        RegistryError: The file cannot be made or opened.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError(_url_fault("it is no URL")) from None  # its error may show the password
    if parsed.drivername == "sqlite":
        return _make_sqlite(parsed, deadlines, connections)
    if parsed.drivername in _POSTGRES_SCHEMES:
        if url.count("@") > 1:  # what follows the first one would be shown as the host
            raise ConfigError(_url_fault("it has several @, of which a password's is written %40"))
        return _make_postgres(parsed, deadlines, connections)
    raise ConfigError(_url_fault(f"the scheme {parsed.drivername!r} is not known"))


def fault_of(error: DBAPIError, engine: Engine, deadlines: Deadlines) -> RegistryError:
    """Say what a database refused, without a statement, a value or a password."""
    where = _name_of(engine.url)
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorcode", None)
    match code:
        case "55P03" | sqlite3.SQLITE_BUSY:
            said = f"locked by another process for more than {deadlines.wait_seconds:g} s"
        case "57014" | "25P03" | "25P04" | sqlite3.SQLITE_INTERRUPT:
            said = f"a transaction took longer than {deadlines.transaction_seconds:g} s"
        case sqlite3.SQLITE_NOTADB:
            said = "the file is no database; move it away or name another one"
        case _:
            said = " ".join(str(error.orig).split())
    for password in (engine.url.password, engine.url.query.get("password")):
        if isinstance(password, str) and password:
            said = said.replace(password, "***")
    return RegistryError(f"{where}: {said}")


def _url_fault(what: str) -> str:
    return (
        f"the registry's URL cannot be used: {what}; write sqlite:///PATH "
        "or postgresql://USER:PASSWORD@HOST:PORT/NAME"
    )


def _name_of(url: URL) -> str:
    if url.drivername == "sqlite":
        return f"the registry {url.database}"
    return f"the registry {url.database or ''} at {url.host or 'the local PostgreSQL server'}"


def _make_sqlite(url: URL, deadlines: Deadlines, connections: int) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ConfigError(
            _url_fault("a SQLite database needs a path, which stands after sqlite:///")
        )
    if url.query or url.database.startswith("file:"):
        raise ConfigError(_url_fault("a SQLite database takes no options"))
    path = Path(url.database).expanduser().absolute()
    _touch(path)
    engine = create_engine(
        url.set(database=str(path)),
        hide_parameters=True,
        pool_size=connections,
        max_overflow=0,
        connect_args={"timeout": deadlines.wait_seconds},
    )

    def connected(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin below, and nowhere else
        _use_write_ahead_log(connection, deadlines.wait_seconds)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")  # a commit outlives a power cut

    def begun(connection: Connection) -> None:
        ends_at = time.monotonic() + deadlines.transaction_seconds
        raw: Any = connection.connection.dbapi_connection
        raw.set_progress_handler(lambda: time.monotonic() > ends_at, _STEPS_BETWEEN_LOOKS)
        writes = bool(connection.get_execution_options().get(WRITING))
        connection.exec_driver_sql(f"PRAGMA query_only = {int(not writes)}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine


def _touch(path: Path) -> None:
    """Make the file with no right for others, which SQLite gives the files beside it too."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise RegistryError(f"the registry {path} cannot be opened: {error.strerror}") from error


def _use_write_ahead_log(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Switch to the log under which readers and a writer do not wait for one another.

    SQLite does not wait for a lock here, which another process may hold that opens a new file too.
    """
    ends_at = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > ends_at:
                raise
            time.sleep(0.01)
        else:
            return


def _make_postgres(url: URL, deadlines: Deadlines, connections: int) -> Engine:
    try:
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            hide_parameters=True,
            pool_size=connections,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "astra-mcp"}
            | dict(url.query),
        )
    except ImportError as error:
        raise ConfigError("PostgreSQL needs a driver: install astra-mcp[postgres]") from error
    wait_ms = round(deadlines.wait_seconds * 1000)
    transaction_ms = round(deadlines.transaction_seconds * 1000)

    def connected(connection: Any, _: object) -> None:
        settings = {
            "lock_timeout": wait_ms,
            "statement_timeout": transaction_ms,
            "idle_in_transaction_session_timeout": transaction_ms,
        }
        if connection.info.server_version >= 170000:
            settings["transaction_timeout"] = transaction_ms
        with connection.cursor() as cursor:
            for name, value in settings.items():
                cursor.execute(f"SET {name} = {value}")
        connection.commit()

    event.listen(engine, "connect", connected)
    return engine
