"""The section ``rollout`` of the settings."""

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["RolloutSettings"]


class RolloutSettings(BaseModel):
    """How agents play."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_turns: int = Field(default=32, ge=1, le=32)
    """Messages of a model in one episode."""
