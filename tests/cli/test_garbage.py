"""When a process that serves looks for garbage, and at what."""

import gc
import weakref
from collections import deque
from collections.abc import Generator
from functools import partial

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from astra_mcp.serving.http.drain import Door, is_listening
from astra_mcp.serving.http.garbage import MANY, SetAside, collecting_seldom, look_when_quiet

FEW = 1000


class Knot:
    """Refers to itself, so that the garbage collector alone can free it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _only_the_tests_look() -> Generator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def many_more() -> list[list[int]]:
    """Make objects that outlive a look."""
    return [[n] for n in range(FEW + 1)]


def test_the_usual_ways_return_with_the_end() -> None:
    before, callbacks = gc.get_threshold(), list(gc.callbacks)

    with collecting_seldom():
        assert gc.get_threshold() != before
        assert gc.get_freeze_count() > 0

    assert gc.get_threshold() == before
    assert gc.callbacks == callbacks
    assert gc.get_freeze_count() < MANY


def test_few_objects_are_looked_at_each_time() -> None:
    with collecting_seldom(many=MANY):
        gc.collect()
        before = gc.get_freeze_count()
        knot = weakref.ref(Knot())
        gc.collect()
        assert knot() is None
        assert gc.get_freeze_count() <= before


def test_many_objects_that_outlive_a_look_are_not_looked_at_again() -> None:
    with collecting_seldom(many=FEW):
        before = gc.get_freeze_count()
        alive = many_more()
        gc.collect()
        assert gc.get_freeze_count() >= before + len(alive)
        gc.collect()
        assert len(gc.get_objects(2)) < FEW


def test_what_is_set_aside_is_freed_all_the_same_once_nothing_refers_to_it() -> None:
    with collecting_seldom(many=FEW):
        alive = many_more()
        alive_too = [Knot() for _ in range(3)]
        plain = weakref.ref(alive_too[0])
        gc.collect()
        alive_too[0].itself = None  # type: ignore[assignment]
        del alive_too[:]
        assert plain() is None
        assert alive


def set_a_knot_aside() -> "weakref.ref[Knot]":
    """Make garbage that only a look at all finds."""
    knot = Knot()
    found = weakref.ref(knot)
    first = many_more()
    gc.collect()
    del knot, first
    gc.collect()
    assert found() is not None
    return found


def set_aside_until(num: int) -> list[list[int]]:
    """Have so many objects set aside."""
    alive: list[list[int]] = [[] for _ in range(num - gc.get_freeze_count() + FEW)]
    gc.collect()
    return alive


def test_a_look_at_all_is_due_once_what_is_set_aside_has_doubled() -> None:
    with collecting_seldom(many=FEW) as set_aside:
        proved = max(gc.get_freeze_count(), 2 * FEW)
        found = set_a_knot_aside()
        assert not set_aside.is_due
        alive = set_aside_until(2 * proved)
        assert set_aside.is_due
        assert found() is not None

        set_aside.look()

        assert found() is None
        assert not set_aside.is_due
        assert gc.get_freeze_count() >= len(alive), "what lives is set aside again"


def test_a_look_that_is_overdue_is_taken_in_the_midst_of_work() -> None:
    with collecting_seldom(many=FEW):
        proved = max(gc.get_freeze_count(), 2 * FEW)
        found = set_a_knot_aside()
        alive = set_aside_until(4 * proved)
        assert gc.get_freeze_count() < len(alive), "all are to be looked at"
        gc.collect()
        assert found() is None
        assert gc.get_freeze_count() >= len(alive)


async def watch(counts: list[int | None], set_aside: SetAside) -> None:
    """Have it looked for quiet, until all of these were told."""
    left = deque(counts)
    told = anyio.Event()

    def activity() -> int | None:
        if len(left) == 1:
            told.set()
            return left[0]
        return left.popleft()

    async with anyio.create_task_group() as group:
        group.start_soon(partial(look_when_quiet, set_aside, activity, seconds=0.001))
        await told.wait()
        group.cancel_scope.cancel()


async def test_all_is_looked_at_when_nobody_wants_anything() -> None:
    with collecting_seldom(many=FEW) as set_aside:
        found = set_a_knot_aside()
        alive = set_aside_until(2 * max(gc.get_freeze_count(), 2 * FEW))
        await watch([1, None, 1, 2, 2, None, None, 3, 4, 4, 5], set_aside)
        assert found() is not None, "each time somebody wanted something"
        await watch([5, 5, 6], set_aside)
        assert found() is None
        assert alive


async def test_the_door_tells_whether_anybody_wants_anything() -> None:
    seen: list[int | None] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        seen.append(door.activity())
        assert scope["type"] == "http"

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        del message

    door = Door(app, is_listening)
    scope: Scope = {"type": "http", "method": "POST", "path": "/x", "headers": []}
    before = door.activity()
    await door(scope, receive, send)
    after = door.activity()
    await door({**scope, "method": "GET", "path": "/mcp"}, receive, send)
    assert (before, after) == (0, 1)
    assert seen == [None, 1], "a stream wants nothing"
