"""A process and its standard streams under both loops: what it has, flow control, its end, what it leaves."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path
from subprocess import Popen
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from servers.deployed.transports import process
from servers.deployed.transports.process import Process, Watchdog
from servers.deployed.transports.stdio import Command, StdioWire

from deployed_workshop import until
from processes import table

ENOUGH = 64 << 20
"""More than streams may hold on their way."""
OPEN_FILES = """
import os
for number in os.listdir("/proc/self/fd"):
    try:
        os.fstat(int(number))  # the list itself had one
        print(number)
    except OSError:
        pass
"""
FLOOD = f"""
import os, select
os.set_blocking(1, False)
written = 0
while written < {ENOUGH} and select.select([], [1], [], 0.5)[1]:
    written += os.write(1, bytes(4096))
os.write(2, str(written).encode())
"""
LATE_READER = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.write(1, b"ready")
signal.sigwait([signal.SIGUSR1])
os.write(1, str(len(sys.stdin.buffer.read())).encode())
"""


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both event loops; each has its own streams."""
    return "asyncio", {"use_uvloop": request.param}


async def start(script: str) -> Process:
    """Start a Python script."""
    env = {"PATH": os.environ["PATH"]}
    return await Process.start([sys.executable, "-I", "-S", "-c", script], env=env, cwd=None)


@pytest.fixture
async def settled_loop() -> None:
    """Have the loop open what it keeps open from its first stream on."""
    await settled(await start(""))


async def all_of(process: Process) -> bytes:
    """Everything that a process writes to its standard output."""
    said = b""
    with anyio.fail_after(20):
        while True:
            try:
                said += await process.stdout.receive()
            except anyio.EndOfStream:
                return said


async def settled(process: Process) -> int:
    """Wait for the end of a process, and let go of it."""
    with anyio.fail_after(20):
        code = await process.wait()
        process.close()
    return code


def open_files() -> set[str]:
    """Files that this process has open, by number."""
    return set(os.listdir("/proc/self/fd"))


def children() -> set[int]:
    """Processes of this one, zombies included."""
    return {process.pid for process in table() if process.parent == os.getpid()}


# --- what it has -----------------------------------------------------------------------------------


async def test_a_process_has_its_three_streams_open_and_nothing_else(tmp_path: Path) -> None:
    with (tmp_path / "inheritable").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        other = await start("input()")
        process = await start(OPEN_FILES)
        assert (await all_of(process)).split() == [b"0", b"1", b"2"]
    await settled(process)
    other.close()
    await settled(other)


async def test_a_process_can_open_its_streams_by_their_names() -> None:
    process = await start("print(open('/dev/stdin').readline(), file=open('/dev/stdout', 'w'))")
    await process.stdin.send(b"hello\n")
    assert (await all_of(process)).strip() == b"hello"
    assert await settled(process) == 0


async def test_an_output_that_is_closed_ends_though_the_process_lives_on() -> None:
    process = await start("import os; os.close(1); input()")
    assert await all_of(process) == b""
    assert process.returncode is None
    await process.stdin.send(b"\n")
    assert await settled(process) == 0


async def test_a_script_that_names_no_interpreter_is_run_by_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("echo $1\n")
    script.chmod(0o755)
    path = f"{os.environ['PATH']}:{tmp_path}"
    for name in (str(script), "server"):
        process = await Process.start([name, "hello"], env={"PATH": path}, cwd=None)
        assert await all_of(process) == b"hello\n"
        assert await settled(process) == 0


async def test_others_have_their_turn_between_the_starts_of_many_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            seen.append("start")
            super().__init__(*args, **kwargs)

    async def start_and_end() -> None:
        assert await settled(await start("")) == 0

    async def take_turns() -> None:
        while seen.count("start") < 8:
            seen.append("turn")
            await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(subprocess, "Popen", Noted)
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(start_and_end)
        group.start_soon(take_turns)
    assert ("start", "start") not in pairwise(seen)


# --- flow control ----------------------------------------------------------------------------------


async def test_sending_waits_for_a_process_that_does_not_read() -> None:
    process = await start(LATE_READER)
    assert await process.stdout.receive() == b"ready"
    part = bytes(1 << 16)
    sent = 0

    async def send() -> None:
        nonlocal sent
        for _ in range(ENOUGH // len(part)):
            await process.stdin.send(part)
            sent += len(part)
        process.stdin.end()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            assert sent < 1 << 20
            os.kill(process.pid, signal.SIGUSR1)
            assert await all_of(process) == str(ENOUGH).encode()
    assert await settled(process) == 0


async def test_what_a_cancelled_sender_had_begun_to_send_arrives_whole() -> None:
    process = await start(LATE_READER)
    assert await process.stdout.receive() == b"ready"
    async with anyio.create_task_group() as group:
        group.start_soon(process.stdin.send, bytes(4 << 20))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    process.stdin.end()
    os.kill(process.pid, signal.SIGUSR1)
    assert await all_of(process) == str(4 << 20).encode()
    assert await settled(process) == 0


async def test_a_flood_that_nobody_takes_makes_the_process_wait_and_is_not_lost() -> None:
    process = await start(FLOOD)
    with anyio.fail_after(60):
        written = int(await process.stderr.receive())
    assert written < 4 << 20
    assert await all_of(process) == bytes(written)
    assert await settled(process) == 0


async def test_sending_to_a_process_that_has_closed_its_input_fails() -> None:
    process = await start("import os; os.close(0); os.write(1, b'x'); os.read(os.pipe()[0], 1)")
    await process.stdout.receive()
    with anyio.fail_after(20), pytest.raises(anyio.BrokenResourceError):
        await process.stdin.send(bytes(ENOUGH))
    process.close()
    assert await settled(process) == -signal.SIGKILL


# --- its end ---------------------------------------------------------------------------------------


def _refuse(pid: int) -> int:
    raise PermissionError(errno.EPERM, f"no file for {pid}")


@pytest.mark.usefixtures("settled_loop")
@pytest.mark.parametrize("has_pidfds", [True, False])
async def test_the_end_of_a_process_is_told_and_nothing_is_left_of_it(
    monkeypatch: pytest.MonkeyPatch, has_pidfds: bool
) -> None:
    if not has_pidfds:
        monkeypatch.setattr(os, "pidfd_open", _refuse)
    files, before = open_files(), children()
    ended = [await start("raise SystemExit(7)") for _ in range(10)]
    assert {await settled(process) for process in ended} == {7}
    killed = await start("input()")
    assert killed.returncode is None
    killed.close()
    assert await settled(killed) == killed.returncode == -signal.SIGKILL
    assert children() == before
    assert open_files() == files


async def test_processes_of_others_end_beside_ours_and_each_is_told_its_own() -> None:
    ours = await start("input(); raise SystemExit(3)")
    async with await anyio.open_process(["sh", "-c", "exit 4"], stdin=subprocess.DEVNULL) as other:
        assert await other.wait() == 4
    await ours.stdin.send(b"\n")
    assert await settled(ours) == 3


@pytest.mark.usefixtures("settled_loop")
@pytest.mark.parametrize(
    ("program", "cwd", "error"),
    [
        ("/nowhere/server", None, FileNotFoundError),
        ("no-such-server", None, FileNotFoundError),
        ("/etc/passwd", None, PermissionError),
        ("sh", Path("/nowhere"), FileNotFoundError),
        ("sh\0", None, ValueError),
    ],
)
async def test_a_process_that_cannot_be_started_leaves_nothing_open(
    program: str, cwd: Path | None, error: type[Exception]
) -> None:
    files = open_files()
    with pytest.raises(error):
        await Process.start([program], env={"PATH": os.environ["PATH"]}, cwd=cwd)
    assert open_files() == files


@pytest.mark.usefixtures("settled_loop")
async def test_a_start_that_is_cancelled_leaves_neither_process_nor_file_nor_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = Command(argv=["cat", "${SESSION_DIR}/none"], env={}, cwd=None)
    with Watchdog() as watchdog:
        watchdog.add(1 << 22)  # no process has so high a number; starts the watchdog
        watchdog.remove(1 << 22)
        files, before = open_files(), children()
        started: list[StdioWire] = []

        async def start_wire() -> None:
            wire = await StdioWire.start(command, tasks, watchdog, name="x", redact=str)
            started.append(wire)

        rounds = 0
        async with anyio.create_task_group() as tasks:
            while not started:
                assert (open_files(), children()) == (files, before)
                async with anyio.create_task_group() as group:
                    group.start_soon(start_wire)
                    for _ in range(rounds):
                        await anyio.lowlevel.checkpoint()
                    group.cancel_scope.cancel()
                assert started or not os.listdir(tmp_path)
                rounds += 1
            await started[0].aclose()
        await until(lambda: (open_files(), children()) == (files, before))
        assert rounds > 1
        assert not os.listdir(tmp_path)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[Watchdog, Popen[bytes], int]]:
    """A watchdog that was stopped, the one group that it knows, and its own number."""
    monkeypatch.setattr(process, "END_SECONDS", 0.1)
    before = children()
    with Watchdog() as watchdog, Popen(["sleep", "600"], start_new_session=True) as group:
        try:
            watchdog.add(group.pid)
            [number] = children() - before - {group.pid}
            os.kill(number, signal.SIGSTOP)
            yield watchdog, group, number
        finally:
            group.kill()


def test_a_watchdog_that_reads_nothing_is_waited_for_by_nobody_and_replaced(
    watched: tuple[Watchdog, Popen[bytes], int], caplog: pytest.LogCaptureFixture
) -> None:
    watchdog, group, number = watched
    news = 100_000 // len("-4194304\n")  # more than a pipe holds

    def tell() -> None:
        for _ in range(news):
            watchdog.remove(1 << 22)

    telling = threading.Thread(target=tell)
    telling.start()
    telling.join(20)
    was_held_up = telling.is_alive()
    if was_held_up:
        os.kill(number, signal.SIGCONT)
        telling.join()
    assert not was_held_up
    assert [r.getMessage().rpartition(" servers ")[2] for r in caplog.records] == [
        "does not read: starting it again"
    ]
    assert number not in children()
    assert group.poll() is None  # the end of the one that was stopped is no end of its group
    watchdog.__exit__()
    assert group.wait(20) == -signal.SIGKILL


def test_what_a_stopped_watchdog_knows_is_killed_at_the_end(
    watched: tuple[Watchdog, Popen[bytes], int],
) -> None:
    watchdog, group, number = watched
    watchdog.__exit__()
    assert group.wait(20) == -signal.SIGKILL
    assert number not in children()
