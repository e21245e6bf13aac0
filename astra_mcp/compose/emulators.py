"""Emulated servers as the commands need them: the registry's documents, and who answers in their name.

Loaded where the registry is open anyway: what talks to databases takes a second.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial

import anyio
from anyio.lowlevel import checkpoint

from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import Role
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.types import EmulatorKind
from registry.published.publication import Publication, find_publication, load_published_server
from registry.store.completions import DatabaseCompletionCache
from registry.store.database import Database
from registry.store.version import follow
from servers.emulated.emulator import EmulatedDocument, Emulator, Outline
from servers.emulated.fleet import EmulatedServers
from servers.emulated.offline.emulator import OfflineEmulator

__all__ = ["RegistryDocuments", "open_documents", "open_emulated", "open_emulators"]

FOLLOW_SECONDS = 1.0


class RegistryDocuments:
    """The documents of a database; satisfies ``DocumentSource``. Made by :func:`open_documents`."""

    def __init__(self, database: Database, publication: Publication, *, crawled: bool) -> None:
        self._database = database
        self._publication = publication
        self._versions = _versions_of(publication)
        self._crawled = crawled
        self._listeners = Listeners[[str]]()

    def versions(self) -> Mapping[str, str]:
        """Name to version of every published server."""
        return self._versions

    def outline(self, name: str) -> Outline:
        """What is known of one of these before its documents are read."""
        found = self._publication.servers[name]
        return Outline(version=found.version, num_tools=found.num_tools, domain=found.domain)

    async def load(self, name: str) -> EmulatedDocument | None:
        """Read the documents of one; None where it is published no more.

        Raises:
            RegistryError: The database failed.
        """
        read = partial(load_published_server, name=name, crawled=self._crawled)
        loaded = await self._database.read(read)
        if loaded is None:
            return None
        server, version = loaded
        return EmulatedDocument(
            name=server.name,
            title=server.title,
            description=server.description,
            domain=server.domain,
            language=server.language,
            version=version,
            tools=server.specs,
        )

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of every server that comes, goes or has another version than before."""
        return self._listeners.add(hear)

    async def follow(self) -> None:
        """Read names and versions anew whenever the catalog changes, until cancelled."""
        await follow(
            self._database,
            partial(find_publication, crawled=self._crawled),
            self._take,
            since=self._publication.version,
            every_seconds=FOLLOW_SECONDS,
        )

    async def _take(self, publication: Publication) -> None:
        """Tell what is other than before; others have their turn between two of many."""
        before, now = self._publication.servers, publication.servers
        self._publication, self._versions = publication, _versions_of(publication)
        names = sorted(before.keys() | now.keys())
        for name in (n for n in names if before.get(n) != now.get(n)):
            self._listeners.tell(name)
            await checkpoint()


def _versions_of(publication: Publication) -> Mapping[str, str]:
    return {name: found.version for name, found in publication.servers.items()}


@asynccontextmanager
async def open_documents(database: Database, *, crawled: bool) -> AsyncGenerator[RegistryDocuments]:
    """Publish the kept servers of a database, and follow it while the context is open.

    Args:
        database: What another process stores in it appears within a second or two.
        crawled: Also servers whose tools were read off a page.

    Raises:
        RegistryError: The database failed.
    """
    publication = await database.read(partial(find_publication, crawled=crawled))
    documents = RegistryDocuments(database, publication, crawled=crawled)
    async with anyio.create_task_group() as group:
        group.start_soon(documents.follow)
        yield documents
        group.cancel_scope.cancel()


@asynccontextmanager
async def open_emulators(
    settings: Settings, database: Database
) -> AsyncGenerator[Mapping[EmulatorKind, Emulator]]:
    """Open who may answer: the offline emulator, and the model where the settings ask for it.

    Args:
        settings: Name the model of the role ``emulator``.
        database: Keeps what the model answered, so that a rerun asks it nothing.

    Raises:
        ConfigError: The settings ask for a model that they do not name.
    """
    if settings.emulator_fault is not None:
        raise ConfigError(settings.emulator_fault)
    chosen = settings.emulators
    emulators: dict[EmulatorKind, Emulator] = {EmulatorKind.OFFLINE: OfflineEmulator()}
    async with AsyncExitStack() as stack:
        if EmulatorKind.MODEL in (chosen.kind, chosen.distractors):
            config = settings.models.of_role(Role.EMULATOR)
            # The client of models takes a second to load.
            from astra_mcp.llm.model import open_model  # noqa: PLC0415
            from servers.emulated.modelled.emulator import ModelEmulator  # noqa: PLC0415

            opened = open_model(Role.EMULATOR, config, cache=DatabaseCompletionCache(database))
            model = await stack.enter_async_context(opened)
            emulators[EmulatorKind.MODEL] = ModelEmulator(model, hint_share=chosen.hint_share)
        yield emulators


@asynccontextmanager
async def open_emulated(
    settings: Settings,
    database: Database,
    *,
    crawled: bool,
    is_taken: Callable[[str], bool] = lambda _: False,
) -> AsyncGenerator[EmulatedServers]:
    """Publish the documented servers of the registry, whose answers are made up.

    Args:
        settings: Say who answers.
        database: Has the documents.
        crawled: Also servers whose tools were read off a page.
        is_taken: Tells the names that real servers have.

    Raises:
        ConfigError: As for :func:`open_emulators`.
        RegistryError: The database failed.
    """
    async with (
        open_emulators(settings, database) as emulators,
        open_documents(database, crawled=crawled) as documents,
    ):
        kind = settings.emulators.kind
        servers = EmulatedServers(documents, emulators, kind=kind, is_taken=is_taken)
        with closing(servers):
            yield servers
