"""What the registry describes to clients that look for servers; satisfies the gateway's ``ServerDirectory``.

Keeps the names of all kept servers in memory, follows the catalog, and renders a document when it is asked
for. None of these servers stands behind the gateway by being described here.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.types import JsonObject
from registry.documents.sources import Provenance
from registry.published.names import NameKind, write_names
from registry.published.server_json import (
    PublishedServer,
    official_name,
    official_version,
    render_server,
)
from registry.store.database import Database
from registry.store.servers import StoredServer, load_servers
from registry.store.tables import ServerRow
from registry.store.version import catalog_version, follow, published_names

__all__ = ["DirectoryEntry", "RegistryDirectory", "open_directory", "publish_names"]

FOLLOW_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryEntry:
    """One version of a server, as a directory lists it."""

    key: str
    """Finds its document."""
    name: str
    """In the official registry's form."""
    version: str
    published_at: datetime
    updated_at: datetime
    is_crawled: bool = False
    served_as: str | None = None
    """Its name in the gateway's catalog, where it is served."""


class RegistryDirectory:
    """The kept servers of a database. Made by :func:`open_directory`."""

    def __init__(self, database: Database, home: Path) -> None:
        self._database = database
        self._home = home
        self._listing: tuple[DirectoryEntry, ...] = ()

    def listing(self) -> Sequence[DirectoryEntry]:
        """All kept servers, crawled ones included; the same object as long as nothing changes."""
        return self._listing

    async def documents(self, keys: Sequence[str]) -> Mapping[str, JsonObject]:
        """Read documents in the official registry's format; what is kept no more is left out.

        Raises:
            RegistryError: The database failed.
        """
        servers = await self._database.read(lambda session: load_servers(session, keys))
        return {s.name: render_server(_published(s)) for s in servers if s.status == "kept"}

    async def take(self, listing: tuple[DirectoryEntry, ...]) -> None:
        """List these from now on, and write their names down."""
        self._listing = listing
        await _write_names(self._home, [entry.key for entry in listing])


@asynccontextmanager
async def open_directory(database: Database, home: Path) -> AsyncGenerator[RegistryDirectory]:
    """List the kept servers of a database, and follow it while the context is open.

    Args:
        database: What another process stores in it appears within a second or two.
        home: Where the names are written down for completion, as often as they change.

    Raises:
        RegistryError: The database failed.
    """
    directory = RegistryDirectory(database, home)
    version, listing = await database.read(lambda s: (catalog_version(s), _entries(s)))
    await directory.take(listing)
    following = partial(follow, since=version, every_seconds=FOLLOW_SECONDS)
    async with anyio.create_task_group() as group:
        group.start_soon(following, database, _entries, directory.take)
        yield directory
        group.cancel_scope.cancel()


async def publish_names(database: Database, home: Path) -> None:
    """Write the names of the kept servers down for completion, where no directory follows them.

    Raises:
        RegistryError: The database failed.
    """
    await _write_names(home, await database.read(partial(published_names, crawled=True)))


async def _write_names(home: Path, names: Iterable[str]) -> None:
    await anyio.to_thread.run_sync(write_names, home, NameKind.REGISTERED, names)


def _published(server: StoredServer) -> PublishedServer:
    """Choose what is told of a stored server: its kept tools, and nothing of why others are not."""
    return PublishedServer(
        name=server.name,
        title=server.title,
        description=server.description,
        version=server.version,
        domain=server.domain,
        language=server.language,
        labels=server.labels,
        provenance=Provenance(server.provenance),
        origin=server.origin,
        tools=server.specs,
    )


def _entries(session: Session) -> tuple[DirectoryEntry, ...]:
    columns = (
        *(col(ServerRow.name), col(ServerRow.version), col(ServerRow.provenance)),
        *(col(ServerRow.imported_at), col(ServerRow.changed_at)),
    )
    rows = session.execute(select(*columns).where(col(ServerRow.status) == "kept"))
    return tuple(
        DirectoryEntry(
            key=name,
            name=official_name(name),
            version=official_version(version),
            published_at=imported_at,
            updated_at=changed_at,
            is_crawled=provenance == Provenance.CRAWLED,
        )
        for name, version, provenance, imported_at, changed_at in rows
    )
