"""The migrations make the tables that the classes describe, on both databases."""

from collections.abc import Mapping
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.orm import Session
from sqlmodel import SQLModel

from registry.store import migrations, tables
from registry.store.database import Database

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


def test_the_last_step_is_the_one_that_opening_looks_for() -> None:
    assert migrations.__file__ is not None
    scripts = ScriptDirectory(migrations.__file__.removesuffix("/__init__.py"))
    assert scripts.get_current_head() == migrations.HEAD
