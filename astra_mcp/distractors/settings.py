"""The section ``distractors`` of the settings."""

from enum import StrEnum

from astra_mcp.types import FrozenModel

__all__ = ["DistractorSettings", "PoolKind"]


class PoolKind(StrEnum):
    """Where distractors are chosen from."""

    ENVIRONMENTS = "environments"
    """The tools of all environments, as in the paper."""
    REGISTRY = "registry"
    """Those of the registry's live servers."""
    ALL = "all"
    """Both."""


class DistractorSettings(FrozenModel):
    """Task-irrelevant tools."""

    pool: PoolKind = PoolKind.ENVIRONMENTS
