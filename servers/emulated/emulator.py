"""Who makes up the answers of a server, and what it keeps in mind for one session.

Two satisfy this: :mod:`servers.emulated.offline`, which follows the schemas and needs nothing, and
:mod:`servers.emulated.modelled`, which asks a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from astra_mcp.types import EmulatorKind, JsonValue, PastCall, ToolSpec
from servers.emulated.document import EmulatedDocument

__all__ = ["EmulatedAnswer", "EmulatedState", "Emulator"]


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
