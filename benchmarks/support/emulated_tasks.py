"""A registry of emulated servers and tasks of them, without a model that would have written any."""

import json
from pathlib import Path
from typing import Any

from astra_mcp.compose.synthesis.documents import WantedServers, read_documents
from astra_mcp.synthesis.trajectories.task import Task, TaskOrigin, task_id
from registry.documents.preparation import prepare_server
from registry.importers.detection import detect
from registry.intake.importing import import_documents
from registry.store.database import open_database
from registry.store.tasks import DatabaseTaskStore

from trajectory_model import query

__all__ = ["make_tasks"]

_TURNS = range(6, 15)


async def make_tasks(home: Path, num: int, *, servers: int) -> list[str]:
    """Fill the registry of a home with servers, which are emulated, and with tasks of two of them each.

    Args:
        home: Gets the registry.
        num: Of the tasks; they take 6 to 14 answers of ``trajectory_model``.
        servers: Their number.

    Returns:
        The ids of the tasks, in the order in which they are listed.
    """
    file = home / "documents.jsonl"
    file.write_text("\n".join(map(_document, range(servers))), encoding="utf-8")
    async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
        await import_documents(database, detect(file).read(file), prepare=prepare_server)
        there = await read_documents(database, WantedServers())
        names = sorted(there)
        tasks: list[Task] = []
        for number in range(num):
            chosen = (names[number % len(names)], names[(number + 1) % len(names)])
            asked = query(number, _TURNS[number % len(_TURNS)])
            tasks.append(
                Task(
                    id=task_id(chosen, asked),
                    servers=chosen,
                    versions={name: there[name].version for name in chosen},
                    origin=TaskOrigin.SERVER,
                    query=asked,
                    language="en",
                    writer="scripted",
                    judge="scripted",
                )
            )
        await DatabaseTaskStore(database).save("benchmark", tasks)
    return sorted(task.id for task in tasks)


def _document(number: int) -> str:
    """The documents of one server, as a row of a file."""
    ship = {"type": "object", "properties": {"ship": {"type": "string"}}, "required": ["ship"]}
    described: dict[str, tuple[str, dict[str, Any]]] = {
        "list_berths": ("List the berths.", {"type": "object", "properties": {}}),
        "book_berth": ("Book a berth for a ship.", ship),
        "find_ship": ("Tell in which berth a ship is.", ship),
    }
    tools = [
        {"name": f"{name}_{number}", "description": words, "parameters": parameters}
        for name, (words, parameters) in described.items()
    ]
    about = {
        "server_title": f"berths_{number}",
        "server_name": f"berths_{number}",
        "server_description": "The berths of a harbour: which are free, and bookings of them.",
        "domain": "logistics",
    }
    return json.dumps({"base_info": {"group_info": about, "tool_list": tools}, "features": {}})
