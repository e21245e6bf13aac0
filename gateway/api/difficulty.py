"""What makes an episode harder than its source: irrelevant tools, and failures on purpose.

As an orchestrator asks for them, and as the gateway decided on them and wrote it down. Words alone, which
:mod:`gateway.api.protocol` is made of; knows neither episodes nor servers.
"""

from enum import StrEnum
from math import isfinite
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

__all__ = [
    "NO_FAILURES",
    "USUAL_KINDS",
    "DistractorMix",
    "DistractorRequest",
    "FailureKind",
    "FailureLaw",
    "FailureRequest",
    "LeftOutDistractor",
]


class FailureKind(StrEnum):
    """How an injected failure looks to the agent."""

    TIMEOUT = "timeout"
    """No answer came in time."""
    UNREACHABLE = "unreachable"
    """No connection came about, or it broke."""
    RATE_LIMITED = "rate_limited"
    """Too many requests: the service wants to be left alone for a while."""
    SERVER_ERROR = "server_error"
    """The service broke: an HTTP status of 500 and above."""


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DistractorRequest(_Wire):
    """Which task-irrelevant tools to mix in."""

    mode: Literal["none", "random", "banded"]
    k: int = Field(default=3, ge=1)
    """So many from each band of likeness at most; not used at random, where it is 5 to 9 tools in all."""


class FailureRequest(_Wire):
    """Which failures to inject."""

    rate: float = Field(ge=0, le=1, allow_inf_nan=False)
    """The share of calls that fail."""
    kinds: dict[str, float] | None = None
    """Weight of each kind, of whatever sum; a kind that is not named never happens. None: the usual ones."""
    delay: bool = False
    """Let the time pass that such a failure takes."""

    @field_validator("kinds")
    @classmethod
    def _can_be_drawn(cls, kinds: dict[str, float] | None) -> dict[str, float] | None:
        if kinds is None:
            return None
        known = ", ".join(FailureKind)
        unknown = [kind for kind in kinds if kind not in list(FailureKind)]
        if unknown:
            msg = f"there is no kind {unknown[0][:40]!r}: the kinds are {known}"
            raise ValueError(msg)
        if any(weight < 0 for weight in kinds.values()) or not isfinite(sum(kinds.values())):
            msg = "weights are finite numbers from 0"
            raise ValueError(msg)
        if sum(kinds.values()) <= 0:
            msg = f"the weights come to nothing: give one of {known} more than 0"
            raise ValueError(msg)
        return kinds


class FailureLaw(_Wire):
    """By which law the calls of an episode fail: the same for all its tools."""

    rate: float
    """The share of calls that fail."""
    kinds: dict[FailureKind, float]
    """The share that each kind has in the failures; all kinds, 1 in sum."""
    delay: bool
    """True where a failure takes its time."""


USUAL_KINDS = {
    FailureKind.TIMEOUT: 0.4,
    FailureKind.UNREACHABLE: 0.3,
    FailureKind.RATE_LIMITED: 0.15,
    FailureKind.SERVER_ERROR: 0.15,
}
"""The paper names the first two, so that they are the most frequent ones."""
NO_FAILURES = FailureLaw(rate=0.0, kinds=USUAL_KINDS, delay=False)


class LeftOutDistractor(_Wire):
    """A distractor that was chosen and cannot be shown."""

    server: str
    tool: str
    """Its own name."""
    band: str | None
    reason: str


class DistractorMix(_Wire):
    """How an episode came to its distractors."""

    mode: Literal["random", "banded"]
    k: int
    """As asked for."""
    shortfall: dict[str, int]
    """How many fewer than wanted there are, by band (``random`` without bands); those left out included."""
    left_out: tuple[LeftOutDistractor, ...]
