"""A locked process that has executed one module once, and branches into sessions.

It runs untrusted code, so nothing that it says of itself is believed: the kernel vouches for the process
that comes out of a branch, and puts the session's channel in the place of the only descriptor that it has.
Whatever does not fit ends the template with its whole group.
"""

from collections.abc import Callable
from functools import partial
from socket import socket
from typing import Self

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from astra_mcp.concurrency import shielded
from astra_mcp.errors import SandboxError, ToolCodeError
from astra_mcp.sandbox.channel import Channel, channel_pair
from astra_mcp.sandbox.forkserver import ForkServer
from astra_mcp.sandbox.gate import BranchRefusedError, ForkGate
from astra_mcp.sandbox.handshake import ModuleSource, begin_session, load_module, wait_until_up
from astra_mcp.sandbox.processes import LockedProcess, members_of, open_member
from astra_mcp.sandbox.protocol import SandboxLimits
from astra_mcp.sandbox.session import ProcessSession

__all__ = ["Template"]

_FLOODED = "the tool tried again and again to start processes and was stopped"
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
        self._gate = ForkGate(listener, self.pid, on_flood=self._stop_flooder)
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
        try:
            with theirs:
                async with self._turn:
                    process = await self._fork(channel, theirs, seed=seed, clock=clock)
        except BaseException as error:
            channel.close()
            if not isinstance(error, BranchRefusedError) or await self._has_strangers():
                self.kill("the sandbox of this module had to be stopped")
            raise
        session = ProcessSession(
            channel,
            process,
            self._limits,
            on_closed=partial(self._let_go, on_closed),
            is_lost=self._has_ended,
        )
        self._sessions.add(session)
        return session

    async def _fork(
        self, channel: Channel, theirs: socket, *, seed: int, clock: int
    ) -> LockedProcess:
        if self._gate is None or self._killed:
            raise SandboxError("the template is gone")
        self._branches_left -= 1
        self._gate.grant(theirs.fileno())
        try:
            await self._channel.send({"op": "branch"})
            newcomer = await self._gate.newcomer()
            theirs.close()  # else the end of the other process would not show
            # Nobody else holds its end of the channel.
            await begin_session(channel, seed=seed, clock=clock)
        finally:
            self._gate.revoke()
        return open_member(newcomer, leader=self.pid)

    async def _has_strangers(self) -> bool:
        """Whether there is a process of the group after all, whose template says that it could not fork."""
        known = {self.pid, *(session.pid for session in self._sessions)}
        return bool(await to_thread.run_sync(members_of, self.pid) - known)

    def _let_go(self, on_closed: Callable[[], None], session: ProcessSession) -> None:
        self._sessions.discard(session)
        if self._gate is not None:
            self._gate.forget(session.pid)
        on_closed()

    def _stop_flooder(self, pid: int) -> None:
        """Stop who goes on asking for processes: each question costs the host more than the asker."""
        for session in self._sessions:
            if session.pid == pid:
                session.kill(_FLOODED)
                return
        self.kill(_FLOODED)

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
