"""When a process that serves looks for garbage, and gives back what is free: after requests, never else."""

import gc
import platform
import threading
import time
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
LONG_SECONDS = 1.0


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
def due(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many new objects there are, as the collector counts them, with no time between two looks."""
    count = [0, 0, memory._DUE]  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(memory, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(gc, "get_count", lambda: tuple(count))
    return count


def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Count the looks at all instead of taking them."""
    taken: list[None] = []
    monkeypatch.setattr(gc, "collect", lambda: taken.append(None))
    return taken


async def turns(num: int = 20) -> None:
    """Let timers without a time come."""
    for _ in range(num):
        await anyio.lowlevel.checkpoint()


async def test_a_quiet_moment_after_a_request_is_used_once_enough_is_new(
    monkeypatch: pytest.MonkeyPatch, due: list[int]
) -> None:
    taken = looks(monkeypatch)
    due[OLDEST] -= 1
    with keeping_house(lambda: 1) as house:
        await turns()
        assert taken == [], "little is new"
        due[OLDEST] += 1
        await turns()
        assert taken == [], "nothing recurs by itself"
        house.hear_end()
        await turns()
        assert taken == [None]


async def test_no_look_is_taken_while_somebody_wants_something(
    monkeypatch: pytest.MonkeyPatch, due: list[int]
) -> None:
    taken = looks(monkeypatch)
    answers: list[int | None] = [1, 2, 3, None, 4, 4, 4]
    with keeping_house(lambda: answers.pop(0)) as house:
        await turns()
        assert answers == [4, 4, 4], "one request after another, then one under way"
        assert taken == []
        house.hear_end()
        await turns()
        assert (answers, taken) == ([4], [None])
    assert due


def test_where_a_look_takes_long_the_next_is_far_off_and_where_it_does_not_it_is_near(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    before, callbacks = gc.get_threshold(), list(gc.callbacks)

    async def look(seconds: float) -> int:
        with keeping_house(lambda: 0) as house:
            assert gc.get_freeze_count() > 0
            house.hear_collection("start", {"generation": OLDEST})
            now[0] += seconds
            house.hear_collection("stop", {"generation": OLDEST})
            return gc.get_threshold()[OLDEST]

    assert anyio.run(look, LONG_SECONDS) > 10 * anyio.run(look, 0.0)
    assert (gc.get_threshold(), gc.callbacks) == (before, callbacks)


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
