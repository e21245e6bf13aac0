"""What an emulated server is made of: its documents, where they come from, and who makes up its answers.

Two satisfy :class:`Emulator`: :mod:`servers.emulated.offline.emulator`, which follows the schemas and needs
nothing, and :mod:`servers.emulated.modelled.emulator`, which asks a model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from astra_mcp.types import EmulatorKind, JsonValue, PastCall, ToolSpec

__all__ = [
    "DocumentSource",
    "EmulatedAnswer",
    "EmulatedDocument",
    "EmulatedState",
    "Emulator",
    "Outline",
]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedAnswer:
    """What a tool says."""

    value: JsonValue
    """Fits the tool's output schema where it has one, unless it is an error."""
    is_error: bool = False
    """The tool refused, as for an entity that there is not; the value is a text then."""


class EmulatedState(Protocol):
    """One session's world: what exists in it, and what was said. Calls come one at a time."""

    async def answer(self, tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> EmulatedAnswer:
        """Answer a call, and remember it.

        Args:
            tool: Of this server.
            arguments: Valid by the tool's schema.

        Raises:
            UpstreamError: No answer is found that fits the tool's output schema; the state is as it was.
            ModelError: The model failed; likewise.
            BudgetSpentError: The model may not be asked any more; likewise.
            PipelineError: The cache of completions does not answer; likewise.
        """
        ...

    async def restore(self, past: Sequence[PastCall]) -> None:
        """Take over the applied calls of an earlier life of the session, in their order."""
        ...


class Emulator(Protocol):
    """Opens the states of any number of servers."""

    @property
    def kind(self) -> EmulatorKind:
        """Is recorded with every call."""
        ...

    def open_state(
        self, document: EmulatedDocument, *, seed: int, prompt: str | None = None
    ) -> EmulatedState:
        """Begin a session; cheap.

        Args:
            document: Of the server.
            seed: Decides everything that is made up.
            prompt: What the user asked for, of which it may take a hint.
        """
        ...
