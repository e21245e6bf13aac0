"""The registry as a directory of servers: it lists what is kept, and notices what changes."""

from datetime import timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from gateway.api.directories import ServerDirectory
from registry.published import directory as module
from registry.published.directory import RegistryDirectory, open_directory
from registry.published.names import read_names
from registry.published.server_json import parse_server
from registry.store.database import Database
from registry.store.tables import ServerRow, table_of
from registry.store.version import lock_catalog, next_version

from stored_rows import NEW_YEAR, RAIN, WIND, store_rows

PATIENCE_SECONDS = 10


def change_version(session: Session) -> None:
    """Change the version of a server, as an import does."""
    lock_catalog(session)
    changed = {"version": "2.0.0", "changed_at": NEW_YEAR + timedelta(days=1)}
    table = table_of(ServerRow)
    values = {"revision": next_version(session), **changed}
    session.execute(update(table).where(table.c.id == 1).values(values))


async def test_kept_servers_are_listed_and_crawled_ones_are_marked(
    database: Database, tmp_path: Path
) -> None:
    await database.write(store_rows)
    async with open_directory(database, tmp_path) as directory:
        listed = {entry.key: entry for entry in directory.listing()}
    assert set(listed) == {"pages", "wind-and-rain"}
    entry = listed["wind-and-rain"]
    assert (entry.name, entry.version) == ("dev.astra-mcp/wind-and-rain", "0.0.0")
    assert (entry.published_at, entry.updated_at) == (NEW_YEAR, NEW_YEAR)
    assert (entry.is_crawled, listed["pages"].is_crawled) == (False, True)
    assert entry.served_as is None
    assert read_names(tmp_path).registered == ("pages", "wind-and-rain")


async def test_a_document_tells_of_the_kept_tools_alone(database: Database, tmp_path: Path) -> None:
    await database.write(store_rows)
    async with open_directory(database, tmp_path) as directory:
        documents = await directory.documents(["wind-and-rain", "again", "unknown"])
    assert set(documents) == {"wind-and-rain"}
    document = documents["wind-and-rain"]
    assert document["name"] == "dev.astra-mcp/wind-and-rain"
    assert [tool.name for tool in parse_server(document).tools] == [RAIN.name, WIND.name]


async def test_what_another_process_changes_is_listed_without_being_asked_for(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FOLLOW_SECONDS", 0.01)
    await database.write(store_rows)
    async with open_directory(database, tmp_path) as directory:
        before = directory.listing()
        assert "2.0.0" not in {entry.version for entry in before}
        await database.write(change_version)
        with anyio.fail_after(PATIENCE_SECONDS):
            while directory.listing() is before:
                await anyio.lowlevel.checkpoint()
    assert "2.0.0" in {entry.version for entry in directory.listing()}


async def test_the_gateway_can_read_it(database: Database, tmp_path: Path) -> None:
    directory: ServerDirectory = RegistryDirectory(database, tmp_path)
    assert directory.listing() == ()
