"""A process of this machine and our ends of its standard streams; it gets nothing else of ours.

uvloop starts a process with copies of its ends left open in it, so that an output which it closes never ends
for us, and forks with all of this process's memory, which takes 50 ms where that is 800 MB. Knows no lines.
"""

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.lowlevel
from anyio.lowlevel import RunVar

__all__ = ["Process"]

HIGH_WATER_BYTES: Final = 128 << 10
"""So much of an output is held before anybody takes it; then no more is read, and the process waits."""


_lock: Final = RunVar[anyio.Lock]("lock of starts")


class Process:
    """A process in a group of its own."""

    def __init__(
        self,
        popen: "subprocess.Popen[bytes]",
        stdin: "Input",
        stdout: "Output",
        stderr: "Output",
    ) -> None:
        self._popen = popen
        self._ended = asyncio.Event()
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
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
        streams = stdin, stdout, stderr = Input(), Output(), Output()
        is_started = False
        try:
            with ExitStack() as theirs:
                fds = [await _connect(stream, theirs) for stream in streams]
                async with _turns():
                    popen = _start(argv, fds, env, cwd)
            is_started = True
        finally:
            if not is_started:
                for stream in streams:
                    await stream.abort()
        return cls(popen, stdin, stdout, stderr)

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

    async def aclose(self) -> None:
        """Let go of its streams; what still runs is killed with its group, and reaped once it has ended."""
        if not self._ended.is_set():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        for stream in (self.stdin, self.stdout, self.stderr):
            await stream.abort()


class _Stream(asyncio.Protocol):
    """Our end of a standard stream.

    A socket, since of those both loops close the number once; that of a pipe uvloop closes twice, and in
    between it may be another thread's.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._moved = asyncio.Event()
        """Whoever waits for the stream looks at it again."""
        self._gone = asyncio.Event()

    async def abort(self) -> None:
        """Close it at once, whatever is under way; closing twice is allowed."""
        if self._transport is None or self._gone.is_set():
            return
        self._transport.abort()
        with anyio.CancelScope(shield=True):  # the loop closes it in its next round
            await self._gone.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._moved.set()
        self._gone.set()

    async def _move(self) -> None:
        self._moved.clear()
        await self._moved.wait()


class Input(_Stream):
    """Standard input. Data that is sent goes out whole, also where its sender is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self._is_full = False

    async def send(self, data: bytes) -> None:
        """Send data; returns once the process has read so much that more may come.

        Raises:
            anyio.BrokenResourceError: The process has closed it, or we have.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()
        transport = self._transport
        if transport is None or transport.is_closing():
            raise anyio.BrokenResourceError
        transport.write(data)
        while self._is_full and not transport.is_closing():
            await self._move()
        if transport.is_closing():
            raise anyio.BrokenResourceError

    def end(self) -> None:
        """Close it behind what was sent."""
        if self._transport is not None:
            self._transport.close()
        self._moved.set()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._moved.set()


class Output(_Stream):
    """Standard output or standard error."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()
        self._is_paused = False

    async def receive(self) -> bytearray:
        """Wait for data, and take all there is.

        Raises:
            anyio.EndOfStream: Nobody can write to it any more, or we have closed it.
        """
        while not self._held:
            if self._gone.is_set():
                raise anyio.EndOfStream
            await self._move()
        data, self._held = self._held, bytearray()
        if self._is_paused and self._transport is not None and not self._gone.is_set():
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def abort(self) -> None:
        """Close it, and drop what nobody took."""
        await super().abort()
        self._held.clear()

    def data_received(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > HIGH_WATER_BYTES and not self._is_paused:
            self._is_paused = True
            cast("asyncio.Transport", self._transport).pause_reading()
        self._moved.set()


def _turns() -> anyio.Lock:
    """Held in this loop while a process starts; whoever waits for it goes on in a later turn."""
    lock = _lock.get(None)
    if lock is None:
        lock = anyio.Lock()
        _lock.set(lock)
    return lock


async def _connect(stream: _Stream, theirs: ExitStack) -> int:
    """Attach our end of a stream to the loop; returns the other end, which stays open until the start."""
    ours, other = socket.socketpair()
    theirs.enter_context(other)
    loop = asyncio.get_running_loop()
    with anyio.CancelScope(shield=True):  # two rounds of the loop, in which nobody owns the socket
        await loop.create_unix_connection(lambda: stream, sock=ours)
    return other.fileno()


def _start(
    argv: Sequence[str], fds: Sequence[int], env: Mapping[str, str], cwd: Path | None
) -> "subprocess.Popen[bytes]":
    try:
        return _open(argv, fds, env, cwd)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    # A script that does not name its interpreter is the shell's, as everywhere else.
    program = shutil.which(argv[0], path=env.get("PATH", os.defpath)) or argv[0]
    return _open(["/bin/sh", program, *argv[1:]], fds, env, cwd)


def _open(
    argv: Sequence[str], fds: Sequence[int], env: Mapping[str, str], cwd: Path | None
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - what to start is the caller's choice
        argv,
        stdin=fds[0],
        stdout=fds[1],
        stderr=fds[2],
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
    if pidfd is None:
        threading.Thread(target=_reap, args=(popen, loop, tell), daemon=True).start()
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


def _reap(
    popen: "subprocess.Popen[bytes]", loop: asyncio.AbstractEventLoop, tell: Callable[[], None]
) -> None:
    popen.wait()
    with contextlib.suppress(RuntimeError):  # the loop has ended before the process
        loop.call_soon_threadsafe(tell)
