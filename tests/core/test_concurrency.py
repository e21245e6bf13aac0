"""What rings at its time, and many at once."""

from functools import partial

import anyio
import anyio.lowlevel
import pytest

from astra_mcp.concurrency import (
    BackOff,
    LocksByName,
    Timer,
    completed_at_once,
    drop_in_slices,
    in_turns,
    map_concurrently,
)
from astra_mcp.errors import BudgetSpentError


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both event loops; their timers are not alike."""
    return "asyncio", {"use_uvloop": request.param}


async def settle() -> None:
    """Let every task that can go on do so."""
    await anyio.wait_all_tasks_blocked()


async def test_an_alarm_rings_once_and_not_before_the_time_that_was_set_last() -> None:
    rung: list[float] = []
    heard = anyio.Event()

    def ring() -> None:
        rung.append(anyio.current_time())
        heard.set()

    alarm = Timer(ring)
    alarm.set(anyio.current_time() + 0.01)
    last = anyio.current_time() + 0.05
    alarm.set(last)
    with anyio.fail_after(30):
        await heard.wait()
    assert len(rung) == 1
    assert rung[0] >= last - 0.005  # loops round to milliseconds
    assert not alarm.is_set


async def test_an_alarm_can_be_set_to_an_earlier_time() -> None:
    heard = anyio.Event()
    alarm = Timer(heard.set)
    alarm.set(anyio.current_time() + 3600)
    alarm.set(anyio.current_time() + 0.01)
    with anyio.fail_after(30):
        await heard.wait()


async def test_an_alarm_that_was_cleared_or_closed_does_not_ring() -> None:
    rung: list[str] = []
    cleared, closed = Timer(lambda: rung.append("cleared")), Timer(lambda: rung.append("closed"))
    later = anyio.Event()
    cleared.set(anyio.current_time() + 0.01)
    closed.set(anyio.current_time() + 0.01)
    assert cleared.is_set
    cleared.clear()
    closed.close()
    Timer(later.set).set(anyio.current_time() + 0.05)
    with anyio.fail_after(30):
        await later.wait()
    assert rung == []
    assert not cleared.is_set
    assert not closed.is_set


async def test_an_alarm_rings_whatever_part_of_a_millisecond_its_time_has() -> None:
    rung: list[int] = []
    heard = anyio.Event()

    def ring(number: int) -> None:
        rung.append(number)
        if len(rung) == 50:
            heard.set()

    alarms = [Timer(partial(ring, number)) for number in range(50)]
    for number, alarm in enumerate(alarms):
        alarm.set(anyio.current_time() + 0.001)
        alarm.set(anyio.current_time() + 0.002 + number * 0.00013)
    with anyio.fail_after(30):
        await heard.wait()
    assert sorted(rung) == list(range(50))


async def test_a_spent_budget_lets_what_is_under_way_end_and_nothing_further_begin() -> None:
    begun: list[int] = []
    ended: list[int] = []
    refused = anyio.Event()

    async def work(number: int) -> None:
        begun.append(number)
        if number == 2:
            refused.set()
            raise BudgetSpentError("spent")
        await refused.wait()
        await anyio.lowlevel.checkpoint()
        ended.append(number)

    with anyio.fail_after(10), pytest.raises(BudgetSpentError):
        await map_concurrently(work, range(6), limit=3)

    assert sorted(begun) == [0, 1, 2]
    assert sorted(ended) == [0, 1]


async def test_a_mistake_cancels_what_is_under_way_also_after_the_budget_is_spent() -> None:
    refused = anyio.Event()

    async def work(number: int) -> None:
        if number == 2:
            refused.set()
            raise BudgetSpentError("spent")
        await refused.wait()
        if number == 1:
            raise ValueError("a mistake")
        await anyio.sleep_forever()

    with anyio.fail_after(10), pytest.raises(ValueError, match="a mistake"):
        await map_concurrently(work, range(3), limit=3)


def test_pauses_grow_up_to_the_longest_and_begin_again_after_what_went_well() -> None:
    pauses = BackOff(0.1, 0.5, factor=3)
    assert [pauses.next() for _ in range(4)] == pytest.approx([0.1, 0.3, 0.5, 0.5])
    pauses.reset()
    assert [pauses.next(), pauses.next()] == pytest.approx([0.1, 0.3])


async def test_work_that_waits_comes_to_its_end_although_its_caller_is_cancelled() -> None:
    began, may_end = anyio.Event(), anyio.Event()
    ends: list[str] = []

    async def work() -> str:
        began.set()
        await may_end.wait()
        await anyio.lowlevel.checkpoint()
        return "whole"

    async def ask() -> None:
        ends.append(await completed_at_once(work()))
        await anyio.lowlevel.checkpoint()
        ends.append("the caller went on")

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await began.wait()
        group.cancel_scope.cancel()
        may_end.set()
    assert ends == ["whole"]


async def test_work_that_does_not_wait_is_done_at_once_also_by_its_mistake() -> None:
    async def work(number: int) -> int:
        return 1 // number

    with anyio.CancelScope() as scope:
        scope.cancel()
        assert await completed_at_once(work(1)) == 1
        with pytest.raises(ZeroDivisionError):
            await completed_at_once(work(0))


async def test_a_name_is_held_by_one_at_a_time_and_other_names_wait_for_nobody() -> None:
    locks, held, order = LocksByName(), anyio.Event(), list[str]()

    async def hold(name: str) -> None:
        async with locks.hold(name):
            order.append(name)
            if name == "a":
                await held.wait()
            order.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(hold, "a")
        await settle()
        group.start_soon(hold, "a")
        group.start_soon(hold, "b")
        await settle()
        assert order == ["a", "b", "b"]
        held.set()
    assert order == ["a", "b", "b", "a", "a", "a"]


async def test_others_have_their_turn_between_items_once_these_have_taken_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def turns_of_others(seconds: float) -> int:
        monkeypatch.setattr("astra_mcp.concurrency._TURN_SECONDS", seconds)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(count)
            assert [item async for item in in_turns(range(10))] == list(range(10))
            group.cancel_scope.cancel()
        return turns

    assert await turns_of_others(0.0) >= 9
    assert await turns_of_others(60.0) <= 1, "its first, when all is over"


async def test_items_that_are_begun_at_once_share_the_rounds_of_the_loop_with_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    rounds = 0
    begun_in: list[int] = []
    monkeypatch.setattr("astra_mcp.concurrency.time.perf_counter", lambda: now)

    async def count_rounds() -> None:
        nonlocal rounds
        while True:
            await anyio.lowlevel.checkpoint()
            rounds += 1

    async def work(_item: int) -> None:
        nonlocal now
        begun_in.append(rounds)
        now += 0.002

    async with anyio.create_task_group() as group:
        group.start_soon(count_rounds)
        await map_concurrently(work, range(64), limit=32)
        group.cancel_scope.cancel()
    assert len(begun_in) == 64
    assert max(map(begun_in.count, begun_in)) <= 4


def test_all_of_several_lists_is_dropped() -> None:
    many, few, none = list(range(1_234)), [1], list[int]()
    drop_in_slices(many, few, none)
    assert (many, few, none) == ([], [], [])
