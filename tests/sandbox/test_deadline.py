"""A process gets its time however busy the machine is, and no process more than that."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

import pytest

from astra_mcp.errors import SandboxDiedError
from astra_mcp.sandbox import Returned, SandboxLimits, SandboxReport, open_sandbox
from astra_mcp.sandbox.session import ProcessSession

from sandboxes import opened

CODE = """
import queue
def burn(rounds):
    n = 0
    for i in range(rounds):
        n += i
    return n
def blocked(): queue.Queue().get()
"""
CALIBRATION = 200_000
RIVALS = 5


@pytest.fixture(params=["locked", "unsandboxed"])
async def session(
    request: pytest.FixtureRequest, machine: SandboxReport
) -> AsyncGenerator[ProcessSession]:
    """A session whose calls get 0.4 s of processor time."""
    limits = SandboxLimits(soft_seconds=0.4, hard_seconds=0.4, load_seconds=0.4)
    plain = request.param == "unsandboxed"
    async with open_sandbox(limits, unsandboxed=plain, machine=machine) as sandbox:
        session = await opened(sandbox, CODE)
        yield session
        await session.aclose()


@contextmanager
def crowded(pid: int) -> Generator[None]:
    """Have a process share one processor with others that never rest."""
    processor = min(os.sched_getaffinity(pid))
    spin = f"import os\nos.sched_setaffinity(0, [{processor}])\nprint(flush=True)\nwhile True: pass"
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", spin], stdout=subprocess.PIPE, start_new_session=True
        )
        for _ in range(RIVALS)
    ]
    try:
        for rival in rivals:
            assert rival.stdout is not None
            rival.stdout.readline()
        os.sched_setaffinity(pid, [processor])
        yield
    finally:
        for rival in rivals:
            rival.kill()
            rival.communicate()


def processor_seconds(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)


async def rounds_for(session: ProcessSession, seconds: float) -> int:
    """How many rounds of ``burn`` take so much processor time."""
    before = processor_seconds(session.pid)
    await session.call("burn", {"rounds": CALIBRATION})
    return int(CALIBRATION * seconds / (processor_seconds(session.pid) - before))


async def test_a_call_within_its_time_returns_on_a_busy_machine_too(
    session: ProcessSession,
) -> None:
    rounds = await rounds_for(session, 0.12)  # a third of what it gets, which takes 0.7 s here
    with crowded(session.pid):
        answer = await session.call("burn", {"rounds": rounds})
    assert answer == Returned(value=rounds * (rounds - 1) // 2)


async def test_a_call_that_waits_is_stopped_on_a_busy_machine_too(session: ProcessSession) -> None:
    with crowded(session.pid), pytest.raises(SandboxDiedError, match=r"longer than 0\.4 s"):
        await session.call("blocked", {})


async def test_no_process_gets_more_than_its_time(machine: SandboxReport) -> None:
    async with open_sandbox(
        SandboxLimits(soft_seconds=60, hard_seconds=0.4), machine=machine
    ) as sandbox:
        session = await opened(sandbox, CODE)
        with crowded(session.pid), pytest.raises(SandboxDiedError, match=r"longer than 0\.4 s"):
            await session.call("burn", {"rounds": 10**12})
        await session.aclose()


async def test_a_process_that_does_not_read_its_call_is_stopped_as_well(
    session: ProcessSession,
) -> None:
    os.kill(session.pid, signal.SIGSTOP)
    with pytest.raises(SandboxDiedError, match="ran longer"):
        await session.call("burn", {"rounds": "x" * (8 << 20)})  # more than the socket takes


async def test_a_session_answers_after_its_deadlines_were_moved_many_times(
    session: ProcessSession,
) -> None:
    for _ in range(200):
        assert isinstance(await session.call("burn", {"rounds": 1}), Returned)
    with pytest.raises(SandboxDiedError):
        await session.call("blocked", {})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the policy")
async def test_a_process_that_is_woken_does_not_stop_the_host_amid_its_step(
    session: ProcessSession,
) -> None:
    assert os.sched_getscheduler(session.pid) == os.SCHED_BATCH
