"""What a run of task synthesis tells beside its yield: the tasks that it kept, and examples of what it lost.

Hears the events of a run, so outcomes of earlier runs that are recalled count as those of this one.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from astra_mcp.pipeline import Given, ItemStatus, Loss, Outcome, Progress, Settled
from astra_mcp.synthesis.trajectories.task import Task
from astra_mcp.types import JsonObject

__all__ = ["CROSS_SERVER", "TaskStatistics"]

_LAST = "store"
CROSS_SERVER = "cross-server-"
"""How ids of chains over servers begin."""


class TaskStatistics:
    """Hears a run and adds up."""

    def __init__(self) -> None:
        self.rejected: dict[tuple[str, str], Loss] = {}
        """By stage and reason."""
        self.failed: dict[tuple[str, str], Loss] = {}
        """By stage and kind of failure."""
        self.num_cross_server = 0
        """Chains over servers that the documents gave."""
        self._tasks: dict[str, Task] = {}

    @property
    def tasks(self) -> Sequence[Task]:
        """Those that were kept, by id."""
        return [self._tasks[id] for id in sorted(self._tasks)]

    def hear(self, event: Progress) -> None:
        """Take an event of the run."""
        if isinstance(event, Given) and event.item.startswith(CROSS_SERVER):
            self.num_cross_server += 1
        if not isinstance(event, Settled):
            return
        stage, outcome = event.stage, event.outcome
        match outcome.status:
            case ItemStatus.REJECTED:
                self.rejected.setdefault((stage, outcome.reason), Loss()).take(outcome)
            case ItemStatus.FAILED:
                self.failed.setdefault((stage, outcome.reason), Loss()).take(outcome)
            case ItemStatus.FINISHED if stage == _LAST:
                self._keep(outcome)
            case ItemStatus.FINISHED:
                pass

    def counts(self, of: Callable[[Task], str]) -> list[tuple[str, int]]:
        """Count the kept tasks by what they are, the most frequent first."""
        found = Counter(of(task) for task in self._tasks.values())
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        return {
            "tasks": {
                "by_origin": dict(self.counts(lambda task: task.origin)),
                "by_axis": dict(self.counts(lambda task: task.axis)),
                "by_language": dict(self.counts(lambda task: task.language or "unknown")),
            }
        }

    def _keep(self, outcome: Outcome) -> None:
        for output in outcome.outputs:
            task = Task.model_validate(output.value)
            self._tasks[task.id] = task
