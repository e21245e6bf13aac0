"""What ``/v0.1/servers`` lists: the environments and deployed servers of this gateway, and the registry.

Loaded by a gateway alone: what talks to databases takes a second.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

import anyio.to_thread

from astra_mcp.compose.environments import PublishedEnvironments
from astra_mcp.types import JsonObject, ServerKind, ToolSpec
from gateway.api.directories import ServerDirectory
from registry.bundles.digest import BundleDigest
from registry.published.directory import DirectoryEntry, RegistryDirectory, open_directory
from registry.published.names import NameKind, write_names
from registry.published.server_json import (
    NAMESPACE,
    PUBLISHER_KEY,
    PublishedServer,
    render_server,
    render_tools,
)
from registry.store.database import Database
from servers.deployed import DeployedServer, DeployedServers
from servers.emulated.fleet import EmulatedServers

__all__ = ["EmulatedDirectory", "PublishedDirectory", "open_directories"]

DEPLOYED_NAMESPACE = f"{NAMESPACE}.deployed"
"""A server of a file must not pass for the registry's server of its name."""


@dataclass(frozen=True, kw_only=True)
class _Deployed:
    """What the clients of a deployed server see of it."""

    name: str
    kind: ServerKind
    tools: tuple[ToolSpec, ...]
    version: str

    @classmethod
    def of(cls, server: DeployedServer) -> Self:
        version = f"0.0.0+{server.tools_hash[:12]}"
        return cls(name=server.name, kind=server.kind, tools=server.tools, version=version)

    @property
    def server_name(self) -> str:
        """The official one."""
        return f"{DEPLOYED_NAMESPACE}/{self.name}"

    @cached_property
    def document(self) -> JsonObject:
        """Made once it is asked for."""
        document = render_server(
            PublishedServer(
                name=self.name,
                title=self.name,
                description=f"{self.name}, deployed behind this gateway",
                version=self.version,
                kind=self.kind.value,
                tools=self.tools,
            )
        )
        return {**document, "name": self.server_name}


_Source = BundleDigest | _Deployed
"""Of which the document is made when it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What stands behind a name, and since when."""

    source: _Source
    since: datetime

    @property
    def document(self) -> JsonObject:
        """In the official registry's format."""
        source = self.source
        return _of_bundle(source) if isinstance(source, BundleDigest) else source.document


class PublishedDirectory:
    """What this gateway serves itself; satisfies its ``ServerDirectory``."""

    def __init__(self, environments: PublishedEnvironments, deployed: DeployedServers) -> None:
        """Know the servers.

        Args:
            environments: The environments, which may change.
            deployed: The servers of the file, which may change.
        """
        self._environments = environments
        self._deployed = deployed
        self._told: Mapping[str, _Told] = {}
        self._listing: tuple[DirectoryEntry, ...] | None = None
        self.listing()  # what is served now is served since now

    def hear(self, name: str) -> None:
        """Look again: a server is another than before."""
        del name
        self._listing = None

    def listing(self) -> Sequence[DirectoryEntry]:
        """All environments and deployed servers; the same object as long as none of them changes."""
        if self._listing is None:
            now = datetime.now(UTC)
            sources: dict[str, _Source] = {
                digest.name: digest for digest in self._environments.digests
            }
            sources |= {server.name: _Deployed.of(server) for server in self._deployed.upstreams()}
            self._told = {name: self._tell(name, source, now) for name, source in sources.items()}
            self._listing = tuple(_entry(name, told) for name, told in self._told.items())
        return self._listing

    async def documents(self, keys: Sequence[str]) -> Mapping[str, JsonObject]:
        """Read documents; of deployed servers they say the name and the tools, and nothing else."""
        return await anyio.to_thread.run_sync(_documents, self._told, keys)

    def _tell(self, name: str, source: _Source, now: datetime) -> _Told:
        known = self._told.get(name)
        if known is not None and known.source == source:
            return known
        return _Told(source=source, since=now)


class EmulatedDirectory:
    """The registry's list, with the names under which this gateway serves what is on it."""

    def __init__(self, registered: RegistryDirectory, emulated: EmulatedServers) -> None:
        """Join the two; both may change."""
        self._registered = registered
        self._emulated = emulated
        self._known: Sequence[DirectoryEntry] = ()
        self._listing: tuple[DirectoryEntry, ...] | None = None

    def hear(self, name: str) -> None:
        """Look again at what is served: one server is another than before."""
        del name
        self._listing = None

    def listing(self) -> Sequence[DirectoryEntry]:
        """All that the registry lists; the same object as long as nothing changes."""
        known = self._registered.listing()
        if self._listing is None or known is not self._known:
            served = {server.name for server in self._emulated.upstreams()}
            self._known = known
            self._listing = tuple(
                replace(entry, served_as=entry.key) if entry.key in served else entry
                for entry in known
            )
        return self._listing

    async def documents(self, keys: Sequence[str]) -> Mapping[str, JsonObject]:
        """Read documents of the registry.

        Raises:
            RegistryError: The database failed.
        """
        return await self._registered.documents(keys)


@asynccontextmanager
async def open_directories(
    home: Path,
    database: Database,
    environments: PublishedEnvironments,
    deployed: DeployedServers,
    emulated: EmulatedServers,
) -> AsyncGenerator[Sequence[ServerDirectory]]:
    """Open what a gateway lists: what it serves first, then the registry, which is followed.

    Args:
        home: Where the names of all of them are written down for completion.
        database: The registry.
        environments: The environments.
        deployed: The real servers of the file.
        emulated: What of the registry is served.

    Raises:
        RegistryError: The database failed.
    """

    def name_deployed(_: str = "") -> None:
        write_names(home, NameKind.DEPLOYED, [server.name for server in deployed.upstreams()])

    def name_environments() -> None:
        write_names(home, NameKind.ENVIRONMENTS, environments.names)

    name_environments()
    name_deployed()
    async with open_directory(database, home) as registered:
        published = PublishedDirectory(environments, deployed)
        listed = EmulatedDirectory(registered, emulated)
        with ExitStack() as stack:
            # A deployed server that comes or goes hides or shows an emulated one.
            for hear in (published.hear, name_deployed, listed.hear):
                stack.callback(deployed.watch(hear))
            for hear in (published.hear, listed.hear):
                stack.callback(environments.watch(hear))
            stack.callback(environments.watch_rounds(name_environments))
            stack.callback(emulated.watch(listed.hear))
            yield published, listed


def _documents(told: Mapping[str, _Told], keys: Sequence[str]) -> Mapping[str, JsonObject]:
    return {key: told[key].document for key in keys if key in told}


def _entry(name: str, told: _Told) -> DirectoryEntry:
    return DirectoryEntry(
        key=name,
        name=told.source.server_name,
        version=told.source.version,
        published_at=told.since,
        updated_at=told.since,
        served_as=name,
    )


def _of_bundle(digest: BundleDigest) -> JsonObject:
    """Add the tools, which agents see anyway, to the bundle's own ``server.json``."""
    meta = cast("dict[str, Any]", digest.server.get("_meta", {}))
    told = cast("dict[str, Any]", meta.get(PUBLISHER_KEY, {}))
    published = {**told, "tools": render_tools(digest.tools)}
    return {**digest.server, "_meta": {**meta, PUBLISHER_KEY: published}}
