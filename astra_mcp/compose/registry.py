"""What commands open of the registry: its database, and which servers it has documents of."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from astra_mcp.compose.settings import Settings
from registry.published.publication import find_publication
from registry.store.database import Database, open_database

__all__ = ["Spending", "list_documented", "open_present_registry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """How much may be spent on a model; None is without limit."""

    max_calls: int | None
    max_cost: float | None


@asynccontextmanager
async def open_present_registry(settings: Settings) -> AsyncGenerator[Database | None]:
    """Open the registry of the settings where there is one, for a command that would not make it.

    Raises:
        ConfigError: ``registry.url`` is wrong.
        RegistryError: The database cannot be opened.
    """
    if not settings.has_registry:
        yield None
        return
    async with open_database(settings.registry_url) as database:
        yield database


async def list_documented(settings: Settings) -> tuple[str, ...]:
    """Name all kept servers of the registry, crawled ones included.

    Raises:
        RegistryError: The database failed.
    """
    async with open_database(settings.registry_url) as database:
        found = await database.read(partial(find_publication, crawled=True))
    return tuple(found.servers)
