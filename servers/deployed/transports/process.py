"""A process of this machine, which gets its standard streams and nothing else of ours.

uvloop starts a process with copies of its ends left open in it, so that an output which it closes never ends
for us, and forks with all of this process's memory, which takes 50 ms where that is 800 MB.

Our ends of its pipes are read and written here whenever the loop says that it can be done at once. The loops'
own streams are not used: uvloop closes the number of a pipe twice, and in between it may be another thread's;
that of a socket it closes once, but a program cannot open a ``/dev/stderr`` that is one. Knows no lines.

When the gateway dies without a chance to end its processes itself, one small process for all does it: it
reads from a pipe which groups there are, and kills those left when the pipe ends.
"""

import asyncio
import contextlib
import errno
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Self, cast

import anyio
import anyio.lowlevel
from anyio.lowlevel import RunVar

__all__ = ["Process", "Watchdog"]

CHUNK_BYTES: Final = 1 << 16
HIGH_WATER_BYTES: Final = 128 << 10
"""So much of an output is held before anybody takes it; then no more is read, and the process waits."""


class _End:
    """Our end of a pipe; belongs to the loop that it is made in."""

    def __init__(self, pipe: IO[bytes]) -> None:
        """Take over a pipe that keeps nothing back itself."""
        self._pipe = pipe
        self._fd: int | None = pipe.fileno()
        self._loop = asyncio.get_running_loop()
        self._moved = asyncio.Event()
        """Whoever waits for the pipe looks at it again."""
        os.set_blocking(self._fd, False)

    def close(self) -> None:
        """Close it at once, whatever is under way; closing twice is allowed."""
        if self._fd is None:
            return
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._pipe.close()
        self._fd = None
        self._moved.set()

    @property
    def _is_closed(self) -> bool:
        return self._fd is None

    async def _move(self) -> None:
        self._moved.clear()
        await self._moved.wait()


class Input(_End):
    """Standard input. Data that is sent goes out whole, also where its sender is cancelled."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(pipe)
        self._left = bytearray()
        """What was sent and is not written yet."""
        self._is_ending = False

    async def send(self, data: bytes) -> None:
        """Send data; returns once it is written, so that a process that does not read is waited for.

        Raises:
            anyio.BrokenResourceError: The process has closed it, or we have.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._fd is None or self._is_ending:
            raise anyio.BrokenResourceError
        is_alone = not self._left
        self._left += data
        if is_alone:
            self._write(self._fd)
            if self._left and not self._is_closed:
                self._loop.add_writer(self._fd, self._write, self._fd)
        while self._left and not self._is_closed:
            await self._move()
        if self._left:
            raise anyio.BrokenResourceError

    def end(self) -> None:
        """Close it behind what was sent."""
        self._is_ending = True
        if not self._left:
            self.close()

    def _write(self, fd: int) -> None:
        try:
            written = os.write(fd, self._left)
        except BlockingIOError:
            return
        except OSError:  # the process has closed it
            self.close()
            return
        del self._left[:written]
        if self._left:
            return
        self._loop.remove_writer(fd)
        self._moved.set()
        if self._is_ending:
            self.close()


class Output(_End):
    """Standard output or standard error."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(pipe)
        self._held = bytearray()
        self._is_paused = False
        self._go_on()

    async def receive(self) -> bytearray:
        """Wait for data, and take all there is.

        Raises:
            anyio.EndOfStream: Nobody can write to it any more, or we have closed it.
        """
        while not self._held:
            if self._fd is None:
                raise anyio.EndOfStream
            await self._move()
        data, self._held = self._held, bytearray()
        if self._is_paused:
            self._is_paused = False
            self._go_on()
        return data

    def _go_on(self) -> None:
        if self._fd is not None:
            self._loop.add_reader(self._fd, self._read, self._fd)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        self._held += data
        if len(self._held) > HIGH_WATER_BYTES:
            self._is_paused = True
            self._loop.remove_reader(fd)
        self._moved.set()


_lock: Final = RunVar[anyio.Lock]("lock of starts")


class Process:
    """A process in a group of its own."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen
        self._ended = asyncio.Event()
        self.stdin = Input(_input_of(popen))
        self.stdout = Output(cast("IO[bytes]", popen.stdout))
        self.stderr = Output(cast("IO[bytes]", popen.stderr))
        _when_ended(popen, self._ended.set)

    @classmethod
    async def start(
        cls, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path | None
    ) -> "Process":
        """Start a process; where it does not start, or the caller is cancelled, nothing is left of it.

        No thread does this: on Linux the interpreter lets no other run until the program is loaded. That
        takes about a millisecond, so of many that start at once each waits for its turn of the loop.

        Args:
            argv: The program and its arguments.
            env: All of its environment.
            cwd: Its working folder; ours where None.

        Raises:
            OSError: It cannot be started.
            ValueError: An argument or a variable holds what none can.
        """
        async with _turns():
            try:
                return cls(_open(argv, env, cwd))
            except OSError as error:
                if error.errno != errno.ENOEXEC:
                    raise
            # A script that does not name its interpreter is the shell's, as everywhere else.
            program = shutil.which(argv[0], path=env.get("PATH", os.defpath)) or argv[0]
            return cls(_open(["/bin/sh", program, *argv[1:]], env, cwd))

    @property
    def pid(self) -> int:
        """Of the process, and of its group."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """How it ended, the signal as a negative number; None while it runs."""
        return self._popen.returncode if self._ended.is_set() else None

    async def wait(self) -> int:
        """Wait for its end; output of it may still be there, or come from processes that it started."""
        await self._ended.wait()
        return self._popen.returncode

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to all of its group that is still there."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        """Let go of its streams; what still runs is killed with its group, and reaped once it has ended."""
        if not self._ended.is_set():
            self.signal_group(signal.SIGKILL)
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()


def _turns() -> anyio.Lock:
    """Held in this loop while a process starts; whoever waits for it goes on in a later turn."""
    lock = _lock.get(None)
    if lock is None:
        lock = anyio.Lock()
        _lock.set(lock)
    return lock


def _open(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path | None
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - what to start is the caller's choice
        argv,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        close_fds=True,
        start_new_session=True,
    )


def _when_ended(popen: "subprocess.Popen[bytes]", tell: Callable[[], None]) -> None:
    """Reap a process once it has ended, and tell of that in this loop.

    Linux names processes by files that a loop can watch. Elsewhere, and where that is forbidden, a thread for
    each process waits for it.
    """
    loop = asyncio.get_running_loop()
    pidfd = _pidfd(popen.pid)

    def wait() -> None:
        popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop has ended before the process
            loop.call_soon_threadsafe(tell)

    if pidfd is None:
        threading.Thread(target=wait, daemon=True).start()
        return

    def reap() -> None:
        if popen.poll() is not None:
            loop.remove_reader(pidfd)
            os.close(pidfd)
            tell()

    loop.add_reader(pidfd, reap)


def _pidfd(pid: int) -> int | None:
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, a filter of system calls, no number left
        return None


END_SECONDS = 5.0

_log = logging.getLogger(__name__)
_SCRIPT: Final = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
groups = set(map(int, sys.argv[1:]))
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Watchdog:
    """Knows the process groups that must not outlive this process. Starts with the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it; groups that are still known to it end too."""
        if self._process is None:
            return
        _input_of(self._process).close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:  # it was stopped
            _kill(self._process)
            for group in self._groups:
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
        self._process = None

    def add(self, group: int) -> None:
        """Have a group killed when this process ends."""
        self._groups.add(group)
        self._tell(b"+%d\n" % group)

    def remove(self, group: int) -> None:
        """Forget a group that has ended."""
        self._groups.discard(group)
        if self._process is not None:
            self._tell(b"-%d\n" % group)

    def _tell(self, line: bytes) -> None:
        """Never waits: one that does not read is as good as none."""
        if self._process is None:
            self._process = _start_watchdog(self._groups)
            return
        try:
            os.write(_input_of(self._process).fileno(), line)
        except (BrokenPipeError, BlockingIOError) as error:
            why = "was killed" if isinstance(error, BrokenPipeError) else "does not read"
            _log.warning(
                "the process that watches over deployed servers %s: starting it again", why
            )
            _kill(self._process)
            self._process = _start_watchdog(self._groups)


def _input_of(popen: "subprocess.Popen[bytes]") -> IO[bytes]:
    return cast("IO[bytes]", popen.stdin)


def _kill(popen: "subprocess.Popen[bytes]") -> None:
    """End a watchdog that ends no group any more; its input is closed after that."""
    popen.kill()
    popen.wait()
    _input_of(popen).close()


def _start_watchdog(groups: Iterable[int]) -> "subprocess.Popen[bytes]":
    popen = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-I", "-S", "-c", _SCRIPT, *map(str, groups)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    os.set_blocking(_input_of(popen).fileno(), False)
    return popen
