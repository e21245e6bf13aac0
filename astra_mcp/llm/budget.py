"""How much may be spent on calls of models, by all roles together."""

from astra_mcp.errors import BudgetSpentError

__all__ = ["Budget"]


class Budget:
    """Counts calls and their cost, and refuses further ones when either is spent.

    A call is refused before it begins. Those that are under way come to their end, so the cost may go
    beyond its limit by theirs; the number of calls never does.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        """Allow so much.

        Args:
            max_calls: Of models, without those that a cache answers; None is without limit.
            max_cost: In the currency of the configured prices; None is without limit.
        """
        self.max_calls = max_calls
        self.max_cost = max_cost
        self.calls = 0
        self.cost = 0.0
        self._has_unknown_cost = False

    def begin(self) -> None:
        """Count a call that is about to be made.

        Raises:
            BudgetSpentError: It may not be made.
        """
        if self.max_calls is not None and self.calls >= self.max_calls:
            msg = f"the budget of {self.max_calls} calls is spent"
            raise BudgetSpentError(msg)
        if self.max_cost is not None:
            if self._has_unknown_cost:
                msg = (
                    f"an endpoint does not say how many tokens it counts, so a budget of"
                    f" {self.max_cost:g} cannot be kept: limit the number of calls instead"
                )
                raise BudgetSpentError(msg)
            if self.cost >= self.max_cost:
                msg = f"the budget of {self.max_cost:g} is spent ({self.cost:g})"
                raise BudgetSpentError(msg)
        self.calls += 1

    def charge(self, cost: float | None) -> None:
        """Add the cost of a call that was answered; None where it cannot be known."""
        if cost is None:
            self._has_unknown_cost = True
        else:
            self.cost += cost
