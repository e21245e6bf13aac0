"""The environments of a gateway: a server for each, and which of them stand at the endpoint of all servers.

One of few is loaded already; one of many is loaded when it is first used.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from astra_mcp.compose.bundles import FoundEnvironments, unknown_environment
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import UnknownNameError
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.sandbox import Sandbox
from registry.bundles.digest import BundleDigest
from registry.bundles.folder import FoundBundle
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

    def _publish(self, found: FoundBundle) -> None:
        if found.digest is not None:
            server = self._make(found, found.digest)
            self._published[found.name] = _Published(found, found.digest, server)
