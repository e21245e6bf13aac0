"""A catalog of the environments found in folders; satisfies the gateway's ``Catalog``."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import ConfigError, UnknownNameError
from astra_mcp.reward import JobItem

__all__ = ["FolderCatalog", "Published"]


_MAX_NAMED = 12
"""So many servers are named to who asks for another one."""


class Published(Protocol):
    """What a catalog needs to know of a server."""

    @property
    def name(self) -> str:
        """Unique in the catalog."""
        ...


Server = TypeVar("Server", bound=Published)


class FolderCatalog(Generic[Server]):
    """Environments and the servers that publish them, by name."""

    def __init__(self, bundles: Iterable[Bundle], publish: Callable[[Bundle], Server]) -> None:
        """Publish every bundle.

        Args:
            bundles: The environments; names must be unique.
            publish: Makes the server of one bundle.

        Raises:
            ConfigError: Two bundles have one name.
        """
        self._bundles: dict[str, Bundle] = {}
        for bundle in bundles:
            if bundle.name in self._bundles:
                msg = f"two environments are named {bundle.name!r}: rename one in environment.json"
                raise ConfigError(msg)
            self._bundles[bundle.name] = bundle
        self._servers: Mapping[str, Server] = {
            name: publish(self._bundles[name]) for name in sorted(self._bundles)
        }

    def bundles(self) -> tuple[Bundle, ...]:
        """All environments, by name."""
        return tuple(self._bundles[name] for name in sorted(self._bundles))

    def bundle(self, name: str) -> Bundle:
        """One environment.

        Raises:
            UnknownNameError: There is none; names the closest ones.
        """
        hint = "`astra-mcp environments list` names all"
        return _find(self._bundles, name, "environment", self._bundles, hint)

    def job(self, environment: str) -> tuple[JobItem, ...]:
        """The sub-tasks that an episode of the environment is scored on."""
        return self.bundle(environment).job

    def upstreams(self) -> tuple[Server, ...]:
        """All servers, by name."""
        return tuple(self._servers.values())

    def upstream(self, name: str, *, besides: Iterable[str] = ()) -> Server:
        """One server.

        Args:
            name: Of the server.
            besides: Names of servers that others publish, as what may have been meant.

        Raises:
            UnknownNameError: There is none; names the closest ones.
        """
        names = sorted({*self._servers, *besides})
        hint = "`GET /v1/servers` of a running gateway names all"
        if len(names) <= _MAX_NAMED:
            hint = f"there are {', '.join(names)}" if names else "there is none"
        return _find(self._servers, name, "server", names, hint)


Value = TypeVar("Value")


def _find(
    published: Mapping[str, Value], name: str, what: str, names: Iterable[str], hint: str
) -> Value:
    if name in published:
        return published[name]
    raise UnknownNameError.among(what, name, names, hint)
