"""One server by itself, as ``astra-mcp run`` starts it: each caller has a state of its own.

Knows servers in this process and MCP; knows no gateway: no episodes, no records, no reward.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
from mcp.server.lowlevel import Server
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from astra_mcp.errors import SandboxError, StartRefusedError, UnknownNameError, UpstreamError
from astra_mcp.mcp.bridge import McpRequest, build_server
from astra_mcp.mcp.http import open_http
from astra_mcp.mcp.made_up import mark_result, mark_tool
from astra_mcp.types import (
    EmulatorKind,
    JsonObject,
    JsonValue,
    Origin,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)

__all__ = [
    "MCP_PATH",
    "CallerStates",
    "Presentation",
    "StandaloneServer",
    "open_standalone",
    "open_standalone_http",
]

MCP_PATH = "/mcp"
MAX_CALLERS = 256
"""Each state may hold a process of a few megabytes."""
IDLE_SECONDS = 1800.0
SWEEP_SECONDS = 30.0


class StandaloneSession(Protocol):
    """One caller's own state."""

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> UpstreamReply:
        """Call a tool; failures are replies with their origin.

        Raises:
            SandboxError: The session was closed.
        """
        ...

    async def aclose(self) -> None:
        """Release what the session holds."""
        ...


class StandaloneServer(Protocol):
    """A server that may stand alone: an environment, or an emulated one."""

    @property
    def name(self) -> str:
        """What it calls itself."""
        ...

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """In their order."""
        ...

    def open_session(self, *, key: str, seed: int) -> StandaloneSession:
        """Make a state; cheap."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """What a server says of itself to its clients."""

    version: str
    instructions: str
    emulator: EmulatorKind | None = None
    """Who makes up its answers; None where they are real."""


@dataclass(slots=True)
class _State:
    session: StandaloneSession
    last_used: float
    calls_under_way: int = 0


class CallerStates:
    """The states of the callers of one server: made at a first call, dropped when idle.

    All start alike, from seed 0. Where there are too many, the one that was idle longest makes room.
    """

    def __init__(
        self,
        server: StandaloneServer,
        *,
        limit: int = MAX_CALLERS,
        idle_seconds: float | None = IDLE_SECONDS,
        now: Callable[[], float] = anyio.current_time,
    ) -> None:
        """Start without any state.

        Args:
            server: Whose sessions the states are.
            limit: How many states may exist at once.
            idle_seconds: A state ends this long after its last call; None keeps it.
            now: The clock, in seconds.
        """
        self._server = server
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._now = now
        self._states: dict[str, _State] = {}

    def __len__(self) -> int:
        return len(self._states)

    async def call(self, caller: str, tool: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Call a tool in the caller's state; one that failed or is given up is replaced by a fresh one.

        Raises:
            UnknownNameError: The server has no such tool.
            UpstreamError: The server could not answer; the state is as it was.
        """
        names = [known.name for known in self._server.tools]
        if tool not in names:
            msg = f"no tool is named {tool!r}; available tools: {', '.join(names)}"
            raise UnknownNameError(msg)
        state = await self._state(caller)
        if state is None:
            return ToolResult.from_text(_FULL, is_error=True)
        state.calls_under_way += 1
        try:
            reply = await state.session.call(tool, arguments)
        except StartRefusedError as error:
            raise UpstreamError(f"no process can be started for now: {error}") from error
        except SandboxError:  # another call of the caller ended the state
            return ToolResult.from_text(f"The state was lost. {_FRESH}", is_error=True)
        finally:
            state.calls_under_way -= 1
            state.last_used = self._now()
        if reply.origin is Origin.UPSTREAM:  # not the tool's words, and the state is as it was
            raise UpstreamError(reply.cause)
        if reply.origin not in (Origin.SANDBOX, Origin.LIMIT):
            return reply.result
        await self._drop(caller, state)
        return ToolResult.from_text(f"{reply.result.text} {_FRESH}", is_error=True)

    async def expire(self) -> None:
        """Drop the states that were idle for too long."""
        if self._idle_seconds is None:
            return
        oldest = self._now() - self._idle_seconds
        for caller, state in list(self._states.items()):
            if not state.calls_under_way and state.last_used <= oldest:
                await self._drop(caller, state)

    async def keep_expiring(self) -> None:
        """Expire idle states until cancelled."""
        while True:
            await anyio.sleep(SWEEP_SECONDS)
            await self.expire()

    async def aclose(self) -> None:
        """Drop every state."""
        for caller, state in list(self._states.items()):
            await self._drop(caller, state)

    async def _state(self, caller: str) -> _State | None:
        known = self._states.get(caller)
        if known is not None:
            return known
        idle = [(s.last_used, c) for c, s in self._states.items() if not s.calls_under_way]
        is_full = len(self._states) >= self._limit
        if is_full and not idle:
            return None
        evicted = self._states.pop(min(idle)[1]) if is_full else None
        session = self._server.open_session(key=caller, seed=0)
        state = self._states[caller] = _State(session, self._now())
        if evicted is not None:
            await evicted.session.aclose()
        return state

    async def _drop(self, caller: str, state: _State) -> None:
        if self._states.get(caller) is state:
            del self._states[caller]
        await state.session.aclose()


_FULL = "Too many callers use this server at once. Try again in a moment."
_FRESH = "The next call starts from a fresh state."


@asynccontextmanager
async def open_standalone(
    server: StandaloneServer, presentation: Presentation, *, idle_seconds: float | None = None
) -> AsyncGenerator[Server[Any]]:
    """Make the MCP server of one server; its states end with the context.

    Args:
        server: What to serve.
        presentation: How it presents itself.
        idle_seconds: When an unused state ends; None keeps it as long as the process lives.
    """
    states = CallerStates(server, idle_seconds=idle_seconds)
    emulator = presentation.emulator

    async def list_tools(_: McpRequest) -> Sequence[ToolSpec]:
        return [mark_tool(tool, emulator) for tool in server.tools]

    async def call_tool(request: McpRequest, name: str, arguments: JsonObject) -> ToolResult:
        return mark_result(await states.call(request.caller, name, arguments), emulator)

    async with anyio.create_task_group() as group:
        if idle_seconds is not None:
            group.start_soon(states.keep_expiring)
        try:
            yield build_server(
                server.name,
                version=presentation.version,
                list_tools=list_tools,
                call_tool=call_tool,
                instructions=presentation.instructions,
            )
        finally:
            with anyio.CancelScope(shield=True):
                await states.aclose()
            group.cancel_scope.cancel()


@asynccontextmanager
async def open_standalone_http(
    server: StandaloneServer, presentation: Presentation
) -> AsyncGenerator[ASGIApp]:
    """Serve one server over Streamable HTTP at ``/mcp``; put a gate before it.

    Args:
        server: What to serve.
        presentation: How it presents itself.
    """
    async with (
        open_standalone(server, presentation, idle_seconds=IDLE_SECONDS) as mcp_server,
        open_http(mcp_server) as endpoint,
    ):

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"].rstrip("/") == MCP_PATH:
                await endpoint(scope, receive, send)
                return
            answer = JSONResponse({"error": f"there is only {MCP_PATH}"}, status_code=404)
            await answer(scope, receive, send)

        yield app
