"""Calls that wait at an endpoint get their turn by rank; none is lost to a cancellation."""

import anyio
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint

from astra_mcp.llm.turns import Turns, ranked


async def test_of_those_that_wait_the_lowest_rank_comes_first_and_then_who_came_first() -> None:
    turns, began = Turns(1), list[str]()

    async def call(name: str, rank: int) -> None:
        with ranked(rank):
            async with turns.turn():
                began.append(name)
                await checkpoint()

    async with anyio.create_task_group() as group, turns.turn():
        for name, rank in (("a", 2), ("b", 0), ("c", 1), ("d", 0)):
            group.start_soon(call, name, rank)
        await anyio.wait_all_tasks_blocked()
        assert began == []
    assert began == ["b", "d", "c", "a"]


async def test_who_is_cancelled_while_it_waits_or_as_it_is_given_a_place_keeps_none() -> None:
    turns, num_begun = Turns(1), 0

    async def call(*, task_status: TaskStatus[anyio.CancelScope]) -> None:
        with anyio.CancelScope() as scope:
            task_status.started(scope)
            async with turns.turn():
                await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        async with turns.turn():
            waits = await group.start(call)
            given = await group.start(call)
            await anyio.wait_all_tasks_blocked()
            waits.cancel()
            await anyio.wait_all_tasks_blocked()
        given.cancel()
    with anyio.fail_after(5):
        async with turns.turn():
            num_begun += 1
    assert num_begun == 1
