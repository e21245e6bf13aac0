"""The environments of a gateway: a server for each, and which of them stand at the endpoint of all servers.

One of few is loaded already; one of many is loaded when it is first used. The folders that they lie in are
followed, as the registry's catalog is.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint

from astra_mcp.compose.bundles import FoundEnvironments, unknown_environment
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleFault, ConfigError, UnknownNameError
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.sandbox import Sandbox
from registry.bundles.digest import BundleDigest
from registry.bundles.folder import BundleFolder, FoundBundle
from servers.environment import EnvironmentServer
from servers.stored_environment import OpenedEnvironments, StoredEnvironment

__all__ = ["PublishedEnvironments", "Servers"]

_Server: TypeAlias = EnvironmentServer | StoredEnvironment


@dataclass(frozen=True, slots=True)
class _Published:
    """An environment, and where it comes from."""

    found: FoundBundle
    digest: BundleDigest
    server: _Server


FOLLOW_SECONDS = 2.0
_MOST_SECONDS = 8.0
_REST = 50
"""A look is followed by so many times its length without one, within these bounds: 5 s for ten thousand."""
_log = logging.getLogger("astra_mcp.gateway")


class Servers:
    """Makes the server of a bundle."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Make none yet; the sandbox runs the tools of all."""
        self._sandbox = sandbox
        self._opened = OpenedEnvironments(sandbox)

    def __call__(self, found: FoundBundle, digest: BundleDigest) -> _Server:
        """Make one, which loads its bundle when it is first used, unless it is loaded already."""
        if found.bundle is not None:
            return EnvironmentServer(found.bundle, self._sandbox)
        return StoredEnvironment(digest, partial(load_bundle, found.folder), self._opened)


class PublishedEnvironments:
    """The environments by name. Their bundles may come, go and change."""

    def __init__(
        self, found: FoundEnvironments, make: Callable[[FoundBundle, BundleDigest], _Server]
    ) -> None:
        """Publish what was found.

        Args:
            found: Has no name twice.
            make: Makes the server of one.
        """
        self._make = make
        self._published: dict[str, _Published] = {}
        self._faulty: dict[str, FoundBundle] = dict(found.faulty)
        self._listeners = Listeners[[str]]()
        self._rounds = Listeners[[]]()
        self._digests: tuple[BundleDigest, ...] | None = None
        self._upstreams: tuple[_Server, ...] | None = None
        self._together: tuple[_Server, ...] | None = None
        for each in found.found.values():
            self._publish(each)

    @property
    def names(self) -> Collection[str]:
        """All names, now and later."""
        return self._published.keys()

    @property
    def digests(self) -> tuple[BundleDigest, ...]:
        """What lists need of each, by name; the same object as long as nothing changes."""
        if self._digests is None:
            self._digests = tuple(each.digest for _, each in sorted(self._published.items()))
        return self._digests

    @property
    def upstreams(self) -> tuple[_Server, ...]:
        """All servers, by name; the same object as long as nothing changes."""
        if self._upstreams is None:
            self._upstreams = tuple(each.server for _, each in sorted(self._published.items()))
        return self._upstreams

    @property
    def together(self) -> tuple[_Server, ...]:
        """Those of few, by name: the endpoint of all servers shows them; the same object likewise."""
        if self._together is None:
            every = sorted(self._published.items())
            self._together = tuple(each.server for _, each in every if each.found.is_few)
        return self._together

    def find(self, name: str) -> _Server | None:
        """One server; None where there is none of this name."""
        published = self._published.get(name)
        return None if published is None else published.server

    def digest(self, name: str) -> BundleDigest | None:
        """What lists need of one; None where there is none of this name."""
        published = self._published.get(name)
        return None if published is None else published.digest

    def bundle(self, name: str) -> Bundle:
        """The bundle of one, loaded where nobody has used it yet.

        Raises:
            UnknownNameError: There is none, or it has faults; names the closest ones, or the faults.
            UpstreamError: It proves to have faults; names them.
        """
        server = self.find(name)
        if server is None:
            raise self.unknown(name)
        return server.bundle

    def unknown(self, name: str) -> UnknownNameError:
        """Say why nothing of this name is published."""
        faulty = self._faulty.get(name)
        if faulty is None:
            return unknown_environment(name, self._published)
        return UnknownNameError(f"{name} is not published: {'; '.join(faulty.faults)}")

    def is_faulty(self, name: str) -> bool:
        """Whether a bundle of this name was found that cannot be published."""
        return name in self._faulty

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of every environment that is added, removed or has another bundle than before."""
        return self._listeners.add(hear)

    def watch_rounds(self, hear: Callable[[], None]) -> Callable[[], None]:
        """Be told once whenever some of them have changed, however many."""
        return self._rounds.add(hear)

    async def take(
        self,
        place: Path,
        changes: Mapping[str, FoundBundle | None],
        refuse: Callable[[BundleDigest], str | None],
    ) -> None:
        """Publish what a folder holds by now; sessions keep the bundles that they began with.

        Args:
            place: The folder.
            changes: What of it has changed, by the names of its sub-folders; None for what is gone.
            refuse: Says why one cannot be published here, or None.
        """
        names = [
            name if found is None else found.name
            for name, found in changes.items()
            if self._apply(place, name, found, refuse)
        ]
        if names:
            self._digests = self._upstreams = self._together = None
            self._rounds.tell()
        for name in names:
            self._listeners.tell(name)
            await checkpoint()  # others have their turn between two of many

    def _apply(
        self,
        place: Path,
        key: str,
        found: FoundBundle | None,
        refuse: Callable[[BundleDigest], str | None],
    ) -> bool:
        """Make one change; tells whether there is anything to be told of."""
        name = key if found is None else found.name
        known = self._published.get(name)
        is_other = known is not None and known.found.folder not in (place, place / key)
        if is_other:
            if found is not None:
                _log.warning("%s is not published: another environment has its name", found.folder)
            return False
        self._faulty.pop(name, None)
        if found is None:
            return self._published.pop(name, None) is not None
        refusal = "; ".join(found.faults) if found.digest is None else refuse(found.digest)
        if refusal is None:
            self._publish(found)
            return True
        _log.warning("%s is not published: %s", name, refusal)
        self._faulty[name] = found._replace(faults=(BundleFault(refusal),))
        return self._published.pop(name, None) is not None

    async def follow(
        self, folders: Sequence[BundleFolder], refuse: Callable[[BundleDigest], str | None]
    ) -> None:
        """Look into folders again and again, beside the event loop, until cancelled.

        Args:
            folders: Each was looked into once.
            refuse: As for :meth:`take`.
        """
        failing: set[Path] = set()
        took = 0.0
        while folders:
            await anyio.sleep(min(max(FOLLOW_SECONDS, took * _REST), _MOST_SECONDS))
            began = anyio.current_time()
            for folder in folders:
                look = partial(folder.scan, settled=True)
                try:
                    changes = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
                except ConfigError as error:
                    if folder.place not in failing:
                        _log.warning("a folder cannot be followed for now: %s", error)
                    failing.add(folder.place)
                    continue
                failing.discard(folder.place)
                await self.take(folder.place, changes, refuse)
            took = anyio.current_time() - began

    def _publish(self, found: FoundBundle) -> None:
        if found.digest is not None:
            server = self._make(found, found.digest)
            self._published[found.name] = _Published(found, found.digest, server)
