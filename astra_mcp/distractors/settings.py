"""The section ``distractors`` of the settings."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

__all__ = ["DistractorSettings", "PoolKind"]


class PoolKind(StrEnum):
    """Where distractors are chosen from."""

    ENVIRONMENTS = "environments"
    """The tools of all environments, as in the paper."""
    REGISTRY = "registry"
    """Those of the registry's live servers."""
    ALL = "all"
    """Both."""


class DistractorSettings(BaseModel):
    """Task-irrelevant tools."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pool: PoolKind = PoolKind.ENVIRONMENTS
