"""A gateway with pages for all tests of a module: episodes share no state."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from astra_mcp.environments.loading import load_bundle
from registry.store.database import open_database
from servers.bundled import bundled_folder

from shown_gateway import BUNDLED, ShownGateway, make_catalog, open_shown_gateway


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry's file that was opened once."""
    path = tmp_path_factory.mktemp("migrated") / "registry.db"
    anyio.run(_open_once, f"sqlite:///{path}")
    return path


async def _open_once(url: str) -> None:
    async with open_database(url):
        pass


@pytest.fixture(scope="module")
async def shown(
    anyio_backend: str, tmp_path_factory: pytest.TempPathFactory, migrated: Path
) -> AsyncGenerator[ShownGateway]:
    """A gateway whose pages are looked at."""
    bundles = {BUNDLED: load_bundle(bundled_folder() / BUNDLED)}
    home = tmp_path_factory.mktemp("shown")
    async with open_shown_gateway(make_catalog(), home, migrated, bundles=bundles) as opened:
        yield opened
