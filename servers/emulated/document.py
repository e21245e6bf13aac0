"""What an emulated server is made of: its documents, and where they come from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from astra_mcp.types import ToolSpec

__all__ = ["DocumentSource", "EmulatedDocument", "Outline"]


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class EmulatedDocument:
    """All that is known of a server."""

    name: str
    """Unique among the emulated ones."""
    title: str
    description: str
    domain: str | None
    """One of :class:`astra_mcp.domains.Domain`; None where it has no label."""
    language: str | None
    """Of its texts, such as ``en``."""
    version: str
    """Content hash of everything here."""
    tools: tuple[ToolSpec, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What is known of a server before its documents are read."""

    version: str
    num_tools: int
    domain: str | None


class DocumentSource(Protocol):
    """Has the documents; satisfied by an adapter of the registry. Its contents may change."""

    def versions(self) -> Mapping[str, str]:
        """Name to version of every server that is to be published, from memory."""
        ...

    def outline(self, name: str) -> Outline:
        """What is known of one of these, from memory."""
        ...

    async def load(self, name: str) -> EmulatedDocument | None:
        """Read the documents of one; None where it is published no more.

        Raises:
            RegistryError: They cannot be read now.
        """
        ...

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of every server that comes, goes or has another version than before.

        Args:
            hear: Must not raise and must not block.

        Returns:
            Ends it.
        """
        ...
