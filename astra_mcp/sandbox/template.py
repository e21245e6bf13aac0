"""A locked process that has executed one module once, and branches into sessions.

It runs untrusted code, so nothing that it says of itself is believed: the kernel vouches for the process
that comes out of a branch, and whatever does not fit ends the template with its whole group.
"""

from collections.abc import Callable
from socket import socket
from typing import Self

import anyio
from anyio.abc import TaskGroup

from astra_mcp.concurrency import shielded
from astra_mcp.errors import SandboxError, ToolCodeError
from astra_mcp.sandbox.channel import Channel, channel_pair
from astra_mcp.sandbox.forkserver import ForkServer
from astra_mcp.sandbox.gate import ForkGate
from astra_mcp.sandbox.handshake import (
    BranchRefusedError,
    ModuleSource,
    begin_session,
    load_module,
    wait_until_up,
)
from astra_mcp.sandbox.processes import LockedProcess, open_member
from astra_mcp.sandbox.protocol import SandboxLimits
from astra_mcp.sandbox.session import ProcessSession

__all__ = ["Template"]

_BRANCHES_PER_CPU_SECOND = 50
"""Branching costs a template 1 to 3 ms of its own processor time, which is limited too."""


class Template:
    """The host's view of a template and of the sessions that branched from it."""

    def __init__(
        self,
        channel: Channel,
        process: LockedProcess,
        limits: SandboxLimits,
        *,
        server_has_ended: Callable[[], bool],
    ) -> None:
        self._server_has_ended = server_has_ended
        self.users = 0
        """How many are about to branch from it."""
        self._channel = channel
        self._process = process
        self._limits = limits
        self._gate: ForkGate | None = None
        self._turn = anyio.Lock()
        self._sessions: set[ProcessSession] = set()
        self._branches_left = _BRANCHES_PER_CPU_SECOND * limits.cpu_seconds
        self._killed = False
        self._released = False

    @classmethod
    async def start(
        cls, server: ForkServer, source: ModuleSource, limits: SandboxLimits, tasks: TaskGroup
    ) -> Self:
        """Fork a locked process and have it execute the module.

        Raises:
            ToolCodeError: The module does not load.
            SandboxError: The process could not be started.
        """
        channel, theirs = channel_pair()
        try:
            with theirs:
                process = await server.fork_template(theirs)
        except BaseException:
            channel.close()
            raise
        template = cls(channel, process, limits, server_has_ended=server.has_ended)
        try:
            await template._open_gate(tasks)
            await load_module(channel, source, limits, pid=template.pid)
        except BaseException as error:
            await template.aclose("the template is closed")
            if isinstance(error, ToolCodeError) and not server.is_alive:
                raise SandboxError("the fork server ended; the module is not to blame") from error
            raise
        return template

    async def _open_gate(self, tasks: TaskGroup) -> None:
        listener = await wait_until_up(self._channel)
        if listener is None:
            raise SandboxError("a template came without its fork gate")
        self._gate = ForkGate(listener, self.pid)
        tasks.start_soon(self._gate.watch)

    @property
    def pid(self) -> int:
        """Process id, which is also its group's."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """True while it can branch."""
        return not self._killed and self._branches_left > 0

    @property
    def is_idle(self) -> bool:
        """True where closing it would end no session."""
        return not self._sessions and not self.users

    async def branch(
        self, *, seed: int, clock: int, on_closed: Callable[[], None]
    ) -> ProcessSession:
        """Fork a session from the template and set its seed and clock.

        Raises:
            SandboxError: It could not; where the process did not do as it was told, the template is dead.
        """
        channel, theirs = channel_pair()
        channel.ask_for_sender(wanted=True)
        try:
            with theirs:
                async with self._turn:
                    process = await self._fork(channel, theirs, seed=seed, clock=clock)
        except BaseException as error:
            channel.close()
            if not isinstance(error, BranchRefusedError):
                self.kill("the sandbox of this module had to be stopped")
            raise
        channel.ask_for_sender(wanted=False)

        def closed(session: ProcessSession) -> None:
            self._sessions.discard(session)
            on_closed()

        session = ProcessSession(
            channel, process, self._limits, on_closed=closed, is_lost=self._has_ended
        )
        self._sessions.add(session)
        return session

    async def _fork(
        self, channel: Channel, theirs: socket, *, seed: int, clock: int
    ) -> LockedProcess:
        if self._gate is None or self._killed:
            raise SandboxError("the template is gone")
        self._branches_left -= 1
        self._gate.grant()
        try:
            await self._channel.send({"op": "branch"}, descriptors=[theirs.fileno()])
            theirs.close()  # else the end of the other process would not show
            # One fork passed, so whoever speaks here and is neither the template nor one of its sessions,
            # which may have kept a hold of the template's channel, is the new process.
            speaker = await begin_session(channel, seed=seed, clock=clock)
            is_new = self._gate.is_used and speaker not in {s.pid for s in self._sessions}
        finally:
            self._gate.revoke()
        if not is_new:
            raise SandboxError("an older process of a template poses as a new one")
        return open_member(speaker, leader=self.pid)

    def _has_ended(self) -> bool:
        """Whether what keeps the sessions alive is gone; its channel tells before they end."""
        hung_up = self._released or self._channel.is_hung_up
        return hung_up or self._process.has_ended or self._server_has_ended()

    def kill(self, reason: str) -> None:
        """Kill the template and its sessions, which are not to blame; their callers learn the reason."""
        self._killed = True
        self._process.kill()
        for session in tuple(self._sessions):
            session.lose(reason)
        if self._gate is not None:
            self._gate.close()

    async def aclose(self, reason: str) -> None:
        """Kill, and wait until the process is gone; closing twice is allowed."""
        self.kill(reason)
        with shielded():
            async with self._turn:
                if not self._released:
                    self._released = True
                    self._channel.close()
                    await self._process.wait_gone()
            for session in tuple(self._sessions):
                await session.aclose()
