"""One call on its way to a server: what is known of it, whose turn it is, and how failures become data.

Knows server sessions and deadlines; knows neither records nor the order of calls.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import anyio

from astra_mcp.concurrency import Alarm, shielded
from astra_mcp.errors import (
    AstraError,
    SandboxError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.mcp.request_context import Exchange
from astra_mcp.tracing import tracer
from astra_mcp.types import (
    CallOutcome,
    EmulatorKind,
    Failure,
    JsonValue,
    Origin,
    ServerKind,
    ToolResult,
    UpstreamReply,
    canonical_json,
)
from gateway.api.protocol import Upstream, UpstreamSession
from gateway.edge.tracing import upstream_span
from gateway.episodes.failures import FailurePlan, InjectedFailure
from gateway.episodes.record import Encoded, RecordedCall, StartedMembers

__all__ = [
    "NO_ARGUMENTS",
    "Call",
    "Turn",
    "answered",
    "ask_server",
    "close_sessions",
    "digest_of",
    "failure_of",
    "was_sent_for_good",
]

NO_ARGUMENTS: Mapping[str, JsonValue] = {}
_log = logging.getLogger("astra_mcp.gateway")


@dataclass(slots=True, kw_only=True)
class Turn:
    """The calls of an episode to one server: its session, and one call at a time."""

    upstream: Upstream
    session: UpstreamSession
    emulator: EmulatorKind | None = None
    """Who makes up its answers; None for a server that answers itself."""
    lock: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))
    deadline: Alarm = field(init=False)
    """Of the call that holds the lock; it cancels its scope."""
    scope: anyio.CancelScope | None = None

    def __post_init__(self) -> None:
        self.deadline = Alarm(self._cancel)

    def _cancel(self) -> None:
        if self.scope is not None:
            self.scope.cancel()


@dataclass(slots=True, kw_only=True)
class Call:
    """A call; once it is finished its arguments and its result stay in the record alone."""

    n: int
    shown: str
    server: str | None
    tool: str | None
    arguments: Mapping[str, JsonValue]
    is_over_limit: bool
    seq: int | None
    fault: str | None
    is_distractor: bool = False
    injected: InjectedFailure | None = None
    """How it fails on purpose; None where it does not."""
    is_unfinished: bool = False
    """True where an earlier life of the gateway started it only."""
    started_at: int = 0
    """Where the record says how it began, in bytes."""
    finished_at: int | None = None
    """Where it says how it ended; None where it does not yet."""
    done: anyio.Event | None = None
    """Made by whoever waits for the end of the call."""

    @classmethod
    def of(cls, recorded: RecordedCall) -> "Call":
        """Take over a recorded call."""
        started, is_unfinished = recorded.started, recorded.finished is None
        return cls(
            n=started.n,
            shown=started.shown,
            server=started.server,
            tool=started.tool,
            arguments=started.arguments if is_unfinished else NO_ARGUMENTS,
            is_over_limit=started.is_over_limit,
            seq=started.seq,
            fault=started.fault,
            is_distractor=started.distractor,
            is_unfinished=is_unfinished,
            started_at=recorded.started_at,
            finished_at=recorded.finished_at,
        )

    def as_started(self, call_id: str) -> StartedMembers:
        """Say what is recorded of its beginning."""
        return {
            "n": self.n,
            "call_id": call_id,
            "seq": self.seq,
            "server": self.server,
            "tool": self.tool,
            "shown": self.shown,
            "arguments": self.arguments,
            "is_over_limit": self.is_over_limit,
            "fault": self.fault,
            "distractor": self.is_distractor,
        }

    def draw(self, plan: FailurePlan, arguments: Mapping[str, JsonValue]) -> InjectedFailure | None:
        """Count it in a plan, and find out how it fails; what reaches no tool anyway does not count.

        Args:
            plan: Of the episode.
            arguments: As they were recorded.
        """
        if self.server is None or self.tool is None or self.is_over_limit or self.fault is not None:
            return None
        return plan.draw(self.server, self.tool, arguments)


def digest_of(shown: str, arguments: Mapping[str, JsonValue], fault: str | None) -> bytes:
    """Say what a call is: a retried id must mean the same one."""
    return canonical_json([shown, dict(arguments), fault])


def answered(call: Call, answer: Encoded) -> Encoded:
    """Hand a recorded result out.

    Raises:
        UnknownNameError: The call named a tool that is not listed; says so in the result's words.
    """
    if call.tool is None and not call.is_over_limit:
        raise UnknownNameError(answer.result.text)
    return answer


async def ask_server(
    turn: Turn, call: Call, exchange: Exchange, seconds: float
) -> UpstreamReply | Failure:
    """Call a server, to the end or the deadline even where the caller is cancelled.

    The one place where a server's exceptions become data. Where the exchange says that its client has
    cancelled the request, so is the call, and its server is told; that is recorded as its result.

    Args:
        turn: Held by this call.
        call: Of a tool of this server.
        exchange: What the server may know of the request.
        seconds: Wall time that it may take.
    """
    name, tool = turn.upstream.name, call.tool or ""
    try:
        with anyio.CancelScope(shield=True) as turn.scope:
            turn.deadline.set(asyncio.get_running_loop().time() + seconds)
            if exchange.cancellation is not None:
                exchange.cancellation.attach(turn.scope)
            if tracer() is None:
                return await turn.session.call(tool, call.arguments, exchange)
            with upstream_span(name, tool, exchange) as traced:
                return await turn.session.call(tool, call.arguments, traced)
    except (SandboxError, UpstreamError) as error:
        return failure_of(error)
    except Exception as error:  # noqa: BLE001 - a bug fails one episode, not the gateway
        _log.exception("a call of a tool of %s broke the gateway", name)
        return Failure(boundary=Origin.GATEWAY, message=type(error).__name__)
    finally:
        turn.deadline.clear()
        turn.scope = None
    if exchange.cancellation is not None and exchange.cancellation.is_set:
        return _CANCELLED
    message = f"no answer from {name} within {seconds:g} s"
    return Failure(boundary=Origin.UPSTREAM, message=message)


_CANCELLED = UpstreamReply(
    result=ToolResult.from_text("The client cancelled this call.", is_error=True),
    origin=Origin.TOOL,
    outcome=CallOutcome.APPLIED,
    cause="cancelled by the client",
)


def failure_of(error: SandboxError | UpstreamError) -> Failure:
    """Render an exception of a server's session; its message is never empty."""
    boundary = Origin.SANDBOX if isinstance(error, SandboxError) else Origin.UPSTREAM
    return Failure(boundary=boundary, message=str(error) or type(error).__name__)


def was_sent_for_good(call: Call, turns: Mapping[str, Turn]) -> bool:
    """True where an earlier life may have sent a call to a deployed server, whose state is not ours."""
    turn = turns.get(call.server) if call.server else None
    if not call.is_unfinished or turn is None or call.is_over_limit or call.fault or call.injected:
        return False
    return turn.upstream.kind is ServerKind.DEPLOYED


async def close_sessions(turns: Iterable[Turn], episode: str) -> None:
    """Close the sessions of an episode, also where the caller is cancelled.

    Args:
        turns: Of the episode.
        episode: As much of its id as a log may hold.
    """
    with shielded():
        for turn in turns:
            turn.deadline.close()
            try:
                await turn.session.aclose()
            except AstraError:
                _log.exception("episode %s: a session did not close", episode)
