"""A chain of tools: which, how one leads to the next, and what its calls came to where it was executed."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from astra_mcp.types import FrozenModel, JsonObject

__all__ = [
    "Chain",
    "ChainOrigin",
    "ChainRun",
    "ChainRunner",
    "ExecutedCall",
    "FoundChain",
    "Join",
    "PlannedCall",
    "ToolRef",
]


class ToolRef(FrozenModel):
    """A tool of a server, by its own name."""

    server: str
    tool: str


class ChainOrigin(StrEnum):
    """How a chain was found."""

    GRAPH = "graph"
    """A walk on the transition graph of what a model wrote."""
    OFFLINE = "offline"
    """Of the types of arguments and results alone; no model was asked."""
    CROSS_SERVER = "cross-server"
    """Of several servers, each joined to an earlier one by a field of its result."""


class Join(FrozenModel):
    """A field of an earlier result that becomes an argument."""

    source: int = Field(ge=0)
    """The step whose result holds it, from 0."""
    field: str
    """Its name there, or the place in a nested result with dots, such as ``items.id``."""
    target: int = Field(ge=1)
    """The step that takes it; after the source."""
    argument: str


class Chain(FrozenModel):
    """Tools in the order of their calls. Source: ASTRA sec. 2.1, c = (f_1 ... f_n)."""

    steps: tuple[ToolRef, ...] = Field(min_length=1)
    origin: ChainOrigin
    weight: float = 0.0
    """The product of the shares that the walk's steps had among the transitions from each tool."""
    joins: tuple[Join, ...] = ()
    """Those by which the chain was made; empty where a model only named the order."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers, each once, in the order of their first call."""
        return tuple(dict.fromkeys(step.server for step in self.steps))


class FoundChain(FrozenModel):
    """A chain on its way through the stages."""

    chain: Chain
    versions: dict[str, str]
    """Of the documents of each server."""


class PlannedCall(FrozenModel):
    """One call of a chain that is to be executed."""

    step: ToolRef
    arguments: JsonObject


class ExecutedCall(FrozenModel):
    """One call of a chain as it was executed."""

    step: ToolRef
    arguments: JsonObject
    result: str
    """The text that an agent would have seen."""
    is_error: bool
    structured: JsonObject | None = None


class ChainRun(Protocol):
    """A chain that is being executed in one episode: calls are made one by one."""

    async def call(self, planned: PlannedCall) -> ExecutedCall:
        """Make the next call.

        Raises:
            TransportError: The gateway cannot be reached, or refuses.
            UpstreamError: The episode failed: a server could not answer.
        """
        ...

    async def aclose(self) -> None:
        """Close the episode; closing twice is allowed."""
        ...


class ChainRunner(Protocol):
    """Executes chains through the gateway; satisfied by ``training.rollout``."""

    async def open(self, servers: Sequence[str], *, seed: int) -> ChainRun:
        """Open an episode of the servers, in which nothing fails on purpose and nothing is mixed in.

        Raises:
            TransportError: The gateway cannot be reached, or refuses.
            UnknownNameError: It serves no such server.
        """
        ...
