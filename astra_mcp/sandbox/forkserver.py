"""The host's side of the fork server: starts it, asks it for templates, notices its end."""

import array
import json
import os
import select
import socket
from typing import Any, Self

import anyio
from anyio.abc import Process

from astra_mcp.concurrency import shielded
from astra_mcp.errors import SandboxError, SandboxUnavailableError, StartRefusedError
from astra_mcp.sandbox.memory import NOTHING, usage_of
from astra_mcp.sandbox.processes import LockedProcess, has_ended
from astra_mcp.sandbox.runtime import START_SECONDS, Runtime
from astra_mcp.sandbox.zygote.settings import Settings

__all__ = ["ForkServer"]

_PACKET = 4096
_END_SECONDS = 10.0


class ForkServer:
    """A running fork server. It is trusted: it runs no tool code."""

    def __init__(self, process: Process, control: socket.socket, *, answer_seconds: float) -> None:
        control.setblocking(False)
        self._answer_seconds = answer_seconds
        self._is_given_up = False
        self._process = process
        self._control = control
        self._turn = anyio.Lock()
        self.usage = NOTHING
        """What a template begins with, which it shares."""

    @classmethod
    async def start(cls, runtime: Runtime, settings: Settings) -> Self:
        """Start a fork server and wait until it is locked.

        Raises:
            SandboxUnavailableError: It could not lock itself; names the layer.
            SandboxError: It did not start.
        """
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = await runtime.start("zygote", theirs.fileno(), settings)
        server = cls(process, control, answer_seconds=runtime.answer_seconds)
        try:
            ready, _ = await server._receive(START_SECONDS)
        except BaseException:
            await server.aclose()
            raise
        if "missing" in ready:
            await server.aclose()
            raise SandboxUnavailableError(f"the sandbox cannot be locked: {ready['reason']}")
        try:
            await server._rehearse()
            server.usage = usage_of(server.pid)
        except BaseException:
            await server.aclose()
            raise
        return server

    async def _rehearse(self) -> None:
        """Fork a process for nothing: what the first time leaves in memory, all templates shall find."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = await self.fork_template(theirs)
            process.kill()
            await process.wait_gone()

    @property
    def pid(self) -> int:
        """Process id of the fork server."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False as soon as its end of the control socket is closed, which is before its children end.

        One that did not answer in time is not alive either.
        """
        if self._is_given_up:
            return False
        poll = select.poll()
        poll.register(self._control, 0)
        return not poll.poll(0)

    async def fork_template(self, channel: socket.socket) -> LockedProcess:
        """Fork a process that locks itself and then serves as a template over ``channel``.

        Raises:
            StartRefusedError: The machine let it not fork.
            SandboxError: It has as many as it may, or is gone.
        """
        # Not to be cancelled between question and answer; both are short and have a deadline.
        with shielded():
            async with self._turn:
                self._send(channel.fileno())
                answer, descriptors = await self._receive_or_give_up()
        if not descriptors:
            kind = StartRefusedError if answer["is_refused"] else SandboxError
            raise kind(f"no process for a template: {answer['error']}")
        return LockedProcess(answer["pid"], descriptors[0])

    def has_ended(self) -> bool:
        """Tell whether it has ended, before anyone was told; its processes end with it."""
        return has_ended(self._process.pid)

    async def wait_ended(self) -> None:
        """Wait for the end of the fork server, expected or not."""
        await self._process.wait()

    async def aclose(self) -> None:
        """End the fork server and, through it, every process of it that is left."""
        with shielded():
            self._control.close()  # it sees the end, kills its groups, reaps them, and exits
            with anyio.move_on_after(_END_SECONDS):
                await self._process.wait()
                return
            self._process.kill()
            await self._process.wait()

    def _send(self, descriptor: int) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        if self._is_given_up:
            raise SandboxError("the fork server of the sandbox did not answer")
        try:
            self._control.sendmsg([b"template"], rights)
        except OSError as error:
            raise SandboxError("the fork server of the sandbox is gone") from error

    async def _receive_or_give_up(self) -> tuple[dict[str, Any], list[int]]:
        """Receive an answer; without one the fork server ends: a late one would be taken for the next."""
        try:
            return await self._receive(self._answer_seconds)
        except SandboxError:
            self._is_given_up = True
            if self._process.returncode is None:
                self._process.kill()
            raise

    async def _receive(self, seconds: float) -> tuple[dict[str, Any], list[int]]:
        try:
            with anyio.fail_after(seconds):
                await anyio.wait_readable(self._control)
            packet, descriptors, _, _ = socket.recv_fds(self._control, _PACKET, 1)
        except (OSError, TimeoutError) as error:
            raise SandboxError("the fork server of the sandbox does not answer") from error
        if not packet:
            raise SandboxError("the fork server of the sandbox ended")
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        return json.loads(packet), descriptors
