"""Which requests fail, and how: drawn by content, so that it depends neither on time nor on concurrency."""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from astra_mcp.seeds import derive_seed
from astra_mcp.types import FrozenModel

__all__ = ["OF_MESSAGES", "WITHOUT_ANSWER", "FaultKind", "FaultPlan"]


class FaultKind(StrEnum):
    """How a request fails."""

    RATE_LIMITED = "rate_limited"
    """429 with ``Retry-After`` in seconds."""
    RATE_LIMITED_UNTIL = "rate_limited_until"
    """429 with ``Retry-After`` as an HTTP date."""
    SERVER_ERROR = "server_error"
    """500."""
    KEY_ECHO = "key_echo"
    """401, whose message repeats the client's key."""
    HANG = "hang"
    """Nothing comes until the client gives up."""
    TRICKLE = "trickle"
    """A success whose body never begins: blanks come for ever, one by one."""
    SLOW = "slow"
    """A good answer in pieces with pauses; the one kind that spoils nothing."""
    CUT_BODY = "cut_body"
    """The connection is closed in the middle of the body."""
    CUT_ANSWER = "cut_answer"
    """The model's text stops in the middle, with ``finish_reason`` ``length``."""
    NOT_JSON_BODY = "not_json_body"
    """A success with a page of HTML."""
    NOT_JSON_CONTENT = "not_json_content"
    """A message of prose, whatever was asked for."""
    NO_CHOICES = "no_choices"
    """A success with an empty list of choices, or of vectors."""


WITHOUT_ANSWER = frozenset(
    {
        FaultKind.RATE_LIMITED,
        FaultKind.RATE_LIMITED_UNTIL,
        FaultKind.SERVER_ERROR,
        FaultKind.KEY_ECHO,
        FaultKind.HANG,
        FaultKind.TRICKLE,
        FaultKind.NOT_JSON_BODY,
    }
)
"""The model is not asked; the others need an answer to spoil."""
OF_MESSAGES = frozenset({FaultKind.CUT_ANSWER, FaultKind.NOT_JSON_CONTENT})
"""Only an answer in words can fail like this; embeddings cannot."""
_DRAWS = 2**64


class FaultPlan(FrozenModel):
    """What share of the requests fails in which way."""

    seed: int = 0
    shares: dict[FaultKind, float]
    """Of all requests, by kind; the rest is answered."""
    retry_after_seconds: int = Field(default=1, ge=0)
    """A date is one second later at the most, since dates have no fractions."""
    pause_seconds: float = Field(default=0.05, gt=0)
    """Between two pieces of a slow or trickling body."""

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if any(share < 0 for share in self.shares.values()) or sum(self.shares.values()) > 1:
            raise ValueError("shares must be at least 0 and at most 1 together")
        return self

    @classmethod
    def evenly(
        cls, share: float, kinds: Iterable[FaultKind] = tuple(FaultKind), *, seed: int = 0
    ) -> "FaultPlan":
        """Divide a share among kinds.

        Args:
            share: Of all requests.
            kinds: All by default.
            seed: Another one makes other requests fail.
        """
        chosen = tuple(kinds)
        return cls(seed=seed, shares=dict.fromkeys(chosen, share / len(chosen)))

    def draw(
        self, request_id: str, occurrence: int, *, never: Collection[FaultKind] = ()
    ) -> FaultKind | None:
        """Draw the fault of the n-th request with a content.

        Args:
            request_id: Names the content.
            occurrence: 0 for the first request, 1 for its repetition, and so on.
            never: Kinds that this sort of request cannot fail in; it is answered instead.
        """
        point = derive_seed(self.seed, "faults", request_id, occurrence) / _DRAWS
        for kind in FaultKind:
            point -= self.shares.get(kind, 0.0)
            if point < 0:
                return None if kind in never else kind
        return None
