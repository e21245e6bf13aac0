"""What the doctor says of one thing that it looked at."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Check", "State"]


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    """Works, with less than there could be."""
    MISSING = "missing"
    """Required, and not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    detail: str
    remedy: str = ""
