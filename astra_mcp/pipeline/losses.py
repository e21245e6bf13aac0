"""What got no further in a run: how much for each reason, and few examples, however long the run is."""

from dataclasses import dataclass, field

from astra_mcp.pipeline.item import Outcome

__all__ = ["Example", "Loss"]

_MAX_EXAMPLES = 3
_MAX_DETAIL = 600


@dataclass(frozen=True, slots=True, order=True)
class Example:
    """An item that got no further, and why."""

    item: str
    detail: str


@dataclass(slots=True)
class Loss:
    """Items of a stage that got no further for one reason."""

    count: int = 0
    examples: list[Example] = field(default_factory=list[Example])
    """Those with the least ids, so that the order of a run decides nothing."""

    def take(self, outcome: Outcome) -> None:
        """Count one."""
        self.count += 1
        detail, rest = outcome.detail[:_MAX_DETAIL], outcome.detail[_MAX_DETAIL:]
        found = Example(outcome.item, f"{detail} ..." if rest else detail)
        self.examples = sorted([*self.examples, found])[:_MAX_EXAMPLES]
