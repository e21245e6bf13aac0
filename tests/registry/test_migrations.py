"""The migrations make the tables that the classes describe, on both databases."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.orm import Session
from sqlmodel import SQLModel

from registry.store import migrations, tables
from registry.store.database import Database, open_database

_DERIVED = ("tool_text", "text_vector")
"""What a database derives for full-text search, and no class describes."""


def _differences(session: Session) -> list[Any]:
    def include(thing: Any, name: str | None, *_: Any) -> bool:
        return not str(name).startswith(_DERIVED)

    options: Mapping[str, Any] = {
        "include_object": include,
        "compare_type": True,
        "compare_server_default": True,
    }
    context = MigrationContext.configure(session.connection(), opts=dict(options))
    return compare_metadata(context, SQLModel.metadata)


@pytest.mark.both_databases
async def test_a_migrated_database_has_the_tables_of_the_classes(database: Database) -> None:
    assert tables.ServerRow.metadata is SQLModel.metadata
    assert await database.read(_differences) == []


@pytest.mark.both_databases
async def test_an_index_of_before_is_kept_and_has_its_records_read_again(
    new_url: Callable[[], str],
) -> None:
    url, read = new_url(), "SELECT source, player, record_bytes FROM episode"
    async with open_database(url) as database:
        row = (
            "INSERT INTO episode (id, opened_at, source, status, calls, record_bytes)"
            " VALUES ('a', '2026-01-01 00:00:00', 'harbour', 'closed', 3, 900)"
        )
        for statement in (
            "ALTER TABLE episode DROP COLUMN player",
            "ALTER TABLE episode DROP COLUMN run",
            "UPDATE alembic_version SET version_num = '0002'",
            row,
        ):
            await database.write(partial(Session.execute, statement=text(statement)))
    async with open_database(url) as database:
        rows = await database.read(lambda session: session.execute(text(read)).all())
    assert [tuple(row) for row in rows] == [("harbour", None, -1)]


def test_the_last_step_is_the_one_that_opening_looks_for() -> None:
    assert migrations.__file__ is not None
    scripts = ScriptDirectory(migrations.__file__.removesuffix("/__init__.py"))
    assert scripts.get_current_head() == migrations.HEAD
