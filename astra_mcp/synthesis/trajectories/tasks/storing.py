"""The last stage: what passed all others is kept, under an id of its content."""

from dataclasses import dataclass, field
from secrets import token_hex

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import Task, TaskDraft, TaskStore, task_id
from astra_mcp.synthesis.trajectories.tasks.shown_tools import servers_of

__all__ = ["STORE", "Storing"]

STORE = "store"
"""Name of the stage."""


@dataclass(frozen=True, slots=True)
class Storing:
    """Gives tasks to a store."""

    store: TaskStore
    run_name: str
    documents: Documents = field(repr=False)
    writer: str
    """The model of the writing role, as a task names it."""
    judge: str
    opened: str = field(default_factory=lambda: token_hex(8))
    """Another in each run, so that what was taken out of the store meanwhile is kept again."""
    name = STORE
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of this run: keeping a task twice changes nothing."""
        return self.opened

    async def run(self, item: Item[TaskDraft]) -> Made[Task] | Rejected:
        """Keep one task.

        Raises:
            RegistryError: The store failed; the item fails.
        """
        draft = item.value
        domains = {server.domain for server in servers_of(draft, self.documents)}
        task = Task(
            **dict(draft),
            id=task_id(draft.servers, draft.query),
            domain=domains.pop() if len(domains) == 1 else None,
            writer=self.writer,
            judge=self.judge,
        )
        await self.store.save(self.run_name, [task])
        return Made.of(Item(id=item.id, value=task))
