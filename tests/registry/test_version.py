"""Following the catalog: what another process publishes is read, once and in order."""

import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream
from sqlalchemy import text
from sqlalchemy.orm import Session

from registry.documents.sources import ServerDocument
from registry.intake.importing import import_documents
from registry.intake.removing import remove_servers
from registry.store.database import Database, open_database
from registry.store.version import (
    catalog_version,
    follow,
    lock_catalog,
    next_version,
    published_names,
)

from plain_documents import prepare, server

Heard = MemoryObjectReceiveStream[frozenset[str]]


async def _import(database: Database, *documents: ServerDocument) -> None:
    await import_documents(database, documents, prepare=prepare)


@asynccontextmanager
async def _following(database: Database, since: int) -> AsyncGenerator[Heard]:
    send, heard = anyio.create_memory_object_stream[frozenset[str]](16)
    with anyio.fail_after(30), send, heard:
        async with anyio.create_task_group() as group:
            follower = partial(follow, since=since, every_seconds=0.01)
            group.start_soon(follower, database, published_names, send.send)
            yield heard
            group.cancel_scope.cancel()


@pytest.mark.both_databases
async def test_what_another_process_imports_and_removes_is_read_once(database_url: str) -> None:
    async with open_database(database_url) as database, open_database(database_url) as other:
        await _import(database, server("a"), server("b"))
        async with _following(database, since=1) as heard:
            await _import(other, server("b", "one"), server("c"))
            assert await heard.receive() == {"a", "c"}
            await _import(other, server("d"))
            assert await heard.receive() == {"a", "c", "d"}
            await other.write(partial(remove_servers, names=["a", "d"]))
            assert await heard.receive() == {"c"}


@pytest.mark.both_databases
async def test_a_database_that_fails_is_followed_again_when_it_answers(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def rename(session: Session, old: str, new: str) -> None:
        session.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))

    await _import(database, server("a"))
    with caplog.at_level(logging.WARNING, logger="astra_mcp.registry"):
        async with _following(database, since=1) as heard:
            await database.write(partial(rename, old="catalog", new="gone"))
            while not caplog.records:
                await anyio.lowlevel.checkpoint()
            await database.write(partial(rename, old="gone", new="catalog"))
            await _import(database, server("b"))
            assert await heard.receive() == {"a", "b"}
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the catalog cannot be followed for now"
    ]


async def test_a_database_put_back_to_an_earlier_state_is_read_anew(database: Database) -> None:
    await _import(database, server("a"))
    async with _following(database, since=9) as heard:
        assert await heard.receive() == {"a"}


@pytest.mark.both_databases
async def test_who_changes_servers_at_once_takes_different_versions(database: Database) -> None:
    taken: list[int] = []

    def change(session: Session) -> int:
        lock_catalog(session)
        return next_version(session)

    async def take() -> None:
        taken.append(await database.write(change))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(take)
    assert sorted(taken) == list(range(1, 17))
    assert await database.read(catalog_version) == 16


async def test_a_file_that_nobody_writes_to_is_not_read_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'registry.db'}"
    async with open_database(url) as database, open_database(url) as other:
        assert database.stamp() is None, "it was just written"
        for file in (tmp_path / "registry.db", tmp_path / "registry.db-wal"):
            os.utime(file, (1, 1))
        assert database.stamp() is not None
        reads = 0

        async def read(do: Callable[[Session], Any]) -> Any:
            nonlocal reads
            reads += 1
            return await other.read(do)

        watched = cast("Database", SimpleNamespace(stamp=database.stamp, read=read))
        async with _following(watched, since=0) as heard:
            await anyio.sleep(0.1)
            assert reads == 1
            await _import(other, server("a"))
            assert await heard.receive() == {"a"}
