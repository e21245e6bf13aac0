"""What the gateway asks of a list of servers, its own or a registry's, that it shows to MCP clients."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from astra_mcp.types import JsonObject

__all__ = ["ListedServer", "ServerDirectory"]


class ListedServer(Protocol):
    """One version of a server, as a directory lists it."""

    @property
    def key(self) -> str:
        """Finds its document in its directory."""
        ...

    @property
    def name(self) -> str:
        """Of its document: ``namespace/name``."""
        ...

    @property
    def version(self) -> str:
        """Of its document."""
        ...

    @property
    def published_at(self) -> datetime:
        """Since when the directory has it."""
        ...

    @property
    def updated_at(self) -> datetime:
        """When it became what it is."""
        ...

    @property
    def is_crawled(self) -> bool:
        """True where its tools were read off a page; such a server is listed on request alone."""
        ...

    @property
    def served_as(self) -> str | None:
        """Its name in the catalog, if it is what stands behind it there."""
        ...


class ServerDirectory(Protocol):
    """Describes servers to clients that look for some. Its contents may change while the gateway runs."""

    def listing(self) -> Sequence[ListedServer]:
        """Everything that it describes, from memory; the same object as long as nothing changes."""
        ...

    async def documents(self, keys: Sequence[str]) -> Mapping[str, JsonObject]:
        """Read documents in the official registry's format, by key; what is not there is left out.

        None holds a secret, or how a server behind this gateway is started or reached.

        Raises:
            RegistryError: They cannot be read now.
        """
        ...
