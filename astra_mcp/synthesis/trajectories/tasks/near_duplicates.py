"""Of tasks that ask nearly the same, whatever their servers and languages, the first one stays."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.duplicates import SourceOrder
from astra_mcp.synthesis.trajectories.asking import stage_version
from astra_mcp.synthesis.trajectories.task import TaskDraft

__all__ = ["DISTINCT", "DistinctTasks", "order_of_tasks"]

DISTINCT = "near_duplicate"
"""Name of the stage."""
_WRITTEN = ("variation", "language", "intent", "score")
"""The stages behind the one that writes variations: each leaves a task as it asks."""


def order_of_tasks(leads: Iterable[str], *, window: int, ends: Collection[str] = ()) -> SourceOrder:
    """Make the order in which the tasks of a run are compared; every run that leads there is heard by it.

    Args:
        leads: Names of the stages that tasks go through before they are compared.
        window: How many servers may be under way before the tasks of the first of them are decided. The stage
            needs as many workers as there may be tasks of so many servers, and time to wait for those before.
        ends: Those of ``leads`` whose outputs end a run and lead to items of another one.
    """
    return SourceOrder(leads, DISTINCT, member="query", window=window, ends=ends, written=_WRITTEN)


@dataclass(frozen=True, slots=True)
class DistinctTasks:
    """Lets tasks through that ask what none before them asked."""

    order: SourceOrder
    name = DISTINCT
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of the rules, and of this run."""
        return stage_version(rules="3", opened=self.order.opened)

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Compare one, once all before it are decided.

        Raises:
            UndecidedError: One before it failed or was not begun, and could keep it out.
        """
        await self.order.turn(item.id)
        alike = self.order.find(item.id, item.value.query)
        if alike is not None:
            return Rejected("near_duplicate", f"it asks nearly what {alike} asks")
        return Made.of(item)
