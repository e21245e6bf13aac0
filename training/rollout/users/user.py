"""What a user is, what a user wants, and how one ends a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from astra_mcp.errors import AstraError
from astra_mcp.synthesis.trajectories.chain import ExecutedCall
from astra_mcp.trajectory import AssistantMessage, UserMessage
from astra_mcp.types import FrozenModel

__all__ = ["Goal", "Spoken", "User", "UserError", "UserStop", "Users"]

Spoken = UserMessage | AssistantMessage
"""What a person hears: the agent's words without its thoughts and calls, and one's own."""


class UserError(AstraError):
    """The user has no next word, for a reason that is none of the agent's; the message says why."""


class Goal(FrozenModel):
    """What a user wants. It is for the user alone: the agent is told what the user says, and no more."""

    request: str
    """In words, such as the query of a task."""
    calls: tuple[ExecutedCall, ...] = ()
    """By which the request was fulfilled once, where that is known."""
    persona: str | None = None
    """Who the user is, and how that person speaks; None leaves it to the user's seed."""
    may_change: bool = True
    """Whether the user may change one detail underway; not where a reward is for the request as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStop:
    """There is nothing more to say."""

    reason: str
    """In the user's words."""


class User(Protocol):
    """Somebody who speaks to one agent in one episode."""

    @property
    def name(self) -> str:
        """What the trajectory calls such a user."""
        ...

    @property
    def model(self) -> str | None:
        """The model that speaks; None where it is none."""
        ...

    @property
    def persona(self) -> str | None:
        """How the user speaks, in words."""
        ...

    async def next(self, messages: Sequence[Spoken]) -> str | UserStop:
        """Say something, first of all to begin with.

        Args:
            messages: The conversation so far; empty at its beginning.

        Raises:
            UserError: Nothing can be said.
        """
        ...


class Users(Protocol):
    """Makes the user of each episode."""

    def meet(self, goal: Goal, *, seed: int) -> User:
        """Make a user who wants this; the seed decides every random choice."""
        ...
