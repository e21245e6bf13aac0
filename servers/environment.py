"""The server of one environment bundle: its tools run in the sandbox, one process for each session.

Satisfies the gateway's ``Upstream`` structurally. Knows the bundle and the sandbox; knows neither episodes
nor the protocol that its results travel over.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio

from astra_mcp.concurrency import in_turns
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.rendering import render_answer
from astra_mcp.environments.worlds import World, start_session
from astra_mcp.errors import (
    SandboxDiedError,
    SandboxError,
    SandboxLostError,
    StartRefusedError,
)
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.sandbox.protocol import Raised, Returned, Sandbox, SandboxSession
from astra_mcp.schemas import compile_schema
from astra_mcp.types import (
    CallOutcome,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ToolResult,
    UpstreamReply,
)
from servers.tools_only import ToolsOnly, error_reply, refuse_arguments, refuse_unknown

__all__ = ["MAX_KILLS", "EnvironmentServer", "EnvironmentSession"]

MAX_KILLS = 3
"""A session whose calls destroyed this many processes takes no further one."""

CLOSE_SECONDS = 10.0
LOST_RETRIES = 2
"""How often a call is repeated whose process ended for no fault of its tool code."""

_log = logging.getLogger(__name__)


class EnvironmentServer(ToolsOnly):
    """Publishes one bundle; makes sessions that share nothing."""

    kind = ServerKind.ENVIRONMENT

    def __init__(self, bundle: Bundle, sandbox: Sandbox) -> None:
        """Prepare the argument checks of every tool; starts no process."""
        self._bundle = bundle
        self._sandbox = sandbox
        self.name = bundle.name
        self.version = bundle.content_hash
        self.tools = bundle.document.tools
        """In the order of the document."""
        self.known = {tool.name: (tool, compile_schema(tool.input_schema)) for tool in self.tools}
        """Each tool by its name, with the check of its arguments."""

    @property
    def bundle(self) -> Bundle:
        """What it publishes."""
        return self._bundle

    @property
    def warnings(self) -> tuple[str, ...]:
        """What weakens the sandbox on this machine."""
        return self._sandbox.report.warnings

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> "EnvironmentSession":
        """Make a session; its process starts at the first call.

        Args:
            key: Names the session in the log.
            seed: Decides every random choice of the tool code, and where its clock starts.
            past: Calls of an earlier life, rebuilt by replay before the first new call.
        """
        return EnvironmentSession(self, key=key, seed=seed, past=past)

    async def start_process(self, seed: int) -> SandboxSession:
        """Start a process that holds the bundle's initial state.

        Raises:
            SandboxError: It could not be started.
        """
        world = World.of(self.version, self._bundle.document.clock, seed)
        return await start_session(self._sandbox, self._bundle, world)


class EnvironmentSession:
    """One caller's own state of an environment: a process, and the calls that made it what it is.

    The state is a function of the seed and the applied calls, so a process that a call destroyed is
    rebuilt by replaying the others, which have to answer as they did. A call that is cancelled takes no
    effect: its process is given up. What a call destroys is its own doing, up to the last kill, which ends
    the session with a limit; a sandbox that fails for no fault of the tool code is a failure.
    """

    def __init__(
        self, server: EnvironmentServer, *, key: str, seed: int, past: Sequence[PastCall]
    ) -> None:
        self._server = server
        self._key = key
        self._seed = seed
        self._past = past
        """Of an earlier life, until the first process is made."""
        self._applied: list[_Applied] = []
        self._kills = sum(call.outcome is CallOutcome.KILLED for call in past)
        self._process: SandboxSession | None = None
        self._turn = anyio.Lock(fast_acquire=True)
        self._is_closed = False

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Call a tool; bad arguments, errors of the tool and failures are replies.

        Args:
            tool: Its own name.
            arguments: Checked here.
            exchange: Not used: sandboxed code speaks to nobody.

        Raises:
            StartRefusedError: There can be no process for it now; the state is as it was.
            SandboxError: The session is closed, or was closed during the call.
        """
        del exchange
        if tool not in self._server.known:
            return refuse_unknown(tool, self._server.tools)
        _, check = self._server.known[tool]
        faults = check.faults(arguments)
        if faults:
            return refuse_arguments(tool, faults)
        async with self._turn:
            if self._is_closed:
                raise SandboxError(_CLOSED)
            if self._kills >= MAX_KILLS:
                return error_reply(_GIVEN_UP, Origin.LIMIT)
            try:
                result = await self._run_or_repeat(tool, arguments)
            except SandboxDiedError as error:
                if self._is_closed:
                    raise SandboxError(_CLOSED) from error
                return self._killed(tool, error)
            except StartRefusedError as error:
                _log.warning("no process for session %.8s now: %s", self._key, error)
                raise
            except SandboxError as error:
                _log.error("session %.8s of %s failed: %s", self._key, self._server.name, error)
                return error_reply(_UNAVAILABLE, Origin.SANDBOX, cause=str(error))
        return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)

    async def aclose(self) -> None:
        """End the process, cutting off a call under way; closing twice is allowed."""
        self._is_closed = True
        await self._give_up_process()
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            async with self._turn:  # a call may be starting a process just now
                await self._give_up_process()

    async def _run_or_repeat(self, tool: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Run a call; one whose process was lost for no fault of its own runs again on rebuilt state."""
        for _ in range(LOST_RETRIES):
            try:
                return await self._run(self._process or await self._rebuild(), tool, arguments)
            except SandboxLostError as error:
                if self._is_closed:
                    raise
                _log.warning("the process of session %.8s was lost: %s", self._key, error)
                await self._give_up_process()
        return await self._run(await self._rebuild(), tool, arguments)

    async def _run(
        self, process: SandboxSession, tool: str, arguments: Mapping[str, JsonValue]
    ) -> ToolResult:
        is_answered = False
        try:
            answer = await _call_to_its_end(process, tool, arguments)
            is_answered = True
        finally:
            if not is_answered:  # killed, failed or cancelled: what its state is, nobody knows
                await self._give_up_process()
        result = self._render(tool, answer)
        self._applied.append(_Applied(tool, dict(arguments), _print_of(result)))
        return result

    def _render(self, tool: str, answer: Returned | Raised) -> ToolResult:
        return render_answer(self._server.known[tool][0], answer)

    async def _rebuild(self) -> SandboxSession:
        """Start a process and replay what was applied.

        Raises:
            SandboxDiedError: It died of calls that it once survived, near their limits, and had to be
                rebuilt only because another call had destroyed it.
            SandboxError: It could not be started, died with nobody to blame for the rebuilding, or answered
                otherwise than it did: what it holds is not the state that its caller knows.
        """
        await self._take_past()
        process = self._process = await self._server.start_process(self._seed)
        is_rebuilt = False
        try:
            for number, call in enumerate(self._applied, start=1):
                answer = await _call_to_its_end(process, call.tool, call.arguments)
                if call.print not in (None, _print_of(self._render(call.tool, answer))):
                    raise SandboxError(
                        f"call {number} of {len(self._applied)} ({call.tool}) was answered otherwise when it "
                        "was replayed than it is recorded: the state cannot be rebuilt"
                    )
            is_rebuilt = True
        except SandboxDiedError as error:
            if self._kills:
                raise
            msg = f"the process died while {len(self._applied)} calls were replayed: {error}"
            raise SandboxError(msg) from error
        finally:
            if not is_rebuilt:
                await self._give_up_process()
        return process

    async def _take_past(self) -> None:
        """Take the calls of an earlier life, which may be very many; their results are let go."""
        if not self._past:
            return
        applied = [
            _Applied(call.tool, call.arguments, None if call.is_cut else _print_of(call.result))
            async for call in in_turns(self._past)
            if call.outcome is CallOutcome.APPLIED
        ]
        self._applied, self._past = applied, ()  # at once: a call that is cancelled loses none

    async def _give_up_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await process.aclose()

    def _killed(self, tool: str, error: SandboxDiedError) -> UpstreamReply:
        self._kills += 1
        _log.warning("a call of %s ended its process (%d of %d)", tool, self._kills, MAX_KILLS)
        if self._kills >= MAX_KILLS:
            text = f"{tool} was stopped: {error}. {_GIVEN_UP}"
            return error_reply(text, Origin.LIMIT, CallOutcome.KILLED)
        text = f"{tool} was stopped: {error}. The call had no effect; the state is as it was before it."
        return error_reply(text, Origin.TOOL, CallOutcome.KILLED)


@dataclass(frozen=True, slots=True)
class _Applied:
    """A call that made the state what it is."""

    tool: str
    arguments: Mapping[str, JsonValue]
    print: int | None
    """Of its result; None where that is not known."""


def _print_of(result: ToolResult | None) -> int | None:
    """Tell results apart in this process: by 64 bits, since the results themselves would fill its memory."""
    return None if result is None else hash((result.text, result.is_error))


_GIVEN_UP = f"{MAX_KILLS} calls were stopped, as many as may be: the state is given up."
_CLOSED = "the session is closed"
_UNAVAILABLE = "The environment could not run the tool: its sandbox failed."


async def _call_to_its_end(
    process: SandboxSession, tool: str, arguments: Mapping[str, JsonValue]
) -> Returned | Raised:
    """Call a tool; an interrupted one left half of its work behind, which is as good as dead."""
    answer = await process.call(tool, arguments)
    if isinstance(answer, Raised) and answer.is_timeout:
        raise SandboxDiedError(answer.message)
    return answer
