"""Every process of the sandbox ends with its owner, whatever the owner's or its own end is."""

import fcntl
import gc
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from astra_mcp.errors import (
    SandboxDiedError,
    SandboxError,
    SandboxLostError,
    StartRefusedError,
    ToolCodeError,
)
from astra_mcp.sandbox import Returned, Sandbox, SandboxLimits, SandboxReport, open_sandbox
from astra_mcp.sandbox import handshake as handshake_module
from astra_mcp.sandbox import locked as locked_module
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.runtime import Runtime

from processes import Process, below, wait_until_gone
from sandboxes import CLOCK, opened

HERE = Path(__file__).parent

CODE = """
import inspect, queue
calls = 0
def ready():
    global calls
    calls += 1
    return calls
def blocked(): queue.Queue().get()
def busy():
    n = 0
    while True:
        n += 1
"""

# Takes hold of the trusted loop around it, which is possible: it is the same interpreter.
FIND_LOOP = """
frame = inspect.currentframe()
while "self" not in frame.f_locals:
    frame = frame.f_back
loop = frame.f_locals["self"]
"""
UNGUARDED = replace(Runtime.default(), import_guard=False)
"""Where tool code reaches into the runtime, as hostile code is taken to be able to."""


async def members_become(server: int, expected: int) -> None:
    """Wait until so many processes live below the fork server, zombies included."""
    with anyio.fail_after(20):
        while len(below(server)) != expected:  # noqa: ASYNC110 - no event tells of reaping
            await anyio.sleep(0.02)


def server_of(sandbox: LockedSandbox) -> int:
    assert sandbox.server_pid is not None
    return sandbox.server_pid


@pytest.fixture
def strangers() -> frozenset[int]:
    """Processes that other fixtures of this run started before."""
    return frozenset(row.pid for row in below(os.getpid()))


def new_below(strangers: frozenset[int]) -> list[Process]:
    """Find the processes that were started since."""
    return [row for row in below(os.getpid()) if row.pid not in strangers]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("times", [50, pytest.param(1000, marks=pytest.mark.volume)])
async def test_kills_in_mid_call_leave_no_process(
    machine: SandboxReport, strangers: frozenset[int], times: int
) -> None:
    limits = SandboxLimits(soft_seconds=60, hard_seconds=0.3)
    killed = 0

    async def one(sandbox: LockedSandbox, module: Any, seed: int) -> None:
        nonlocal killed
        async with limiter:
            session = await sandbox.open_session(module, seed=seed)
            # On a busy machine a hundred at once may not get their time: killed all the same.
            with pytest.raises(SandboxError, match=r"longer than 0\.3 s|too busy"):
                await session.call("busy" if seed % 25 == 0 else "blocked", {})
            killed += 1
            await session.aclose()

    limiter = anyio.CapacityLimiter(100)
    async with open_locked(limits, machine, Runtime.default()) as sandbox:
        module = await sandbox.load(CODE, clock=CLOCK)
        async with anyio.create_task_group() as tasks:
            for seed in range(times):
                tasks.start_soon(one, sandbox, module, seed)
        assert killed == times
        server = server_of(sandbox)
        assert len(below(server)) == 1, "only the template is left, and no zombie"
    assert new_below(strangers) == []


def test_killing_the_host_under_load_ends_every_process() -> None:
    host = subprocess.Popen(
        [sys.executable, str(HERE / "doomed_host.py"), CODE],
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        stdout=subprocess.PIPE,
        text=True,
    )
    with host:
        assert host.stdout is not None
        pids = json.loads(host.stdout.readline())
        everybody = [pids["server"], *{row.pid for row in below(pids["server"])}]
        assert set(pids["sessions"]) < set(everybody)
        handles = [os.pidfd_open(pid) for pid in everybody]
        host.kill()
        host.wait()
    assert wait_until_gone(handles, 20) == 0


async def test_when_the_fork_server_is_killed_sessions_end_and_the_next_one_works(
    locked: LockedSandbox,
) -> None:
    module = await locked.load(CODE, clock=CLOCK)
    session = await locked.open_session(module, seed=1)
    assert await session.call("ready", {}) == Returned(value=1)
    first = server_of(locked)
    handles = [os.pidfd_open(row.pid) for row in below(first)]
    assert len(handles) == 2

    os.kill(first, signal.SIGKILL)

    with pytest.raises(SandboxLostError):
        await session.call("blocked", {})
    await session.aclose()
    assert await anyio.to_thread.run_sync(wait_until_gone, handles, 20.0) == 0
    fresh = await locked.open_session(module, seed=1)
    assert await fresh.call("ready", {}) == Returned(value=1)
    assert locked.server_pid != first


@pytest.mark.parametrize("loaded", [True, False], ids=["known-module", "new-module"])
async def test_right_after_the_fork_server_is_killed_the_next_use_works(
    locked: LockedSandbox, loaded: bool
) -> None:
    module = await locked.load(CODE, clock=CLOCK)
    handle = os.pidfd_open(server_of(locked))
    signal.pidfd_send_signal(handle, signal.SIGKILL)
    assert wait_until_gone([handle], 20) == 0  # without giving the event loop a turn
    if not loaded:
        module = await locked.load(f"{CODE}\nX = 1", clock=CLOCK)
    session = await locked.open_session(module, seed=1)
    assert await session.call("ready", {}) == Returned(value=1)


@pytest.mark.parametrize("error", [None, LookupError("the caller's own")], ids=["well", "badly"])
async def test_a_sandbox_that_is_left_ends_its_sessions_and_starts_nothing(
    machine: SandboxReport, strangers: frozenset[int], error: LookupError | None
) -> None:
    with pytest.raises(LookupError, match="the caller's own") if error else nullcontext():
        async with open_locked(SandboxLimits(), machine, Runtime.default()) as sandbox:
            module = await sandbox.load(CODE, clock=CLOCK)
            session = await sandbox.open_session(module, seed=1)
            handle = os.pidfd_open(session.pid)
            if error:
                raise error
    assert wait_until_gone([handle], 0.5) == 0
    with pytest.raises(SandboxLostError, match="the sandbox is closed"):
        await session.call("ready", {})
    with pytest.raises(SandboxError, match="the sandbox is closed"):
        await sandbox.open_session(module, seed=1)
    assert new_below(strangers) == []


async def test_a_process_that_ended_before_a_call_is_lost_and_the_call_is_not_to_blame(
    sandbox: Sandbox,
) -> None:
    session = await opened(sandbox, CODE)
    handle = os.pidfd_open(session.pid)
    os.kill(session.pid, signal.SIGKILL)
    assert wait_until_gone([handle], 20) == 0
    with pytest.raises(SandboxLostError, match="ended while no tool ran"):
        await session.call("ready", {})


async def test_a_call_that_ends_with_its_template_is_not_to_blame(locked: LockedSandbox) -> None:
    session = await opened(locked, CODE)
    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            with pytest.raises(SandboxLostError):
                await session.call("blocked", {})

        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        os.kill(os.getpgid(session.pid), signal.SIGKILL)


async def test_a_fork_server_that_does_not_answer_is_replaced(
    machine: SandboxReport, limits: SandboxLimits
) -> None:
    runtime = replace(Runtime.default(), answer_seconds=1.0)
    async with open_locked(limits, machine, runtime) as sandbox:
        session = await opened(sandbox, CODE)
        stopped = server_of(sandbox)
        handle = os.pidfd_open(stopped)
        os.kill(stopped, signal.SIGSTOP)

        for number in range(2):
            await (await opened(sandbox, f"{CODE}\nX = {number}")).aclose()

        assert server_of(sandbox) != stopped
        assert wait_until_gone([handle], 20) == 0
        with pytest.raises(SandboxLostError):
            await session.call("ready", {})


async def test_the_fork_server_starts_at_the_first_use_and_builds_an_ended_template_anew(
    locked: LockedSandbox,
) -> None:
    assert locked.server_pid is None
    module = await locked.load(CODE, clock=CLOCK)
    (template,) = below(server_of(locked))
    os.kill(template.pid, signal.SIGKILL)
    await members_become(server_of(locked), 0)
    with anyio.fail_after(20):  # it is seen at once that nobody is left to fork
        session = await locked.open_session(module, seed=1)
    assert await session.call("ready", {}) == Returned(value=1)


async def test_idle_templates_are_few_and_none_with_sessions_is_evicted(
    locked: LockedSandbox,
) -> None:
    modules = [await locked.load(f"{CODE}\nX = {n}", clock=CLOCK) for n in range(5)]
    await members_become(server_of(locked), 2)
    sessions = [await locked.open_session(module, seed=1) for module in modules]
    for turn in (1, 2):
        for session in sessions:
            assert await session.call("ready", {}) == Returned(value=turn)
    for session in sessions:
        await session.aclose()
    await members_become(server_of(locked), 2)


async def test_of_many_modules_the_text_of_those_loaded_last_is_kept_and_sessions_go_on(
    locked: LockedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked_module, "_MAX_SOURCES", 1)
    first = await locked.load(f"{CODE}\nX = 1", clock=CLOCK)
    session = await locked.open_session(first, seed=1)
    await locked.load(f"{CODE}\nX = 2", clock=CLOCK)
    with pytest.raises(KeyError):
        await locked.open_session(first, seed=1)
    assert await session.call("ready", {}) == Returned(value=1)
    assert await locked.load(f"{CODE}\nX = 1", clock=CLOCK) == first
    assert await (await locked.open_session(first, seed=1)).call("ready", {}) == Returned(value=1)


async def test_a_template_is_replaced_before_its_processor_time_ends(
    machine: SandboxReport,
) -> None:
    limits = SandboxLimits(cpu_seconds=1)
    async with open_locked(limits, machine, Runtime.default()) as sandbox:
        module = await sandbox.load(CODE, clock=CLOCK)
        early = await sandbox.open_session(module, seed=0)
        groups = {os.getpgid(early.pid)}
        for seed in range(60):
            session = await sandbox.open_session(module, seed=seed)
            groups.add(os.getpgid(session.pid))
            await session.aclose()
        assert len(groups) == 2
        assert await early.call("ready", {}) == Returned(value=1)
        await early.aclose()
        await members_become(server_of(sandbox), 1)


async def test_processor_time_over_the_life_of_a_session_is_bounded(machine: SandboxReport) -> None:
    limits = SandboxLimits(cpu_seconds=1, soft_seconds=60, hard_seconds=60)
    async with open_locked(limits, machine, Runtime.default()) as sandbox:
        session = await opened(sandbox, CODE)
        with pytest.raises(SandboxDiedError, match="processor time"):
            await session.call("busy", {})


async def test_a_session_costs_two_descriptors_and_gives_them_back(locked: LockedSandbox) -> None:
    module = await locked.load(CODE, clock=CLOCK)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    sessions = [await locked.open_session(module, seed=n) for n in range(30)]
    assert len(os.listdir("/proc/self/fd")) - before <= 2 * len(sessions)
    for session in sessions:
        await session.aclose()
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(below(server_of(locked))) == 1


async def test_without_free_descriptors_opening_fails_clearly_and_the_others_live_on(
    locked: LockedSandbox,
) -> None:
    module = await locked.load(CODE, clock=CLOCK)
    session = await locked.open_session(module, seed=1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_free = os.dup(0)
    os.close(next_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free + 1, hard))
    try:
        with pytest.raises(SandboxError, match="limit of open files"):
            await locked.open_session(module, seed=2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert await session.call("ready", {}) == Returned(value=1)


async def test_opening_that_is_cancelled_leaves_no_process(locked: LockedSandbox) -> None:
    module = await locked.load(CODE, clock=CLOCK)
    for _ in range(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: locked.open_session(module, seed=1))
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    await members_become(server_of(locked), 1)


ANSWERS_TWICE = (
    "import inspect\n"
    "n = 0\n"
    "def answer():\n"
    "    global n\n"
    "    n += 1\n"
    "    frame = inspect.currentframe()\n"
    "    while 'call' not in frame.f_locals:\n        frame = frame.f_back\n"
    "    encode = frame.f_globals['wire'].encode\n"
    "    head = {'status': 'returned', 'call': frame.f_locals['call']}\n"
    "    frame.f_locals['self']._channel.sendall(encode(head, b'\"forged\"'))\n"
    "    return n\n"
)


async def test_an_answer_too_many_is_never_taken_for_that_of_the_next_call(
    unguarded: LockedSandbox,
) -> None:
    session = await opened(unguarded, ANSWERS_TWICE)
    assert await session.call("answer", {}) == Returned(value="forged")
    with pytest.raises(SandboxDiedError, match="tampered"):
        await session.call("answer", {})


IMPOSTORS = {
    "joins-without-a-fork": "loop._branch = lambda join: join(0)\n",
    "hangs-up": "import os\nloop._branch = lambda join: os.close(3)\n",
    "exits": "import os\nloop._branch = lambda join: os._exit(0)\n",
    "answers-in-place-of-what-it-forked": (
        "import os\n"
        "from astra_mcp.sandbox.zygote import frames as wire\n"
        "def branch(join):\n"
        "    if os.fork():\n"
        "        loop._channel.sendall(wire.encode({'status': 'ready'}))\n"
        "    else:\n"
        "        os._exit(0)\n"
        "loop._branch = branch\n"
    ),
    "hides-what-it-forked": (
        "import os, select\n"
        "loop._branch = lambda join: join(11) if os.fork() else select.poll().poll()\n"
    ),
    "makes-a-session-that-does-not-join": (
        "import os, select\nloop._branch = lambda join: os.fork() or select.poll().poll()\n"
    ),
}


@pytest.fixture
async def unguarded(machine: SandboxReport, limits: SandboxLimits) -> AsyncGenerator[LockedSandbox]:
    """A locked sandbox where tool code may import what it likes."""
    async with open_locked(limits, machine, UNGUARDED) as sandbox:
        yield sandbox


@pytest.mark.parametrize("name", IMPOSTORS)
async def test_a_template_that_does_not_branch_honestly_is_killed(
    unguarded: LockedSandbox, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake_module, "START_SECONDS", 0.5)
    bystander = await opened(unguarded, CODE)
    hostile = await unguarded.load(CODE + FIND_LOOP + IMPOSTORS[name], clock=CLOCK)
    with pytest.raises(SandboxError):
        await unguarded.open_session(hostile, seed=1)
    await members_become(server_of(unguarded), 2)
    assert await bystander.call("ready", {}) == Returned(value=1)


THIEF = """
import os, signal
tried = []

def try_to_join(*_):
    for attempt in (lambda: loop._join(0), os.fork):
        try:
            attempt()
        except OSError:
            continue
        tried.append("joined")

def pose():
    signal.signal(signal.SIGALRM, try_to_join)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)

def pid(): return [os.getpid(), tried]
"""


async def test_a_session_cannot_pose_as_the_next_one_and_is_stopped_for_trying(
    unguarded: LockedSandbox,
) -> None:
    module = await unguarded.load(f"{CODE}{FIND_LOOP}{THIEF}", clock=CLOCK)
    first = await unguarded.open_session(module, seed=1)
    assert await first.call("pose", {}) == Returned(value=None)
    for _ in range(3):
        second = await unguarded.open_session(module, seed=2)
        assert second.pid != first.pid
        assert await second.call("pid", {}) == Returned(value=[second.pid, []])
        await second.aclose()
    with pytest.raises(SandboxDiedError, match="again and again"):
        await first.call("busy", {})


CANNOT_FORK_TWICE = """
import errno, os, select
forks, fork = [], loop._fork
def fork_or_not():
    forks.append(1)
    pid = fork()
    if len(forks) != 2:
        return pid
    if pid == 0:
        os._exit(0)
    select.poll().poll(200)  # until that one is gone
    raise OSError(errno.EAGAIN, "as the kernel says")
loop._fork = fork_or_not
"""


async def test_a_template_that_cannot_fork_stays_and_its_sessions_too(
    unguarded: LockedSandbox,
) -> None:
    module = await unguarded.load(CODE + FIND_LOOP + CANNOT_FORK_TWICE, clock=CLOCK)
    first = await unguarded.open_session(module, seed=1)
    with pytest.raises(SandboxError, match="Resource temporarily unavailable"):
        await unguarded.open_session(module, seed=1)
    assert await first.call("ready", {}) == Returned(value=1)
    assert await (await unguarded.open_session(module, seed=1)).call("ready", {}) == Returned(
        value=1
    )


DESCRIPTORS = """
import errno, os
def descriptors():
    found = []
    for number in range(64):
        try:
            os.lseek(number, 0, os.SEEK_CUR)
        except OSError as error:
            if error.errno == errno.EBADF:
                continue
        found.append(number)
    return found
BEFORE = descriptors()
def before(): return BEFORE
"""


async def test_a_template_and_its_sessions_have_their_channel_and_no_other_descriptor(
    unguarded: LockedSandbox,
) -> None:
    module = await unguarded.load(CODE + DESCRIPTORS, clock=CLOCK)
    for seed in range(3):
        session = await unguarded.open_session(module, seed=seed)
        assert await session.call("descriptors", {}) == Returned(value=[3])
        assert await session.call("before", {}) == Returned(value=[3])


FORKS_ON = """
import os
def fork_on():
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""


async def test_who_forks_again_and_again_is_stopped_alone(unguarded: LockedSandbox) -> None:
    module = await unguarded.load(CODE + FORKS_ON, clock=CLOCK)
    sibling = await unguarded.open_session(module, seed=1)
    with pytest.raises(SandboxDiedError, match="again and again to start processes"):
        await (await unguarded.open_session(module, seed=1)).call("fork_on", {})
    with pytest.raises(ToolCodeError, match="ended its process while it was loaded"):
        await unguarded.load(f"{FORKS_ON}\nfork_on()", clock=CLOCK)
    assert await sibling.call("ready", {}) == Returned(value=1)


async def test_a_module_cannot_fork_while_it_loads(locked: LockedSandbox) -> None:
    code = (
        "import random\n"
        "try:\n    PID = random._os.fork()\n"
        "except OSError as error:\n    PID = error.errno\n"
        "def pid():\n    return PID\n"
    )
    session = await opened(locked, code)
    assert await session.call("pid", {}) == Returned(value=1)


def test_it_works_under_uvloop_too(machine: SandboxReport, strangers: frozenset[int]) -> None:
    async def main() -> Any:
        async with open_sandbox(SandboxLimits(), machine=machine) as sandbox:
            module = await sandbox.load(CODE, clock=CLOCK)
            sessions = [await sandbox.open_session(module, seed=n) for n in range(20)]
            answers = [await session.call("ready", {}) for session in sessions]
            for session in sessions[::2]:
                await session.aclose()
            return answers

    with ThreadPoolExecutor(1) as thread:  # this one has the loop of the module's fixtures
        done = thread.submit(anyio.run, main, backend_options={"use_uvloop": True})
        assert done.result() == [Returned(value=1)] * 20
    assert new_below(strangers) == []


async def test_a_signal_to_the_host_leaves_each_session_its_own_channel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handshake_module, "START_SECONDS", 5)
    ioctl = fcntl.ioctl
    delays = cycle(range(1, 60))

    def ask_amid_a_signal(listener: int, request: int, argument: bytes) -> None:
        signal.setitimer(signal.ITIMER_REAL, next(delays) * 1e-6)
        ioctl(listener, request, argument)

    def hear(*_: object) -> None:
        pass

    monkeypatch.setattr("astra_mcp.sandbox.gate.fcntl.ioctl", ask_amid_a_signal)
    before = signal.signal(signal.SIGALRM, hear)
    try:
        async with open_sandbox(SandboxLimits()) as sandbox:
            module = await sandbox.load("def same(n): return n", clock=CLOCK)
            for number in range(120):
                session = await sandbox.open_session(module, seed=number)
                assert await session.call("same", {"n": number}) == Returned(value=number)
                await session.aclose()
    finally:
        signal.signal(signal.SIGALRM, before)


async def test_where_the_user_may_have_no_more_processes_a_start_is_refused_and_works_later(
    locked: LockedSandbox,
) -> None:
    limit, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, hard))
    try:
        with pytest.raises(StartRefusedError, match="Resource temporarily unavailable"):
            await locked.load(CODE, clock=CLOCK)
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, hard))
    assert await (await opened(locked, CODE)).call("ready", {}) == Returned(value=1)


async def test_tools_may_have_fewer_processes_than_their_host_which_needs_threads(
    locked: LockedSandbox,
) -> None:
    _, hard = limits = resource.getrlimit(resource.RLIMIT_NPROC)
    few = 20_000 if hard == resource.RLIM_INFINITY else min(20_000, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (few, hard))
    try:
        session = await opened(locked, CODE)
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, limits)
    text = await anyio.Path(f"/proc/{session.pid}/limits").read_text()
    assert re.search(r"Max processes +(\d+)", text)[1] == str(few - min(256, few // 4))  # pyright: ignore[reportOptionalSubscript]
