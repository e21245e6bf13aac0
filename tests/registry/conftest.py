"""Databases for tests, opened once and copied.

A test that asks for one runs on SQLite; marked ``both_databases``, on PostgreSQL too: where the two can
differ. All others run on PostgreSQL as well among the tests that are marked ``system``.
"""

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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Say which databases a test runs on."""
    if "database_kind" in metafunc.fixturenames:
        is_on_both = metafunc.definition.get_closest_marker("both_databases") is not None
        marks = () if is_on_both else pytest.mark.system
        kinds = ["sqlite", pytest.param("postgresql", marks=marks)]
        metafunc.parametrize("database_kind", kinds)


@pytest.fixture
def new_url(
    database_kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Generator[Callable[[], str]]:
    """Makes URLs of databases that were never opened."""
    with ExitStack() as stack:
        numbers = count()

        def make() -> str:
            if database_kind == "sqlite":
                return f"sqlite:///{tmp_path / f'new{next(numbers)}.db'}"
            server: PostgresServer = request.getfixturevalue("postgres")
            return stack.enter_context(server.fresh_database())

        yield make


@pytest.fixture
def empty_url(
    database_kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Generator[Callable[[], str]]:
    """Makes URLs of databases that hold nothing but their tables."""
    numbers = count()
    if database_kind == "sqlite":
        file: Path = request.getfixturevalue("migrated_file")
        yield lambda: f"sqlite:///{shutil.copy(file, tmp_path / f'empty{next(numbers)}.db')}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    like: str = request.getfixturevalue("migrated_name")
    with ExitStack() as stack:
        yield lambda: stack.enter_context(server.fresh_database(like=like))


@pytest.fixture
def database_url(empty_url: Callable[[], str]) -> str:
    """The URL of a database that holds nothing but its tables."""
    return empty_url()


@pytest.fixture
async def database(database_url: str, anyio_backend: str) -> AsyncGenerator[Database]:
    """An open database that holds nothing."""
    async with open_database(database_url) as opened:
        yield opened
