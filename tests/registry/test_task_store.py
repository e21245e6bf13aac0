"""The store of tasks, and the episodes that the gateway opens of what it keeps."""

from pathlib import Path

import pytest

from astra_mcp.compose.tasks import RegistryTasks
from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, ToolRef
from astra_mcp.synthesis.trajectories.task import Task, TaskOrigin, TaskStore, task_id
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, open_test_gateway
from gateway.api.client import RefusedError
from gateway.api.wire import EpisodeRequest, SourceTask
from registry.store.database import Database
from registry.store.tasks import DatabaseTaskStore


def a_task(query: str, server: str = "shelf", version: str = "v1") -> Task:
    return Task(
        id=task_id([server], query),
        servers=(server,),
        versions={server: version},
        origin=TaskOrigin.CHAIN,
        query=query,
        language="en",
        chain=Chain(steps=(ToolRef(server=server, tool="find"),), origin=ChainOrigin.GRAPH),
        domain="education",
        writer="writer",
        judge="judge",
    )


def a_server(name: str = "shelf") -> InMemoryServer:
    def find(title: str) -> str:
        """Find a book."""
        return f"{title} stands on shelf 4"

    return InMemoryServer(name, find)


@pytest.mark.both_databases
async def test_a_kept_task_is_found_whole_and_an_unknown_one_is_left_out(
    database: Database,
) -> None:
    store: TaskStore = DatabaseTaskStore(database)
    task = a_task("在哪里可以找到《红楼梦》")
    await store.save("run", [task])
    assert await store.find([task.id, "task-0000000000000000"]) == {task.id: task}


@pytest.mark.both_databases
async def test_pages_list_every_task_once_whichever_runs_made_it(database: Database) -> None:
    store = DatabaseTaskStore(database)
    tasks = sorted((a_task(f"Where is book {n}?") for n in range(5)), key=lambda task: task.id)
    await store.save("second", tasks)
    await store.save("first", tasks[1:3])
    await store.save("first", tasks[1:3])
    pages = [await store.page(run=None, after="", limit=3)]
    pages.append(await store.page(run=None, after=pages[0][-1][1].id, limit=3))
    assert [task.id for page in pages for _, task in page] == [task.id for task in tasks]
    assert [run for run, _ in pages[0]] == ["second", "first", "first"]
    assert len(await store.page(run="first", after="", limit=10)) == 2


@pytest.mark.both_databases
async def test_a_run_leaves_those_of_its_own_tasks_alone_that_it_retains(
    database: Database,
) -> None:
    store = DatabaseTaskStore(database)
    tasks = [a_task(f"Where is book {n}?") for n in range(12)]
    await store.save("r", tasks)
    await store.save("another", tasks[:2])
    assert len(await store.ids("r")) == len(tasks)
    elsewhere = a_task("Where is the wine?", server="cellar")
    await store.save("r", [elsewhere])
    kept = {tasks[0].id, tasks[-1].id}
    await store.retain("r", {*kept, "task-0000000000000000"}, ["shelf", "attic"])
    assert await store.ids("r") == {*kept, elsewhere.id}  # the run did not look at the cellar
    await store.retain("r", (), ["shelf", "cellar"])
    assert await store.ids("r") == frozenset()
    assert await store.ids("another") == {task.id for task in tasks[:2]}


async def test_an_episode_of_a_task_has_its_servers_and_its_query(
    database: Database, tmp_path: Path
) -> None:
    server = a_server()
    fitting = a_task("Where is Dune?", version=server.version)
    stale = a_task("Where is Emma?", version="of yesterday")
    await DatabaseTaskStore(database).save("run", [fitting, stale])
    tasks = RegistryTasks(database)
    async with open_test_gateway(
        InMemoryCatalog(server, a_server("cellar")), tmp_path, tasks=tasks
    ) as gateway:
        control = gateway.control
        listed = await control.tasks("run")
        assert {info.prompt for info in listed} == {"Where is Dune?", "Where is Emma?"}
        assert await control.tasks("another") == []
        source = SourceTask(kind="task", id=fitting.id)
        created = await control.create_episode(EpisodeRequest(source=source))
        assert (created.prompt, [tool.name for tool in created.tools]) == (fitting.query, ["find"])
        result = await gateway.agent(created).call("find", {"title": "Dune"})
        assert not result.is_error
        closed = await control.close_episode(created.id)
        assert closed.source == {"kind": "task", "id": fitting.id}
        assert closed.reward is None  # a task has no job
        assert not any("another version" in mark for mark in closed.marks)
        old = await control.create_episode(
            EpisodeRequest(source=SourceTask(kind="task", id=stale.id))
        )
        marks = (await control.episode(old.id)).marks
        assert "shelf is another version than its task was made of" in marks
        unknown = SourceTask(kind="task", id="task-0000000000000000")
        with pytest.raises(RefusedError, match="task-00"):
            await control.create_episode(EpisodeRequest(source=unknown))
