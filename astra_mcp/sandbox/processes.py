"""A process of the locked sandbox, named by a descriptor that can mean no other process.

Process ids are reused; a pidfd is not. Knows signals; does not know what the process runs.
"""

import contextlib
import os
import select
import signal

import anyio

from astra_mcp.errors import SandboxError

__all__ = ["LockedProcess", "has_ended", "members_of", "open_member"]

_GONE_SECONDS = 30.0


class LockedProcess:
    """Kills one process and waits for its end."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid = pid
        self._handle: int | None = handle

    def kill(self) -> None:
        """Kill at once; a process that is gone is left alone."""
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    @property
    def has_ended(self) -> bool:
        """Whether it has exited, buried or not."""
        if self._handle is None:
            return True
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(0))

    async def wait_gone(self) -> None:
        """Wait until it has exited after a kill, and give its descriptor back."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            with anyio.fail_after(_GONE_SECONDS):
                await anyio.wait_readable(handle)
        except TimeoutError as error:
            raise SandboxError(f"process {self.pid} does not end after a kill") from error
        finally:
            os.close(handle)


def has_ended(child: int) -> bool:
    """Tell whether a child of this process has ended, without burying it."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def members_of(group: int) -> set[int]:
    """Look through this machine for the processes of a group; takes milliseconds."""
    found: set[int] = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(int(entry)) == group:
                    found.add(int(entry))
    return found


def open_member(pid: int, *, leader: int) -> LockedProcess:
    """Take hold of a member of a template's group that is not its leader.

    Raises:
        SandboxError: It is not; nothing was signalled.
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        raise SandboxError("a new process is gone") from error
    # Asked after the handle is open: had the number been reused, the group would differ.
    try:
        group = os.getpgid(pid)
    except ProcessLookupError:
        group = None
    if group != leader or pid == leader:
        os.close(handle)
        raise SandboxError("a process is not of the group that it claims")
    return LockedProcess(pid, handle)
