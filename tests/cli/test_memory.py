"""When a process that serves looks for garbage, and gives back what is free: after requests, never else."""

import gc
import platform
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message, Receive, Scope, Send

from astra_mcp.serving.http import memory
from astra_mcp.serving.http.drain import Drain, is_listening
from astra_mcp.serving.http.memory import give_back, keeping_house

MIB = 1 << 20
OLDEST = 2
MANY = 100_000


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon")]
    return int(line.split()[1]) << 10


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries give back alone")
def test_memory_that_was_freed_below_what_is_still_in_use_is_given_back() -> None:
    blocks = [bytes([n % 256]) * 100_000 for n in range(2000)]
    last = blocks.pop()
    blocks.clear()
    before = resident_bytes()
    give_back()
    assert before - resident_bytes() > 100 * MIB
    assert len(last) == 100_000


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many blocks of memory are in use, with no time between two looks for quiet."""
    count = [1000]
    monkeypatch.setattr(memory, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(sys, "getallocatedblocks", lambda: count[0])
    return count


def age(house: memory.Housekeeping) -> None:
    """Let the collector look as often as it does before anything is counted."""
    for _ in range(memory._LOOKS):  # pyright: ignore[reportPrivateUsage]
        house.hear_collection("start", {"generation": OLDEST})
        house.hear_collection("stop", {"generation": OLDEST})


def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Count the looks at all instead of taking them."""
    taken: list[None] = []
    monkeypatch.setattr(memory, "_set_aside", lambda: None)
    monkeypatch.setattr(gc, "collect", lambda: taken.append(None))
    return taken


def outlived(num: int, generation: int) -> list[None]:
    """Stand for so many objects of a generation."""
    assert generation == OLDEST
    return [None] * num


async def turns(num: int = 20) -> None:
    """Let timers without a time come."""
    for _ in range(num):
        await anyio.lowlevel.checkpoint()


async def test_a_quiet_moment_after_a_request_is_used_once_much_more_is_in_use(
    monkeypatch: pytest.MonkeyPatch, used: list[int]
) -> None:
    taken = looks(monkeypatch)
    with keeping_house(lambda: 1) as house:
        age(house)
        house.hear_end()
        await turns()
        assert taken == [], "little more is in use"
        used[0] += 600_000
        house.hear_end()
        await turns()
        assert taken == [], "it is counted seldom"
        age(house)
        await turns()
        assert taken == [], "nothing recurs by itself"
        house.hear_end()
        assert taken == [], "not amid work"
        await turns()
        assert taken == [None]
        age(house)
        house.hear_end()
        await turns()
        assert taken == [None], "what outlived that look counts no more"


async def test_no_look_at_all_is_taken_while_somebody_wants_something(
    monkeypatch: pytest.MonkeyPatch, used: list[int]
) -> None:
    taken = looks(monkeypatch)
    answers: list[int | None] = [1, 2, 3, None, 4, 5, 5, 5]
    with keeping_house(lambda: answers.pop(0)) as house:
        used[0] += 600_000
        age(house)
        house.hear_end()
        while len(answers) > 1:
            assert taken == [], "one request after another, or one under way"
            await turns(1)
        await turns()
        assert (answers, taken) == ([], [None])


async def test_garbage_that_piles_up_is_looked_for_amid_work(
    monkeypatch: pytest.MonkeyPatch, used: list[int]
) -> None:
    taken = looks(monkeypatch)
    with keeping_house(lambda: None) as house:
        used[0] += 9_000_000
        age(house)
        house.hear_end()
        assert taken == [None]


def test_what_outlives_a_look_is_set_aside_where_it_is_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen: list[int] = []
    before, callbacks, interval = gc.get_threshold(), list(gc.callbacks), sys.getswitchinterval()

    async def look() -> None:
        with keeping_house(lambda: 0) as house:
            assert sys.getswitchinterval() < interval
            for generation, num in ((OLDEST, 100), (OLDEST - 1, MANY), (OLDEST, MANY)):
                monkeypatch.setattr(gc, "get_objects", partial(outlived, num))
                monkeypatch.setattr(gc, "freeze", lambda of=generation: frozen.append(of))
                house.hear_collection("start", {"generation": generation})
                house.hear_collection("stop", {"generation": generation})

    anyio.run(look)
    assert frozen == [OLDEST]
    assert (gc.get_threshold(), gc.callbacks, sys.getswitchinterval()) == (
        before,
        callbacks,
        interval,
    )


async def test_a_look_disturbs_nothing_that_another_thread_builds() -> None:
    built: list[tuple[int, ...]] = []
    over = threading.Event()

    def numbers() -> Iterator[int]:
        gc.collect()  # what is being built is now among the objects that outlived a look
        yield from range(400)

    def build() -> None:
        try:
            built.extend(tuple(n for n in numbers()) for _ in range(300))
        finally:
            over.set()

    builder = threading.Thread(target=build)
    with keeping_house(lambda: 0) as house:
        sys.setswitchinterval(1e-6)
        builder.start()
        while not over.is_set():
            house.hear_collection("stop", {"generation": OLDEST})
        builder.join()
    assert built == [tuple(range(400))] * 300


async def test_what_is_free_is_given_back_after_requests_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = threading.Semaphore(0)
    monkeypatch.setattr(memory, "GIVE_BACK_SECONDS", 0.0)
    monkeypatch.setattr(memory, "give_back", given.release)
    with keeping_house(lambda: 0) as house:
        for _ in range(2):  # the first time, of the start
            await anyio.to_thread.run_sync(given.acquire)
            await turns()
            assert not given.acquire(blocking=False)
            house.hear_end()
            house.hear_end()


async def test_the_door_tells_whether_anybody_wants_anything_and_when_that_ends() -> None:
    seen: list[int | None] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive, send
        seen.append(door.activity())

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        del message

    door = Drain(app, is_listening)
    ends: list[int | None] = []
    door.hear_end = lambda: ends.append(door.activity())
    scope: Scope = {"type": "http", "method": "POST", "path": "/x", "headers": []}
    before = door.activity()
    await door(scope, receive, send)
    await door({**scope, "method": "GET", "path": "/mcp"}, receive, send)
    assert (before, seen, ends) == (0, [None, 1], [1]), "a stream wants nothing"
