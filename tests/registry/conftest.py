"""Every test that asks for a database runs on both of them."""

from collections.abc import AsyncGenerator, Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

from registry.database import Database, open_database

from databases import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """A server of the session's own."""
    if find_spec("pgserver") is None:
        pytest.skip("PostgreSQL not present: the pgserver wheel")
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    """The URL of an empty database of either kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'registry.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.fresh_database() as url:
        yield url


@pytest.fixture
async def database(database_url: str, anyio_backend: str) -> AsyncGenerator[Database]:
    """An open database of either kind."""
    async with open_database(database_url) as opened:
        yield opened
