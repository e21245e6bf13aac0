"""What calls of models cost, added up for whoever asked, and how much may be spent by all roles together."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from astra_mcp.errors import BudgetSpentError
from astra_mcp.types import FrozenModel, JsonObject

__all__ = ["COST_DIGITS", "Budget", "Meter", "Usage", "metered", "note_usage"]

COST_DIGITS = 9
"""Of a cost in JSON: below that stands what adding floats up leaves."""


class Budget:
    """Counts calls and their cost, and refuses further ones when either is spent.

    A call is refused before it begins. Those that are under way come to their end, so the cost may go
    beyond its limit by theirs; the number of calls never does.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
    ) -> None:
        """Allow so much.

        Args:
            max_calls: Of models, without those that a cache answers; None is without limit.
            max_cost: In the currency of the configured prices; None is without limit.
            max_tokens: Of prompts and answers, as endpoints count them; None is without limit.
        """
        self.max_calls = max_calls
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.calls = 0
        self.cost = 0.0
        self.tokens = 0
        self._has_unknown_cost = False
        self._has_unknown_tokens = False

    def begin(self) -> None:
        """Count a call that is about to be made.

        Raises:
            BudgetSpentError: It may not be made.
        """
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetSpentError(f"the budget of {self.max_calls} calls is spent")
        if self.max_cost is not None:
            if self._has_unknown_cost:
                raise BudgetSpentError(
                    f"an endpoint does not say how many tokens it counts, so a budget of"
                    f" {self.max_cost:g} cannot be kept: limit the number of calls instead"
                )
            if self.cost >= self.max_cost:
                raise BudgetSpentError(f"the budget of {self.max_cost:g} is spent ({self.cost:g})")
        if self.max_tokens is not None:
            if self._has_unknown_tokens:
                raise BudgetSpentError(
                    f"an endpoint does not say how many tokens it counts, so a budget of"
                    f" {self.max_tokens} tokens cannot be kept: limit the number of calls instead"
                )
            if self.tokens >= self.max_tokens:
                raise BudgetSpentError(f"the budget of {self.max_tokens} tokens is spent")
        self.calls += 1

    def charge(self, cost: float | None, tokens: int | None) -> None:
        """Add what a call that was answered took; None where it cannot be known."""
        if tokens is None:
            self._has_unknown_tokens = True
        else:
            self.tokens += tokens
        if cost is None:
            self._has_unknown_cost = True
        else:
            self.cost += cost


class Usage(FrozenModel):
    """The cost of any number of calls."""

    calls: int = 0
    """Begun, whether answered, failed or cancelled; a retried call is one."""
    cached: int = 0
    """Calls that the cache answered; they cost nothing and count in nothing else."""
    retries: int = 0
    """Further attempts of these calls."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompts, what the endpoint had in a cache of its own."""
    untold: int = 0
    """Answered calls of which the endpoint does not say how many tokens prompt and answer had."""
    untold_cached: int = 0
    """Answered calls of which it does not say how many tokens were cached."""
    unpriced: int = 0
    """Answered calls whose cost cannot be known."""
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
        return Usage(**{name: value + getattr(other, name) for name, value in self})


class Meter:
    """Adds up what is used inside of a :func:`metered` block."""

    def __init__(self) -> None:
        self.usage = Usage()


_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def metered(*, alone: bool = False) -> Generator[Meter]:
    """Count the calls of models made in the block and in the tasks that it starts; blocks may nest.

    Args:
        alone: The blocks around it do not count them: they are somebody else's.
    """
    meter = Meter()
    token = _meters.set((meter,) if alone else (*_meters.get(), meter))
    try:
        yield meter
    finally:
        _meters.reset(token)


def note_usage(usage: Usage) -> None:
    """Add to every meter that is open here; called by the model layer alone."""
    for meter in _meters.get():
        meter.usage += usage
