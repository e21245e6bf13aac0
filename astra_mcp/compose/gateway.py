"""The whole gateway: everything that is published, its episodes, and the application over them."""

import os
import shutil
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.types import ASGIApp

from astra_mcp.compose.catalog import PublishedCatalog, open_catalog
from astra_mcp.compose.directories import open_directories
from astra_mcp.compose.distractor_pool import open_distractors
from astra_mcp.compose.settings import Settings
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import AccessRules
from gateway.edge.workers import ALONE, Seat
from gateway.episodes.failures import FailureDefaults
from gateway.episodes.live import open_episodes
from registry.store.database import open_database

__all__ = ["open_gateway"]

MIN_FREE_BYTES = 64 << 20
"""With less room on the disk of its home, a gateway says that it is not ready."""


@asynccontextmanager
async def open_gateway(
    settings: Settings,
    rules: AccessRules,
    *,
    trusted: bool = False,
    seat: Seat = ALONE,
    readiness: Callable[[], Sequence[str]] = tuple,
) -> AsyncGenerator[tuple[PublishedCatalog, ASGIApp]]:
    """Compose the gateway over everything that is published; yields the catalog and the application.

    Args:
        settings: Folders, limits and the home.
        rules: Who may speak to it; its control key also derives the keys of episodes.
        trusted: Allow tool code to run unsandboxed where this machine has no sandbox.
        seat: Which of the workers this process is.
        readiness: Names what else keeps this process from taking episodes.
    """
    metrics = Metrics()
    async with (
        open_database(settings.registry_url) as database,
        open_catalog(settings, trusted=trusted, database=database) as catalog,
        open_directories(
            settings.home, database, catalog.bundles, catalog.deployed, catalog.emulated
        ) as directories,
        open_distractors(settings, catalog, database) as distractors,
        open_episodes(
            catalog,
            settings.home,
            secret=derive_secret(rules.control_key),
            max_open=settings.serve.max_episodes,
            worker=seat.index,
            workers=seat.count,
            sinks=(metrics,),
            failures=FailureDefaults(
                rate=settings.serve.failure_rate, scope=settings.serve.failure_scope
            ),
            distractors=distractors,
            emulator=settings.emulators.distractors,
        ) as episodes,
        open_app(
            catalog,
            episodes,
            rules=rules,
            metrics=metrics,
            directories=directories,
            readiness=lambda: [*readiness(), *_missing_room(settings.home)],
            seat=seat,
        ) as app,
    ):
        yield catalog, app


def _missing_room(home: Path) -> list[str]:
    """Name what keeps a home from taking records."""
    if not os.access(home / "records", os.W_OK):
        return ["the records folder cannot be written"]
    if shutil.disk_usage(home).free < MIN_FREE_BYTES:
        return [f"less than {MIN_FREE_BYTES >> 20} MiB are free for records"]
    return []
