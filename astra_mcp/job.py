"""The job of an episode: what it is scored on."""

from pydantic import Field

from astra_mcp.types import FrozenModel

__all__ = ["JobItem"]


class JobItem(FrozenModel):
    """One sub-task that an episode is scored on. Source: ASTRA sec. 3.2.2, eq. (29)."""

    id: int
    answer: str
    tools: tuple[str, ...]
    """Names of the gold tools: a matching result of any of them solves the sub-task."""
    modifying: dict[str, tuple[str, ...]] = Field(
        default_factory=dict[str, tuple[str, ...]], exclude_if=lambda names: not names
    )
    """By gold tool, the arguments that all its gold calls mark as shaping the result: to choose one of
    their values tells no answer (``outer.inner`` names a member of an object)."""
