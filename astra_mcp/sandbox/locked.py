"""The locked sandbox: one fork server, a few templates, a process per session.

Owns every process it makes and restarts the fork server when that ends. Does not know how a process is
locked (:mod:`astra_mcp.sandbox.zygote`) nor how a template branches (:mod:`~astra_mcp.sandbox.template`).
"""

import logging
from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from astra_mcp.concurrency import shielded
from astra_mcp.errors import SandboxError
from astra_mcp.sandbox.forkserver import ForkServer
from astra_mcp.sandbox.handshake import ModuleSource, nanoseconds
from astra_mcp.sandbox.memory import LOOK_SECONDS, MemoryBudget, machine_memory
from astra_mcp.sandbox.protocol import ModuleId, SandboxLimits, SandboxReport
from astra_mcp.sandbox.runtime import Runtime, settings_for
from astra_mcp.sandbox.session import ProcessSession
from astra_mcp.sandbox.template import Template

_log = logging.getLogger(__name__)

__all__ = ["LockedSandbox", "open_locked"]

_MAX_SOURCES = 1024
"""Modules whose text is kept, the last ones used: an evicted template is built anew from it."""
_CLOSED = "the sandbox is closed"
_SERVER_ENDED = "the sandbox ended and has to be started again"


@asynccontextmanager
async def open_locked(
    limits: SandboxLimits, report: SandboxReport, runtime: Runtime
) -> AsyncGenerator["LockedSandbox"]:
    """Own the fork server and everything that comes from it; leaving kills it all."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        sandbox = LockedSandbox(limits, report, runtime, tasks)
        try:
            yield sandbox
        except Exception as error:  # noqa: BLE001 - re-raised below, outside of the group
            failure = error
        finally:
            await sandbox.aclose()
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


class LockedSandbox:
    """A :class:`~astra_mcp.sandbox.protocol.Sandbox`; the fork server starts at its first use."""

    def __init__(
        self,
        limits: SandboxLimits,
        report: SandboxReport,
        runtime: Runtime,
        tasks: TaskGroup,
    ) -> None:
        self._limits = limits
        self.report = report
        """What isolates the sessions."""
        self._runtime = runtime
        self._tasks = tasks
        self._sources: OrderedDict[ModuleId, ModuleSource] = OrderedDict()
        """Least recently loaded first."""
        self._current: OrderedDict[ModuleId, Template] = OrderedDict()
        """Templates to branch from, least recently used first."""
        self._retired: set[Template] = set()
        """Templates that only live on for their sessions."""
        self._turns: defaultdict[ModuleId, anyio.Lock] = defaultdict(anyio.Lock)
        self._budget = MemoryBudget(limits.total_memory_bytes or machine_memory() // 2)
        self._server: ForkServer | None = None
        self._server_turn = anyio.Lock()
        self._closed = False

    @property
    def server_pid(self) -> int | None:
        """Process id of the fork server; None while none runs."""
        return self._server.pid if self._server else None

    async def load(
        self, code: str, *, load_seed: int = 0, clock: datetime, layout: int = 0
    ) -> ModuleId:
        """Compile and execute a module as a template."""
        source = ModuleSource.of(code, load_seed=load_seed, clock=clock, layout=layout)
        if source.id not in self._sources:
            async with self._using(source):
                self._sources[source.id] = source
        self._sources.move_to_end(source.id)
        self._forget_sources()
        return source.id

    async def open_session(
        self, module: ModuleId, *, seed: int, clock: datetime | None = None
    ) -> ProcessSession:
        """Branch a session from the module's template, which is built anew where it is gone."""
        source = self._sources[module]
        time = source.clock if clock is None else nanoseconds(clock)
        session = await self._branch_or_rebuild(source, seed, time)
        try:
            await anyio.lowlevel.checkpoint_if_cancelled()
        except BaseException:
            await session.aclose()
            raise
        return session

    async def aclose(self) -> None:
        """Kill every process and wait until all are gone."""
        with shielded():
            self._closed = True
            templates = self._take_templates()
            for template in templates:
                template.kill(_CLOSED)
            for template in templates:
                await template.aclose(_CLOSED)
            if self._server is not None:
                await self._server.aclose()

    def _take_templates(self) -> list[Template]:
        """All that there are; nothing branches from them any more."""
        templates = [*self._current.values(), *self._retired]
        self._current.clear()
        self._retired.clear()
        return templates

    async def _branch_or_rebuild(
        self, source: ModuleSource, seed: int, clock: int
    ) -> ProcessSession:
        # A branch that were cancelled half-way would leave a process that nobody owns.
        with shielded():
            try:
                return await self._branch(source, seed, clock)
            except SandboxError:
                if self._is_current(source.id):
                    raise  # the template is well: a fresh one would do no better
            return await self._branch(source, seed, clock)

    async def _branch(self, source: ModuleSource, seed: int, clock: int) -> ProcessSession:
        async with self._using(source) as template:
            return await template.branch(seed=seed, clock=clock, on_closed=self._evict)

    @asynccontextmanager
    async def _using(self, source: ModuleSource) -> AsyncGenerator[Template]:
        """Find or build the module's template, and keep it from eviction meanwhile."""
        async with self._turns[source.id]:
            template = await self._find_or_build(source)
            template.users += 1
        try:
            yield template
        finally:
            template.users -= 1
            self._evict()

    def _forget_sources(self) -> None:
        """Let go of the text of modules that nobody has loaded for long, of thousands that were used once."""
        while len(self._sources) > _MAX_SOURCES:
            module, _ = self._sources.popitem(last=False)
            turn = self._turns.get(module)
            if turn is not None and not turn.locked():
                del self._turns[module]

    def _is_current(self, module: ModuleId) -> bool:
        template = self._current.get(module)
        return template is not None and template.is_usable

    async def _find_or_build(self, source: ModuleSource) -> Template:
        if self._is_current(source.id):
            self._current.move_to_end(source.id)
            return self._current[source.id]
        worn_out = self._current.pop(source.id, None)
        if worn_out is not None:
            self._retired.add(worn_out)
        template = await self._build(source)
        self._current[source.id] = template
        return template

    async def _build(self, source: ModuleSource) -> Template:
        server = await self._running_server()
        try:
            return await Template.start(server, source, self._limits, self._budget)
        except SandboxError:
            if server.is_alive:
                raise
        # It ended under our hands; one fresh one is tried.
        server = await self._running_server()
        return await Template.start(server, source, self._limits, self._budget)

    def _evict(self) -> None:
        """Close retired templates without a session, and the idle ones over the bound."""
        idle = [module for module, template in self._current.items() if template.is_idle]
        surplus = idle[: max(0, len(idle) - self._limits.idle_templates)]
        unused = [self._current.pop(module) for module in surplus]
        unused += [template for template in self._retired if template.is_idle]
        self._retired.difference_update(unused)
        for template in unused:
            self._tasks.start_soon(_close_in_background, template, _CLOSED)

    async def _running_server(self) -> ForkServer:
        async with self._server_turn:
            if self._closed:
                raise SandboxError(_CLOSED)
            if self._server is not None and not self._server.is_alive:
                await self._bury(self._server)
            if self._server is None:
                settings = settings_for(self._limits, self._runtime)
                self._server = await ForkServer.start(self._runtime, settings)
                self._tasks.start_soon(self._watch, self._server)
                self._tasks.start_soon(self._watch_memory, self._server)
            return self._server

    async def _watch(self, server: ForkServer) -> None:
        """When the fork server ends, whatever it forked must end too."""
        await server.wait_ended()
        await self._bury(server)

    async def _watch_memory(self, server: ForkServer) -> None:
        while self._server is server:
            for _ in self._budget.look():
                await anyio.lowlevel.checkpoint()
            await anyio.sleep(LOOK_SECONDS)

    async def _bury(self, server: ForkServer) -> None:
        if self._server is not server:
            return
        orphans = self._take_templates()
        self._server = None
        for template in orphans:
            await _close_in_background(template, _SERVER_ENDED)
        await server.aclose()


async def _close_in_background(template: Template, reason: str) -> None:
    """Close where nobody could take an exception."""
    try:
        await template.aclose(reason)
    except SandboxError as error:
        _log.error("a template could not be closed: %s", error)
