"""The tasks of the registry as the gateway knows them; loaded where the registry is open anyway."""

from collections.abc import Sequence
from typing import Final

from astra_mcp.synthesis.trajectories.task import Task
from gateway.api.seams import TaskInfo
from registry.store.database import Database
from registry.store.tasks import DatabaseTaskStore

__all__ = ["RegistryTasks"]

_NO_RUN: Final = ""


class RegistryTasks:
    """Satisfies the gateway's ``TaskDirectory``."""

    def __init__(self, database: Database) -> None:
        """Read the tasks of a database."""
        self._store = DatabaseTaskStore(database)

    async def find(self, id: str) -> TaskInfo | None:
        """One task, by its id; None where there is none."""
        task = (await self._store.find([id])).get(id)
        return None if task is None else _info(_NO_RUN, task)

    async def page(self, *, run: str | None, after: str, limit: int) -> Sequence[TaskInfo]:
        """List tasks, by their ids."""
        found = await self._store.page(run=run, after=after, limit=limit)
        return [_info(name, task) for name, task in found]


def _info(run: str, task: Task) -> TaskInfo:
    return TaskInfo(
        id=task.id,
        run=run,
        servers=task.servers,
        prompt=task.query,
        versions=task.versions,
        origin=task.origin,
        axis=task.axis,
        domain=task.domain,
        language=task.language,
    )
