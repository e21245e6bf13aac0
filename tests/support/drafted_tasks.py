"""Documents of two small servers, tasks of theirs, and a store of tasks in memory."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, ExecutedCall, ToolRef
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents, ServerItem
from astra_mcp.synthesis.trajectories.task import Task, TaskDraft, TaskOrigin, task_id
from astra_mcp.types import JsonObject, ToolSpec

__all__ = [
    "FERRIES",
    "QUERY",
    "ROOMS",
    "FakeTaskStore",
    "called",
    "documents",
    "draft",
    "item_of",
    "kept_task",
    "server",
    "tool",
]


def tool(name: str, *required: str, description: str = "", **properties: Any) -> ToolSpec:
    """A tool whose arguments are texts, but for those that are said otherwise."""
    declared: dict[str, Any] = {**{name: {"type": "string"} for name in required}, **properties}
    schema: JsonObject = {"type": "object", "properties": declared, "required": [*required]}
    return ToolSpec(name=name, description=description or f"Does {name}.", input_schema=schema)


def server(name: str, *tools: ToolSpec, **more: Any) -> DocumentedServer:
    """A server of some tools."""
    told: dict[str, Any] = {"language": "en", "version": f"{name}-1", "domain": "travel", **more}
    return DocumentedServer(name=name, tools=tools, **told)


FERRIES = server(
    "ferries",
    tool("find_ferry", "island", date={"type": "string"}, deck={"enum": ["upper", "lower"]}),
    tool("book_ferry", "ferry_id", description="Books a place on a ferry."),
)
ROOMS = server("rooms", tool("search", "town"), tool("reserveRoom", "room_id"), domain="hotels")


def documents(*more: DocumentedServer) -> Documents:
    """Those of two servers, and of more; a later one of a name takes an earlier one's place."""
    return {one.name: one for one in (FERRIES, ROOMS, *more)}


def item_of(one: DocumentedServer) -> ServerItem:
    """A server as the source of a run."""
    return ServerItem(name=one.name, version=one.version)


QUERY = (
    "Which ferry goes to Hiddensee on 3 May 2025, and can you book me a place for passenger AX-117?"
)


def draft(query: str = QUERY, **more: Any) -> TaskDraft:
    """A task of a chain of the ferries."""
    steps = (
        ToolRef(server="ferries", tool="find_ferry"),
        ToolRef(server="ferries", tool="book_ferry"),
    )
    told: dict[str, Any] = {
        "servers": ("ferries",),
        "versions": {"ferries": "ferries-1"},
        "origin": TaskOrigin.CHAIN,
        "language": "en",
        "chain": Chain(steps=steps, origin=ChainOrigin.GRAPH),
        **more,
    }
    return TaskDraft(query=query, **told)


def called(name: str, **arguments: Any) -> ExecutedCall:
    """A call of a ferries' tool as it was executed."""
    step = ToolRef(server="ferries", tool=name)
    return ExecutedCall(step=step, arguments=arguments, result="{}", is_error=False)


def kept_task(query: str, **more: Any) -> Task:
    """A task as it is kept."""
    one = draft(query, **more)
    return Task(**dict(one), id=task_id(one.servers, query), writer="w", judge="j")


class FakeTaskStore:
    """Keeps tasks in memory; satisfies ``TaskStore``."""

    def __init__(self) -> None:
        self.saved: list[tuple[str, Task]] = []
        """Run and task of each save, in order."""

    async def save(self, run: str, tasks: Sequence[Task]) -> None:
        """Keep tasks."""
        self.saved += [(run, task) for task in tasks]

    async def retain(self, run: str, ids: Collection[str], servers: Collection[str]) -> None:
        """Remove the others of a run and these servers."""
        self.saved = [
            (name, task)
            for name, task in self.saved
            if name != run or task.id in ids or not set(servers).issuperset(task.servers)
        ]

    async def find(self, ids: Sequence[str]) -> Mapping[str, Task]:
        """Find tasks."""
        return {task.id: task for _, task in self.saved if task.id in ids}
