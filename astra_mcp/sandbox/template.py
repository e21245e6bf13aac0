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

from astra_mcp.concurrency import shielded
from astra_mcp.errors import SandboxError, ToolCodeError
from astra_mcp.sandbox.channel import Channel, channel_pair
from astra_mcp.sandbox.forkserver import ForkServer
from astra_mcp.sandbox.gate import BranchRefusedError, ForkGate
from astra_mcp.sandbox.handshake import ModuleSource, begin_session, load_module, wait_until_up
from astra_mcp.sandbox.memory import NOTHING, Account, MemoryBudget, Usage, usage_of
from astra_mcp.sandbox.processes import LockedProcess, members_of, open_member
from astra_mcp.sandbox.protocol import SandboxLimits
from astra_mcp.sandbox.session import ProcessSession

__all__ = ["Template"]

_FLOODED = "the tool tried again and again to start processes and was stopped"
_WORKED_ON = "the tool worked on behind its answer and was stopped"
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
        budget: MemoryBudget,
        server_usage: Usage,
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
        self._sessions: dict[ProcessSession, Account] = {}
        self._branches_left = _BRANCHES_PER_CPU_SECOND * limits.cpu_seconds
        self._killed = False
        self._is_stopped_for_memory = False
        self._released = False
        self._budget = budget
        self._account = Account(
            pid=process.pid,
            began=server_usage.resident,
            mapped=server_usage.mapped,
            is_busy=lambda: self.users > 0 or self._account.loaded is None,
            stop=self._stop_for_memory,
        )
        budget.open(self._account)

    @classmethod
    async def start(
        cls, server: ForkServer, source: ModuleSource, limits: SandboxLimits, budget: MemoryBudget
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
        template = cls(
            channel,
            process,
            limits,
            budget=budget,
            server_usage=server.usage,
            server_has_ended=server.has_ended,
        )
        try:
            await template._open_gate()
            await load_module(channel, source, limits, pid=template.pid)
            await template._begin_to_branch()
        except BaseException as error:
            await template.aclose("the template is closed")
            if isinstance(error, ToolCodeError) and not server.is_alive:
                raise SandboxError("the fork server ended; the module is not to blame") from error
            if template._is_stopped_for_memory:
                raise SandboxError(template._short_of_memory()) from error
            raise
        return template

    async def _begin_to_branch(self) -> None:
        """Have the loaded template fork as often as it is let."""
        if self._gate is None:
            raise SandboxError("a template came without its fork gate")
        self._account.loaded = usage_of(self.pid)
        self._gate.open()
        await self._channel.send({"op": "branch"})

    async def _open_gate(self) -> None:
        listener = await wait_until_up(self._channel)
        if listener is None:
            raise SandboxError("a template came without its fork gate")
        self._gate = ForkGate(listener, self.pid, on_flood=self._stop_flooder)

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
        loaded = self._account.loaded or NOTHING
        self._sessions[session] = account = Account(
            pid=process.pid,
            began=loaded.resident,
            mapped=loaded.mapped,
            is_busy=lambda: session.is_busy,
            stop=partial(self._stop_session_for_memory, session),
            num_calls=lambda: session.num_calls,
            stop_working=partial(session.kill, _WORKED_ON),
            parent=self._account,
        )
        self._budget.open(account)
        return session

    async def _fork(
        self, channel: Channel, theirs: socket, *, seed: int, clock: int
    ) -> LockedProcess:
        gate = self._gate
        if gate is None or self._killed:
            raise SandboxError("the template is gone")
        self._branches_left -= 1
        gate.grant(theirs)
        try:
            # Nobody but the new process gets the other end of its channel.
            await begin_session(channel, seed=seed, clock=clock)
        except SandboxError as error:
            raise gate.refusal or error from error
        finally:
            gate.revoke()
        return open_member(gate.newcomer, leader=self.pid)

    async def _has_strangers(self) -> bool:
        """Whether there is a process of the group after all, whose template says that it could not fork."""
        known = {self.pid, *(session.pid for session in self._sessions)}
        return bool(await to_thread.run_sync(members_of, self.pid) - known)

    def _let_go(self, on_closed: Callable[[], None], session: ProcessSession) -> None:
        self._budget.close(self._sessions.pop(session))
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

    def _short_of_memory(self) -> str:
        return (
            f"of all tools it held the most memory, when together they held more than "
            f"{self._budget.limit:,} bytes (sandbox.total_memory_bytes)"
        )

    def _stop_session_for_memory(self, session: ProcessSession) -> None:
        """Stop a session: at a call, which is to blame, or else its state is rebuilt when it is needed."""
        reason = f"the tool was stopped: {self._short_of_memory()}"
        if session.is_busy:
            session.kill(reason)
        else:
            session.lose(reason)

    def _stop_for_memory(self) -> None:
        self._is_stopped_for_memory = True
        self.kill(self._short_of_memory())

    def _has_ended(self) -> bool:
        """Whether what keeps the sessions alive is gone; its channel tells before they end."""
        hung_up = self._released or self._channel.is_hung_up
        return hung_up or self._process.has_ended or self._server_has_ended()

    def kill(self, reason: str) -> None:
        """Kill the template and its sessions, which are not to blame; their callers learn the reason."""
        self._killed = True
        self._budget.close(self._account)
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
