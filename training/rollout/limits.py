"""What bounds one episode of a model's agent, and how much of it is used up.

An agent stops at the first limit that it reaches. The turn in which that happens is whole: each of its calls
is answered, if only by the word that time is over.
"""

import math
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

import anyio

from astra_mcp.errors import AstraError
from astra_mcp.llm.usage import Meter
from astra_mcp.trajectory import StopReason

__all__ = ["NO_LIMITS", "Allowance", "LimitReachedError", "PlayLimits", "UntoldTokensError"]


class LimitReachedError(AstraError):
    """The agent has to stop: a limit of the episode is reached."""

    def __init__(self, stop: StopReason, message: str) -> None:
        super().__init__(message)
        self.stop = stop


class UntoldTokensError(AstraError):
    """The endpoint does not say how many tokens it counts, so a limit of tokens cannot be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayLimits:
    """How far an agent may go in one episode; None is without limit."""

    turns: int | None = None
    """Messages of the agent."""
    seconds: float | None = None
    """Wall time."""
    completion_tokens: int | None = None
    """Sum of what the agent's model wrote."""
    prompt_tokens: int | None = None
    """Of what the agent's model read for one turn."""
    invalid_calls: int | None = None
    """Calls in a row of tools that there are not, or with arguments that are no JSON object."""
    user_turns: int | None = None
    """Messages of a user who goes on speaking, the first one included."""
    when_solved: bool = False
    """End with the turn in which the last sub-task is solved; the agent is not told before."""


NO_LIMITS = PlayLimits()
_FREE: AbstractContextManager[object, bool] = suppress()  # noqa: B022 - it ends nothing


class Allowance:
    """What is left of the limits in one episode."""

    def __init__(self, limits: PlayLimits = NO_LIMITS, meter: Meter | None = None) -> None:
        """Begin with nothing used up; time runs from :meth:`running` on.

        Args:
            limits: Of the episode.
            meter: Counts what the agent's model takes.
        """
        self._limits = limits
        self._meter = meter or Meter()
        self._scope = anyio.CancelScope()
        self._num_turns = 0
        self._num_invalid = self._most_invalid = 0
        self._read = self._read_before = 0
        self.deadline = math.inf
        """When time is over, by the clock of the event loop."""

    @contextmanager
    def running(self) -> Generator[None]:
        """Let time run in the block, and end the block when it is over."""
        with self._scope:
            if self._limits.seconds is not None:
                self.deadline = anyio.current_time() + self._limits.seconds
                self._scope.deadline = self.deadline
            yield

    @contextmanager
    def unhurried(self) -> Generator[None]:
        """Let the block come to its own end, which has to keep to the deadline by itself."""
        if self.deadline == math.inf:
            yield
            return
        self._scope.deadline = math.inf
        try:
            yield
        finally:
            self._scope.deadline = self.deadline

    def bounding(self) -> AbstractContextManager[object, bool]:
        """End a block of the unhurried when time is over; free where time is not bounded."""
        if self.deadline == math.inf:
            return _FREE
        return anyio.CancelScope(deadline=self.deadline)

    def count_turn(self, are_invalid: Sequence[bool] = ()) -> None:
        """Count a turn of the agent.

        Args:
            are_invalid: For each of its calls in order, whether it could reach no tool.
        """
        self._num_turns += 1
        for is_invalid in are_invalid:
            self._num_invalid = self._num_invalid + 1 if is_invalid else 0
            self._most_invalid = max(self._most_invalid, self._num_invalid)
        so_far = self._meter.usage.prompt_tokens
        self._read = so_far - self._read_before
        self._read_before = so_far

    def check(self) -> None:
        """See whether the agent may take a further turn.

        Raises:
            LimitReachedError: It may not.
            UntoldTokensError: Nobody can say.
        """
        limits = self._limits
        if _is_reached(self._most_invalid, limits.invalid_calls):
            msg = f"{self._most_invalid} calls in a row could reach no tool"
            raise LimitReachedError(StopReason.INVALID_CALLS, msg)
        self._check_tokens()
        if _is_reached(self._num_turns, limits.turns):
            msg = f"the agent has taken its {self._num_turns} turns"
            raise LimitReachedError(StopReason.TURNS, msg)
        if self.deadline < math.inf and anyio.current_time() >= self.deadline:
            raise LimitReachedError(StopReason.TIME, f"the {limits.seconds:g} s are over")

    def check_user_turns(self, num_turns: int) -> None:
        """Refuse a further message of the user, who has sent so many.

        Raises:
            LimitReachedError: They were as many as allowed.
        """
        if _is_reached(num_turns, self._limits.user_turns):
            msg = f"the user has taken the {num_turns} turns"
            raise LimitReachedError(StopReason.USER_TURNS, msg)

    def _check_tokens(self) -> None:
        limits, usage = self._limits, self._meter.usage
        if limits.completion_tokens is None and limits.prompt_tokens is None:
            return
        if usage.untold:
            raise UntoldTokensError(
                "the endpoint does not say how many tokens it counts, so rollout.max_completion_tokens and"
                " rollout.max_prompt_tokens cannot be kept: leave them out"
            )
        if _is_reached(usage.completion_tokens, limits.completion_tokens):
            msg = f"the model has written {usage.completion_tokens} tokens"
            raise LimitReachedError(StopReason.TOKENS, msg)
        if _is_reached(self._read, limits.prompt_tokens):
            msg = f"the model read {self._read} tokens for one turn"
            raise LimitReachedError(StopReason.TOKENS, msg)


def _is_reached(used: int, limit: int | None) -> bool:
    return limit is not None and used >= limit
