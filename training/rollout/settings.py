"""The section ``rollout`` of the settings."""

from pydantic import Field

from astra_mcp.types import FrozenModel
from training.rollout.limits import PlayLimits

__all__ = ["MAX_TURNS", "RolloutSettings"]

MAX_TURNS = 32
"""Of the assistant, and of the user. Source: ASTRA sec. 3.2.2."""


class RolloutSettings(FrozenModel):
    """How agents of models play; the agents that come with the product have bounds of their own."""

    max_turns: int = Field(default=MAX_TURNS, ge=1, le=MAX_TURNS)
    """Messages of a model in one episode."""
    max_seconds: float = Field(default=240.0, gt=0, allow_inf_nan=False)
    """Wall time of one episode."""
    max_completion_tokens: int | None = Field(default=None, ge=1)
    """Sum of what the model writes in one episode; None is without limit."""
    max_prompt_tokens: int | None = Field(default=None, ge=1)
    """Of what the model reads for one turn; None is without limit."""
    max_invalid_calls: int = Field(default=5, ge=1)
    """Calls in a row of tools that there are not, or with arguments that are no JSON object."""
    max_user_turns: int = Field(default=8, ge=1, le=MAX_TURNS)
    """Messages of a user who goes on speaking."""

    @property
    def limits(self) -> PlayLimits:
        """The limits of one episode."""
        return PlayLimits(
            turns=self.max_turns,
            seconds=self.max_seconds,
            completion_tokens=self.max_completion_tokens,
            prompt_tokens=self.max_prompt_tokens,
            invalid_calls=self.max_invalid_calls,
            user_turns=self.max_user_turns,
        )
