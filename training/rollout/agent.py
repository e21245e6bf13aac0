"""What an agent sees of an episode, and what an agent is.

An agent takes turns: words, tool calls, or both. The view runs the calls and keeps the messages, so
every agent leaves the same kind of trajectory. Knows neither the wire nor a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from astra_mcp.errors import AstraError
from astra_mcp.trajectory import AgentInfo, Message, StopReason
from astra_mcp.types import JsonObject, ToolResult, ToolSpec

__all__ = ["UNREADABLE", "Agent", "AgentError", "Answered", "CallRequest", "EpisodeView"]

UNREADABLE = "unreadable"
"""Name by which a call is recorded that could not be read."""


class AgentError(AstraError):
    """The agent cannot play this episode; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A tool call that an agent makes."""

    name: str
    arguments: str
    """JSON text of an object. Anything else is answered with an error, reaches no tool, and counts."""
    id: str = ""
    """The agent's own name for it; by default one is made."""
    fault: str = ""
    """Why the call could not be read, if so: it is answered by that, reaches no tool, and counts."""

    @classmethod
    def of(cls, name: str, arguments: JsonObject) -> "CallRequest":
        """Make one from values."""
        return cls(name=name, arguments=orjson.dumps(arguments).decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A call's outcome as the agent may see it."""

    text: str
    result: ToolResult | None
    """None where the episode lists no such tool, or had ended."""


class EpisodeView(Protocol):
    """An episode as its agent sees it: no gold, no reward, no control plane."""

    @property
    def environment(self) -> str | None:
        """Name of the environment that is played, where it is one."""
        ...

    @property
    def question(self) -> str | None:
        """Id of the environment's further question that is asked; None is the main one."""
        ...

    @property
    def seed(self) -> int:
        """Decides every random choice of the agent."""
        ...

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools in the order in which they are shown."""
        ...

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, beginning with standing instructions, if any, and the user's request."""
        ...

    async def take_turn(
        self,
        calls: Sequence[CallRequest],
        *,
        content: str | None = None,
        reasoning: str | None = None,
    ) -> tuple[Answered, ...]:
        """Make one or several calls at once; they take effect in the order given.

        Thoughts that stand in the content, between tags such as ``<think>``, are put to the reasoning.

        Raises:
            EpisodeEndedError: The episode takes no more calls.
            LimitReachedError: The agent has to stop; every further turn raises it too.
            TransportError: The gateway cannot be reached.
        """
        ...

    def answer(self, content: str | None, *, reasoning: str | None = None) -> None:
        """Say something to the user, and call nothing. Thoughts in the content are put to the reasoning.

        Raises:
            LimitReachedError: The agent has to stop, and was told so before.
        """
        ...

    async def hear(self) -> str | None:
        """Hear what the user says to an answer; it is the last message then. None: nothing more comes.

        An agent that does not ask plays one turn of the user, and cannot play an episode with several.

        Raises:
            LimitReachedError: The agent, or the user, has no turn left.
            UserError: The user failed.
        """
        ...


class Agent(Protocol):
    """A policy. One object may play many episodes at once."""

    @property
    def info(self) -> AgentInfo:
        """What the trajectory says about it."""
        ...

    async def play(self, episode: EpisodeView) -> StopReason:
        """Play one episode to its end.

        Raises:
            AgentError: The agent cannot play this episode.
            ModelError: The agent's model failed.
            EpisodeEndedError: The episode ended first.
            LimitReachedError: A limit of the episode is reached.
            TransportError: The gateway cannot be reached.
            UserError: The user failed.
        """
        ...
