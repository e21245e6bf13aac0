"""All emulated servers of a gateway, as their documents come and go.

A server costs its name and its version until somebody uses it; nothing is started for any of them. Knows
where documents come from and the servers; knows nothing of the gateway.
"""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType

from astra_mcp.mcp.listeners import Listeners
from astra_mcp.types import EmulatorKind
from servers.emulated.document_cache import DocumentCache
from servers.emulated.emulator import DocumentSource, EmulatedDocument, Emulator, Outline
from servers.emulated.server import EmulatedServer

__all__ = ["EmulatedServers", "NoDocuments"]

_log = logging.getLogger(__name__)


class NoDocuments:
    """A source that has none; satisfies ``DocumentSource``."""

    def versions(self) -> Mapping[str, str]:
        """None."""
        return MappingProxyType({})

    def outline(self, name: str) -> Outline:
        """There is no server to ask about."""
        raise KeyError(name)

    async def load(self, name: str) -> EmulatedDocument | None:
        """There is none."""
        del name
        return None

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Nothing ever changes."""
        del hear
        return lambda: None


class EmulatedServers:
    """The servers by name, following their source until it is closed."""

    def __init__(
        self,
        source: DocumentSource,
        emulators: Mapping[EmulatorKind, Emulator],
        *,
        kind: EmulatorKind = EmulatorKind.OFFLINE,
        is_taken: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Publish what the source has.

        Args:
            source: Has the documents.
            emulators: Who may answer.
            kind: Who does unless another one is asked for.
            is_taken: Tells the names that real servers have now; an emulated one is hidden then.
        """
        self._source = source
        self._emulators = emulators
        self._kind = kind
        self._is_taken = is_taken
        self._cache = DocumentCache()
        self._servers = {name: self._make(name) for name in source.versions()}
        self._told_hidden: set[str] = set()
        self._listeners = Listeners[[str]]()
        self._end = source.watch(self._hear)

    def upstreams(self) -> tuple[EmulatedServer, ...]:
        """All servers that are not hidden, by name."""
        names = sorted(self._servers)
        return tuple(self._servers[name] for name in names if not self._is_hidden(name))

    def find(self, name: str) -> EmulatedServer | None:
        """One server; None where there is none of this name, or a real one has it."""
        server = self._servers.get(name)
        return None if server is None or self._is_hidden(name) else server

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of every server that is added, removed, or has other documents than before.

        A server that is hidden is not told of.

        Args:
            hear: Must not raise and must not block.

        Returns:
            Ends it.
        """
        return self._listeners.add(hear)

    def close(self) -> None:
        """Follow the source no longer."""
        self._end()

    def _make(self, name: str) -> EmulatedServer:
        return EmulatedServer(
            name,
            source=self._source,
            emulators=self._emulators,
            emulator=self._kind,
            cache=self._cache,
        )

    def _hear(self, name: str) -> None:
        """Bring one server to what the source says; sessions keep the documents that they began with."""
        version = self._source.versions().get(name)
        known = self._servers.get(name)
        if version is None:
            self._servers.pop(name, None)
        elif known is None or known.version != version:
            self._servers[name] = self._make(name)
        if not self._is_hidden(name):
            self._listeners.tell(name)

    def _is_hidden(self, name: str) -> bool:
        if not self._is_taken(name):
            return False
        if name in self._servers and name not in self._told_hidden:
            self._told_hidden.add(name)
            msg = "%s is not emulated: an environment or a deployed server has its name"
            _log.warning(msg, name)
        return True
