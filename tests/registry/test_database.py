"""The database: opening, transactions, deadlines and what is said of failures."""

import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from astra_mcp.errors import ConfigError, RegistryError
from registry.store.database import Database, Deadlines, open_database

from databases import PostgresServer


def _version(session: Session) -> int:
    return session.execute(text("SELECT version FROM catalog")).scalar_one()


def _set_version(session: Session, version: int) -> None:
    session.execute(text("UPDATE catalog SET version = :version"), {"version": version})


@pytest.mark.both_databases
async def test_what_is_written_is_read_after_opening_again(new_url: Callable[[], str]) -> None:
    url = new_url()
    async with open_database(url) as database:
        await database.write(lambda session: _set_version(session, 7))
    async with open_database(url) as database:
        assert await database.read(_version) == 7


@pytest.mark.both_databases
async def test_a_transaction_that_raises_keeps_nothing(database: Database) -> None:
    def fail(session: Session) -> None:
        _set_version(session, 7)
        raise LookupError

    with pytest.raises(LookupError):
        await database.write(fail)
    assert await database.read(_version) == 0


@pytest.mark.both_databases
async def test_a_reading_transaction_cannot_write(database: Database) -> None:
    with pytest.raises(RegistryError, match=r"read-?only"):
        await database.read(lambda session: _set_version(session, 7))
    await database.write(lambda session: _set_version(session, 8))
    assert await database.read(_version) == 8


@pytest.mark.both_databases
async def test_a_reading_transaction_sees_one_state(database: Database) -> None:
    has_read, has_written = anyio.Event(), anyio.Event()

    def read_twice(session: Session) -> tuple[int, int]:
        first = _version(session)
        anyio.from_thread.run_sync(has_read.set)
        anyio.from_thread.run(has_written.wait)
        return first, _version(session)

    async def write() -> None:
        await has_read.wait()
        await database.write(lambda session: _set_version(session, 7))
        has_written.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            assert await database.read(read_twice) == (0, 0)
    assert await database.read(_version) == 7


@pytest.mark.both_databases
async def test_many_writers_at_once_lose_nothing(database: Database) -> None:
    def count_up(session: Session) -> None:
        session.execute(text("UPDATE catalog SET version = version + 1"))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(64):
                group.start_soon(database.write, count_up)
    assert await database.read(_version) == 64


@pytest.mark.both_databases
async def test_a_lock_held_elsewhere_ends_the_wait_with_a_clear_error(database_url: str) -> None:
    is_held, may_end = anyio.Event(), anyio.Event()

    def hold(session: Session) -> None:
        _set_version(session, 7)
        anyio.from_thread.run_sync(is_held.set)
        anyio.from_thread.run(may_end.wait)

    impatient = Deadlines(wait_seconds=0.05)
    with anyio.fail_after(20):
        async with open_database(database_url) as holder, anyio.create_task_group() as group:
            async with open_database(database_url, deadlines=impatient) as database:
                group.start_soon(holder.write, hold)
                await is_held.wait()
                with pytest.raises(RegistryError, match=r"locked by another process .* 0\.05 s"):
                    await database.write(lambda session: _set_version(session, 8))
            may_end.set()


@pytest.mark.both_databases
async def test_a_transaction_that_takes_too_long_is_ended(database_url: str) -> None:
    endless = {
        "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "postgresql": "SELECT pg_sleep(60)",
    }
    async with open_database(
        database_url, deadlines=Deadlines(transaction_seconds=0.2)
    ) as database:
        statement = text(endless[database.dialect])
        with anyio.fail_after(20), pytest.raises(RegistryError, match=r"longer than 0\.2 s"):
            await database.read(lambda session: session.execute(statement).all())
        assert await database.read(_version) == 0


async def test_a_connection_that_was_cut_fails_one_transaction_alone(
    postgres: PostgresServer,
) -> None:
    cut = text("SELECT pg_terminate_backend(pg_backend_pid())")
    with postgres.fresh_database() as url:
        async with open_database(url) as database:
            with pytest.raises(RegistryError, match="terminating connection"):
                await database.write(lambda session: session.execute(cut))
            await database.write(lambda session: _set_version(session, 7))
            assert await database.read(_version) == 7


async def test_the_file_and_those_beside_it_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "registry.db"
    async with open_database(f"sqlite:///{path}") as database:
        await database.write(lambda session: _set_version(session, 7))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"registry.db": 0o600, "registry.db-shm": 0o600, "registry.db-wal": 0o600}


async def _expect_no_opening(url: str, error: type[Exception], said: str) -> None:
    """Opening says what is wrong, and no password."""
    with pytest.raises(error, match=said) as failed:
        async with open_database(url):
            pass
    assert "secret" not in str(failed.value)


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    path.write_text("not a database " * 100)
    said = r"registry\.db: the file is no database"
    await _expect_no_opening(f"sqlite:///{path}", RegistryError, said)
    assert path.read_text().startswith("not a database")


async def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    said = "cannot be opened: Is a directory"
    await _expect_no_opening(f"sqlite:///{tmp_path}", RegistryError, said)


async def test_a_disk_that_is_full_fails_the_transaction_and_keeps_what_was_there(
    tmp_path: Path,
) -> None:
    def fill(session: Session) -> None:
        (pages,) = session.execute(text("PRAGMA page_count")).one()
        session.execute(text(f"PRAGMA max_page_count = {pages + 8}"))
        statement = text("INSERT INTO completion (key, value) VALUES ('big', zeroblob(1000000))")
        session.execute(statement)

    async with open_database(f"sqlite:///{tmp_path / 'registry.db'}") as database:
        with pytest.raises(RegistryError, match="database or disk is full"):
            await database.write(fill)
        assert await database.read(_version) == 0


@pytest.mark.parametrize(
    "url",
    [
        "registry.db",
        "",
        "mysql://me:secret@host/name",
        "postgresql+asyncpg://me:secret@host/name",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///registry.db?mode=ro",
        "postgresql://me:secret@host:port/name",
        "postgresql://me:pass@secret@host/name",
        "postgresql://me:pass@word/secret@host/name",
    ],
)
async def test_a_wrong_url_is_refused_with_what_to_write_and_no_password(url: str) -> None:
    await _expect_no_opening(url, ConfigError, "write sqlite:///PATH or postgresql://")


async def test_a_server_that_cannot_be_reached_is_named_without_the_password() -> None:
    url = "postgresql://me:secret@127.0.0.1:1/name"
    await _expect_no_opening(url, RegistryError, r"the registry name at 127\.0\.0\.1")


@pytest.mark.both_databases
async def test_a_new_database_may_be_opened_several_times_at_once(
    new_url: Callable[[], str],
) -> None:
    url = new_url()

    async def open_it() -> None:
        async with open_database(url) as database:
            assert await database.read(_version) == 0

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(open_it)


@pytest.mark.both_databases
async def test_a_database_of_a_newer_version_is_left_alone(database_url: str) -> None:
    async with open_database(database_url) as database:
        newer = text("UPDATE alembic_version SET version_num = '9999'")
        await database.write(lambda session: session.execute(newer))
    said = "made by a newer version of astra-mcp"
    await _expect_no_opening(database_url, RegistryError, said)


@pytest.mark.both_databases
async def test_foreign_keys_hold(database: Database) -> None:
    orphan = text("INSERT INTO vector (tool_hash, model, vector) VALUES ('none', 'model', '')")
    with pytest.raises(RegistryError, match=r"(?i)foreign key"):
        await database.write(lambda session: session.execute(orphan))


async def test_sqlite_keeps_readers_and_a_writer_from_waiting_for_one_another(
    tmp_path: Path,
) -> None:
    path = tmp_path / "registry.db"
    async with open_database(f"sqlite:///{path}"):
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.close()
