"""What calls of models cost: tokens, time and money, added up for whoever asked."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from pydantic import BaseModel, ConfigDict

from astra_mcp.types import JsonObject

__all__ = ["COST_DIGITS", "Meter", "Usage", "metered", "note_usage"]

COST_DIGITS = 9
"""Of a cost in JSON: below that stands what adding floats up leaves."""


class Usage(BaseModel):
    """The cost of any number of calls."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: int = 0
    """Begun, whether answered, failed or cancelled; a retried call is one."""
    cached: int = 0
    """Calls that the cache answered; they cost nothing and count in nothing else."""
    retries: int = 0
    """Further attempts of these calls."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Sum of the times that calls took, not the time that passed."""
    cost: float = 0.0
    """In the currency of the configured prices; 0 where none are configured."""

    @property
    def tokens(self) -> int:
        """Of prompts and answers."""
        return self.prompt_tokens + self.completion_tokens

    def as_json(self) -> JsonObject:
        """The fields by which every ``--json`` tells of it."""
        return {
            "model_calls": self.calls,
            "cached_calls": self.cached,
            "tokens": self.tokens,
            "cost": round(self.cost, COST_DIGITS),
        }

    def __add__(self, other: "Usage") -> "Usage":
        """Add two costs up."""
        return Usage(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            retries=self.retries + other.retries,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            seconds=self.seconds + other.seconds,
            cost=self.cost + other.cost,
        )


class Meter:
    """Adds up what is used inside of a :func:`metered` block."""

    def __init__(self) -> None:
        self.usage = Usage()


_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def metered() -> Generator[Meter]:
    """Count the calls of models made in the block and in the tasks that it starts; blocks may nest."""
    meter = Meter()
    token = _meters.set((*_meters.get(), meter))
    try:
        yield meter
    finally:
        _meters.reset(token)


def note_usage(usage: Usage) -> None:
    """Add to every meter that is open here; called by the model layer alone."""
    for meter in _meters.get():
        meter.usage += usage
