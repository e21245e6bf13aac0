"""The section ``rollout`` of the settings."""

from pydantic import Field

from astra_mcp.types import FrozenModel

__all__ = ["RolloutSettings"]


class RolloutSettings(FrozenModel):
    """How agents play."""

    max_turns: int = Field(default=32, ge=1, le=32)
    """Messages of a model in one episode."""
