"""The fork server: a locked process that forks one locked process per template and runs no tool code.

It answers the host over a packet socket and reaps its children at once. A template leads a process group
that its sessions cannot leave; when the template ends, or the host does, the whole group is killed.
"""

import array
import contextlib
import gc
import json
import os
import select
import signal
import socket
from typing import NoReturn

from astra_mcp.sandbox.zygote.frames import encode
from astra_mcp.sandbox.zygote.lockdown import Lockdown
from astra_mcp.sandbox.zygote.loop import ToolProcess
from astra_mcp.sandbox.zygote.settings import CHANNEL, Settings

__all__ = ["ForkServer"]

_PACKET = 4096
_MOST_TEMPLATES = 4096
_exit = os._exit


class ForkServer:
    """Makes templates until the host closes the control socket."""

    def __init__(self, control: socket.socket, settings: Settings, lockdown: Lockdown) -> None:
        self._control = control
        self._settings = settings
        self._lockdown = lockdown
        self._pid = os.getpid()
        # Filled in place: what a template finds in memory does not tell how many there were before.
        self._templates = array.array("i", bytes(4 * _MOST_TEMPLATES))
        self._awake, self._waker = socket.socketpair()
        self._watch_children()  # needs calls that the lockdown takes away

    def run(self) -> NoReturn:
        """Serve; at the end of the host, kill every group and exit."""
        gc.collect()
        gc.freeze()  # a child that collects garbage shall not copy every page it touches
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._awake, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll()]
            if self._awake.fileno() in ready:
                self._awake.recv(_PACKET)
                self._reap()
            if self._control.fileno() in ready and not self._answer():
                self._kill_all()
                _exit(0)

    def _watch_children(self) -> None:
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        os.set_blocking(self._waker.fileno(), False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)

    def _answer(self) -> bool:
        """Handle one request; False where the host is gone."""
        packet, descriptors, _, _ = socket.recv_fds(self._control, _PACKET, 1)
        if not packet:
            return False
        channel = socket.socket(fileno=descriptors[0])
        try:
            place = self._templates.index(0)
            pid = os.fork()
        except (OSError, ValueError) as error:
            channel.close()
            refused = {"error": str(error), "is_refused": isinstance(error, OSError)}
            self._control.send(json.dumps(refused).encode())
            return True
        if pid == 0:
            self._become_template(channel)
        channel.close()
        self._templates[place] = pid
        # Opened here, where the process cannot be reaped in between, it names no other process.
        handle = os.pidfd_open(pid)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [handle]))]
        self._control.sendmsg([json.dumps({"pid": pid}).encode()], rights)
        os.close(handle)
        return True

    def _become_template(self, channel: socket.socket) -> NoReturn:
        """Lock the fresh child and enter the loop. Until then only trusted lines run."""
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps sessions
            self._lockdown.die_with_parent()
            if os.getppid() != self._pid:
                _exit(0)
            for inherited in (self._control, self._awake, self._waker):
                inherited.detach()  # closed below by number, not when an object is collected
            os.dup2(channel.detach(), CHANNEL)
            channel = socket.socket(fileno=CHANNEL)
            listener = self._lockdown.open_gate()
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))]
            # Before the limits: how many descriptors all processes of the user have under way counts
            # against that of open files.
            channel.sendmsg([encode({"status": "up"})], rights)
            self._lockdown.enter_tool(self._settings, channel=CHANNEL)
            ToolProcess(channel, self._settings, join=self._lockdown.join).run()
        finally:
            _exit(1)

    def _reap(self) -> None:
        """Bury every child that ended; a template takes its group with it."""
        with contextlib.suppress(ChildProcessError):
            while True:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if dead is None:
                    return
                if dead.si_pid in self._templates:
                    # Not yet buried, the leader keeps its number from being given to another group.
                    _kill_group(dead.si_pid)
                    self._templates[self._templates.index(dead.si_pid)] = 0
                os.waitpid(dead.si_pid, 0)

    def _kill_all(self) -> None:
        for leader in filter(None, self._templates):
            _kill_group(leader)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
