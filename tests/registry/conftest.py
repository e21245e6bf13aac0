"""Every test that asks for a database runs on both of them."""

import shutil
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import anyio
import pytest

from registry.store.database import Database, open_database

from databases import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """A server of the session's own."""
    if find_spec("pgserver") is None:
        pytest.skip("PostgreSQL not present: the pgserver wheel")
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database that was opened once; opening a copy is many times faster."""
    path = tmp_path_factory.mktemp("migrated") / "registry.db"
    anyio.run(_open_once, f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_name(postgres: PostgresServer) -> Generator[str]:
    """The same on PostgreSQL."""
    with postgres.fresh_database() as url:
        anyio.run(_open_once, url)
        yield postgres.name_of(url)


async def _open_once(url: str) -> None:
    async with open_database(url):
        pass


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Callable[[], str]]:
    """Makes URLs of databases of either kind that were never opened."""
    with ExitStack() as stack:
        numbers = count()

        def make() -> str:
            if request.param == "sqlite":
                return f"sqlite:///{tmp_path / f'new{next(numbers)}.db'}"
            server: PostgresServer = request.getfixturevalue("postgres")
            return stack.enter_context(server.fresh_database())

        yield make


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    """The URL of a database of either kind that holds nothing."""
    if request.param == "sqlite":
        copy = shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "registry.db")
        yield f"sqlite:///{copy}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.fresh_database(like=request.getfixturevalue("migrated_name")) as url:
        yield url


@pytest.fixture
async def database(database_url: str, anyio_backend: str) -> AsyncGenerator[Database]:
    """An open database of either kind."""
    async with open_database(database_url) as opened:
        yield opened
