"""A process of this machine, which gets its standard streams and nothing else of ours.

uvloop starts a process with copies of its ends left open in it, so that an output which it closes never ends
for us, and forks with all of this process's memory, which takes 50 ms where that is 800 MB. Knows no lines.
"""

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, cast

import anyio
from anyio.lowlevel import RunVar

from servers.deployed.transports.pipes import Input, Output

__all__ = ["Process"]

_lock: Final = RunVar[anyio.Lock]("lock of starts")


class Process:
    """A process in a group of its own."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen
        self._ended = asyncio.Event()
        self.stdin = Input(cast("IO[bytes]", popen.stdin))
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
            return cls(_start(argv, env, cwd))

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

    def close(self) -> None:
        """Let go of its streams; what still runs is killed with its group, and reaped once it has ended."""
        if not self._ended.is_set():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()


def _turns() -> anyio.Lock:
    """Held in this loop while a process starts; whoever waits for it goes on in a later turn."""
    lock = _lock.get(None)
    if lock is None:
        lock = anyio.Lock()
        _lock.set(lock)
    return lock


def _start(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path | None
) -> "subprocess.Popen[bytes]":
    try:
        return _open(argv, env, cwd)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    # A script that does not name its interpreter is the shell's, as everywhere else.
    program = shutil.which(argv[0], path=env.get("PATH", os.defpath)) or argv[0]
    return _open(["/bin/sh", program, *argv[1:]], env, cwd)


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
