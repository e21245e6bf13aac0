"""What tool code learns of other sessions, takes from them, or has the host do for it."""

import asyncio
import mmap
import os
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from astra_mcp.errors import SandboxDiedError
from astra_mcp.sandbox import Raised, Returned, Sandbox, memory
from astra_mcp.sandbox.channel import Message
from astra_mcp.sandbox.gate import ForkGate
from astra_mcp.sandbox.locked import LockedSandbox
from astra_mcp.sandbox.memory import Account, MemoryBudget, Usage, usage_of
from astra_mcp.sandbox.replies import MalformedReplyError, parse_call
from astra_mcp.sandbox.zygote.frames import RETURNED
from astra_mcp.sandbox.zygote.settings import RESULT_VALUES
from astra_mcp.sandbox.zygote.values import ResultTooLargeError, encode_value

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)

COUNTS_FORKS = """
import logging

class Lock:
    forks = 0
    def acquire(self):
        Lock.forks += 1
    def release(self):
        pass
    _at_fork_reinit = release

logging._lock = Lock()

def forks():
    return Lock.forks
"""

MANY = """
import enum

class Size(enum.IntEnum):
    SMALL = 1

def numbers(count: int):
    return [0] * count

def size():
    return [Size.SMALL]
"""


async def test_a_module_that_lays_hands_on_logging_cannot_count_its_sessions(
    locked: LockedSandbox,
) -> None:
    module = await locked.load(COUNTS_FORKS, clock=CLOCK)
    answers: list[Returned | Raised] = []
    for seed in range(3):
        session = await locked.open_session(module, seed=seed)
        answers.append(await session.call("forks", {}))
        await session.aclose()
    assert answers == [Returned(value=0)] * 3


async def test_a_session_has_no_huge_pages_of_which_the_kernel_would_count_one(
    locked: LockedSandbox,
) -> None:
    session = await locked.open_session(await locked.load(MANY, clock=CLOCK), seed=1)
    await session.call("numbers", {"count": 1})
    status = await anyio.Path(f"/proc/{session.pid}/status").read_text(encoding="utf-8")
    assert "THP_enabled:\t0" in status
    await session.aclose()


async def test_a_question_that_a_signal_takes_back_leaves_the_gate_open() -> None:
    listener, asker = os.pipe()
    with closing(ForkGate(listener, 1, on_flood=lambda _process: None)):
        os.write(asker, b"?")
        # The event loop has seen the question by then, and calls the gate next.
        asyncio.get_running_loop().call_soon(os.read, listener, 1)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        os.fstat(listener)
        os.close(asker)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(listener)


def test_an_idle_process_is_weighed_however_many_are_busy() -> None:
    budget = MemoryBudget(1 << 40)

    def account(pid: int, *, is_busy: bool) -> Account:
        found = Account(pid=pid, began=0, is_busy=lambda: is_busy, stop=lambda: None)
        budget.open(found)
        return found

    busy = [account(0, is_busy=True) for _ in range(1000)]
    idle = account(os.getpid(), is_busy=False)
    list(budget.look())
    assert idle.held > 0
    assert not any(one.held for one in busy)


ANSWERS_AND_WORKS_ON = """
import io, json, struct

def work_on():
    def answer(self, asked, _one_shot=False):
        head = b'{"status":"returned","output":"","call":"' + asked["call"].encode() + b'"}'
        frame = struct.pack("!II", len(head), 2) + head + b"42"
        io.FileIO(3, "w", closefd=False).write(frame)
        while True:
            pass
    json.JSONEncoder.iterencode = answer
    print("x")
"""


async def test_who_works_on_behind_an_answer_is_stopped_and_to_blame(locked: LockedSandbox) -> None:
    module = await locked.load(ANSWERS_AND_WORKS_ON, clock=CLOCK)
    session = await locked.open_session(module, seed=1)
    assert await session.call("work_on", {}) == Returned(value=42)
    with anyio.fail_after(30):
        while usage_of(session.pid).resident:  # noqa: ASYNC110 - a process's end is no event here
            await anyio.sleep(0.02)
    with pytest.raises(SandboxDiedError, match="worked on behind its answer"):
        await session.call("work_on", {})
    await session.aclose()


@pytest.mark.parametrize("is_asked", [True, False])
def test_only_work_that_nobody_asked_for_is_held_against_a_process(
    monkeypatch: pytest.MonkeyPatch, is_asked: bool
) -> None:
    budget, calls, ticks = MemoryBudget(1 << 40), [0], [0]
    stopped: list[str] = []
    account = Account(
        pid=1,
        began=0,
        is_busy=lambda: False,
        stop=lambda: None,
        num_calls=lambda: calls[0],
        stop_working=lambda: stopped.append("worked on"),
    )
    budget.open(account)

    def seen(pid: int) -> Usage:
        return Usage(0, 0, ticks=pid * ticks[0])

    monkeypatch.setattr(memory, "usage_of", seen)
    for _ in range(3):
        list(budget.look())
        ticks[0] += 15
        calls[0] += is_asked
    assert stopped == ([] if is_asked else ["worked on"])


def test_address_space_counts_for_the_mappings_that_it_may_be_of() -> None:
    budget = MemoryBudget(1 << 40)
    began = usage_of(os.getpid())
    account = Account(
        pid=os.getpid(),
        began=began.resident,
        mapped=began.mapped,
        is_busy=lambda: True,
        stop=lambda: None,
    )
    budget.open(account)
    list(budget.look())
    before = account.held
    with mmap.mmap(-1, 256 << 20, prot=mmap.PROT_READ):
        list(budget.look())
        assert account.held - before >= (256 << 20) // 16 - (4 << 20)


@pytest.mark.parametrize(
    ("most", "more"),
    [
        ([0] * (RESULT_VALUES - 1), [0] * RESULT_VALUES),
        ([[0]] * (RESULT_VALUES // 2 - 1), [[0]] * (RESULT_VALUES // 2)),
        (["a,b:[\\"] * (RESULT_VALUES - 1), ["a,b:[\\"] * RESULT_VALUES),
        (
            {str(n): "" for n in range(RESULT_VALUES // 2 - 1)},
            {str(n): "" for n in range(RESULT_VALUES // 2)},
        ),
    ],
)
def test_the_host_takes_as_many_values_as_an_honest_process_sends(most: Any, more: Any) -> None:
    head = RETURNED % b"c"
    sent = Message(head, encode_value(most, 1 << 20))
    assert parse_call(sent, call="c", output_bytes=0) == Returned(value=most)
    with pytest.raises(ResultTooLargeError, match="30,000 names and values"):
        encode_value(more, 1 << 20)


def test_a_forged_result_of_many_values_is_refused_before_it_is_parsed() -> None:
    forged = Message(RETURNED % b"c", b"[" + b"[]," * RESULT_VALUES + b"0]")
    with pytest.raises(MalformedReplyError, match="names and values"):
        parse_call(forged, call="c", output_bytes=0)


async def test_a_result_of_too_many_values_is_an_error_of_the_tool(sandbox: Sandbox) -> None:
    session = await sandbox.open_session(await sandbox.load(MANY, clock=CLOCK), seed=1)
    answer = await session.call("numbers", {"count": RESULT_VALUES})
    assert isinstance(answer, Raised)
    assert answer.kind == "ResultTooLarge"
    assert (
        answer.message == "the result holds more than 30,000 names and values; ask for less at once"
    )
    assert await session.call("numbers", {"count": 2}) == Returned(value=[0, 0])
    await session.aclose()


async def test_a_member_of_an_enumeration_of_integers_is_an_integer(sandbox: Sandbox) -> None:
    session = await sandbox.open_session(await sandbox.load(MANY, clock=CLOCK), seed=1)
    assert await session.call("size", {}) == Returned(value=[1])
    await session.aclose()
