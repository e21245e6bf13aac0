"""The section ``emulators`` of the settings."""

from pydantic import BaseModel, ConfigDict, Field

from astra_mcp.types import EmulatorKind

__all__ = ["EmulatorSettings"]


class EmulatorSettings(BaseModel):
    """The servers of which the registry has documents only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    publish: bool = True
    """Serve every kept one."""
    crawled: bool = False
    """Also those whose tools were read off a page."""
    kind: EmulatorKind = EmulatorKind.OFFLINE
    """Who answers in their name: ``offline``, or the ``model`` of ``models.emulator``."""
    distractors: EmulatorKind = EmulatorKind.OFFLINE
    """Who answers in the name of their tools where these are distractors."""
    hint_share: float = Field(default=0.0, ge=0, le=1)
    """In this share of the episodes with a prompt, the model is shown it."""
