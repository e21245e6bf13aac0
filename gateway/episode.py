"""One episode: its tool list, its calls in order, its limits, its record and its reward.

The tool state lives in the upstream sessions; the truth lives in the record. An episode knows neither
HTTP nor MCP: the planes above it name it by its id and hand it calls.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_hex

import anyio
import orjson

from astra_mcp.concurrency import completed
from astra_mcp.errors import (
    AstraError,
    CallFaultError,
    EpisodeEndedError,
    RecordError,
    SandboxError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.exchange import SILENT, Exchange
from astra_mcp.reward import Reward, score_episode, solved_by
from astra_mcp.types import (
    CallOutcome,
    Failure,
    JsonValue,
    Origin,
    ToolResult,
    ToolSpec,
    UpstreamReply,
    canonical_json,
    json_fault,
)
from gateway.call_order import CallOrder
from gateway.naming import Route
from gateway.protocol import EpisodeId, EpisodeState, EpisodeStatus, UpstreamSession
from gateway.record import (
    CallFinished,
    CallStarted,
    EpisodeEnded,
    EpisodeOpened,
    Record,
    RecordFile,
    read_record,
)
from gateway.tracing import call_span, note_result, upstream_span

__all__ = ["Episode", "Turn", "within_limit"]

_FAILED_TEXT = "The tool could not be reached. This run has ended; further calls are not possible."
_MAX_NAME = 256
"""A longer name is no tool's; so much of it is recorded."""
_log = logging.getLogger("astra_mcp.gateway")


@dataclass(slots=True, kw_only=True)
class Turn:
    """The calls of an episode to one server: its session, and one call at a time."""

    session: UpstreamSession
    lock: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))


@dataclass(slots=True, kw_only=True)
class _Call:
    """What is remembered of a call; its arguments and its result stay in the record."""

    n: int
    digest: bytes
    """Of name and arguments: a retried id must mean the same call."""
    has_tool: bool
    is_over_limit: bool
    seq: int | None
    unfinished: CallStarted | None
    """What an earlier life of the gateway started only; None where it runs or is finished."""
    done: anyio.Event | None = None
    """Set when the call has run in this life."""

    @classmethod
    def of(cls, started: CallStarted, *, unfinished: bool = False) -> "_Call":
        """Remember what a call was."""
        return cls(
            n=started.n,
            digest=_digest(started.shown, started.arguments, started.fault),
            has_tool=started.tool is not None,
            is_over_limit=started.is_over_limit,
            seq=started.seq,
            unfinished=started if unfinished else None,
        )


class Episode:
    """A single-use run; made and owned by :class:`gateway.episodes.Episodes`."""

    def __init__(
        self,
        *,
        opened: EpisodeOpened,
        routes: Mapping[str, Route],
        turns: Mapping[str, Turn],
        file: RecordFile,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._opened = opened
        self._routes = routes
        self._turns = turns
        self._file = file
        self._now = now
        self._calls: dict[str, _Call] = {}
        self._num_started = 0
        self._num_agent_calls = 0
        self._running: dict[int, anyio.Event] = {}
        self._solved: set[int] = set()
        self._order = CallOrder()
        self._is_closing = False
        self._last_activity = opened.at.timestamp()
        self._ended: EpisodeEnded | None = None

    # --- reading ---------------------------------------------------------------------------------

    @property
    def id(self) -> EpisodeId:
        """The capability that names the episode."""
        return self._opened.id

    @property
    def prompt(self) -> str | None:
        """The user request that the agent is given."""
        return self._opened.prompt

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tool list under its shown names; fixed for the episode's life."""
        return tuple(route.shown for route in self._routes.values())

    @property
    def tools_hash(self) -> str:
        """Hash of the shown tool list."""
        return self._opened.tools_hash

    @property
    def is_open(self) -> bool:
        """True while the episode takes calls."""
        return self._ended is None

    @property
    def is_busy(self) -> bool:
        """True while a call runs."""
        return bool(self._running)

    @property
    def endpoint(self) -> str | None:
        """The interactive endpoint that it is the state of, or None for an episode proper."""
        return self._opened.endpoint

    @property
    def servers(self) -> Mapping[str, str]:
        """Name to version of every server of the episode."""
        return self._opened.servers

    @property
    def expires_at(self) -> datetime:
        """When it expires unless it is called again; for an ended one, when it ended."""
        if self._ended is not None:
            return self._ended.at
        limits = self._opened.limits
        idle = datetime.fromtimestamp(self._last_activity, UTC) + timedelta(
            seconds=limits.idle_seconds
        )
        return min(idle, self._opened.at + timedelta(seconds=limits.life_seconds))

    def state(self) -> EpisodeState:
        """Tell where the episode stands."""
        ended = self._ended
        return EpisodeState(
            id=self.id,
            status=ended.status if ended else EpisodeStatus.OPEN,
            source=self._opened.source,
            seed=self._opened.seed,
            calls=self._num_agent_calls,
            solved=tuple(sorted(self._solved)),
            reward=ended.reward if ended else self._score(),
            failure=ended.failure if ended else None,
            labels=self._opened.labels,
            marks=self._opened.marks,
            created_at=self._opened.at,
            expires_at=self.expires_at,
        )

    def _score(self) -> Reward | None:
        return score_episode(self._opened.job, self._solved, self._num_agent_calls)

    # --- calls -----------------------------------------------------------------------------------

    async def call(
        self,
        shown: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
        exchange: Exchange = SILENT,
    ) -> ToolResult:
        """Run one tool call to its end and record it, whatever becomes of the caller.

        Calls to one server run one at a time, in the order of ``seq`` where given, else of arrival.
        A ``call_id`` that was used before takes effect once: a finished call answers its recorded
        result, a running one is waited for, one that an earlier life of the gateway only started is
        executed now.

        Args:
            shown: The tool's name as the episode lists it.
            arguments: Checked by the tool's server.
            call_id: Names the call within the episode.
            seq: Its place among the numbered calls, from 0 without gaps.
            fault: Why the agent's arguments are no JSON object; the call reaches no tool, is recorded
                with this text and counts.
            exchange: What the tool's server may know of the request; it is not recorded.

        Raises:
            UnknownNameError: The episode lists no such tool; the call is recorded and counted.
            EpisodeEndedError: The episode is closed or expired.
            CallFaultError: The ``call_id`` or ``seq`` contradicts the record.
        """
        shown = shown.encode(errors="replace").decode()[:_MAX_NAME]
        fault = fault or json_fault(arguments)
        if fault is not None:
            arguments = {}
        known = self._calls.get(call_id) if call_id else None
        if known is None and seq is not None and self.is_open:
            await self._order.wait_for(seq)
            known = self._calls.get(call_id) if call_id else None
        if known is not None:
            return await self._repeat(known, _digest(shown, arguments, fault), exchange)
        refusal = self._refuse()
        if refusal is not None:
            return refusal
        if seq is not None:
            self._order.check(seq)
        try:
            started = self._start(call_id, seq, shown, arguments, fault)
        except RecordError as error:
            return self._fail_unrecorded(error)
        call = _Call.of(started)
        if call_id:
            self._calls[call_id] = call
        return await self._finish(call, started, exchange)

    def _refuse(self) -> ToolResult | None:
        """Answer in the place of the tools where the episode takes no more calls."""
        self.expire_if_due()
        if self._ended is None and self._is_closing:
            msg = "this episode is being closed: create a new one"
            raise EpisodeEndedError(msg)
        if self._ended is None:
            return None
        match self._ended.status:
            case EpisodeStatus.FAILED:
                return ToolResult.from_text(_FAILED_TEXT, is_error=True)
            case EpisodeStatus.LIMIT:
                return ToolResult.from_text(self._limit_text, is_error=True)
            case status:
                msg = (
                    f"this episode is {status.value}: create a new one; its record and reward can "
                    "still be read"
                )
                raise EpisodeEndedError(msg)

    @property
    def _limit_text(self) -> str:
        return (
            f"The limit of {self._opened.limits.calls} tool calls is reached. This run has ended; "
            "give the final answer."
        )

    async def _repeat(self, call: _Call, digest: bytes, exchange: Exchange) -> ToolResult:
        if call.digest != digest:
            msg = "this call id was used for another call: choose a new one"
            raise CallFaultError(msg)
        if call.unfinished is not None and call.seq is not None:
            await self._order.wait_for(call.seq)
        if call.unfinished is not None:
            refusal = self._refuse()
            if refusal is not None:
                return refusal
            started, call.unfinished = call.unfinished, None
            if call.seq is not None:
                self._order.take(call.seq)
            return await self._finish(call, started, exchange)
        if call.done is not None:
            await call.done.wait()
        return self._answer(call, await self._recorded_result(call))

    async def _recorded_result(self, call: _Call) -> ToolResult:
        record = await anyio.to_thread.run_sync(read_record, self._file.path)
        finished = record.calls[call.n].finished
        if finished is None:
            return ToolResult.from_text(_FAILED_TEXT, is_error=True)
        return finished.result

    def _start(
        self,
        call_id: str | None,
        seq: int | None,
        shown: str,
        arguments: Mapping[str, JsonValue],
        fault: str | None,
    ) -> CallStarted:
        """Record that the call begins, and take its place in the order (no await in between)."""
        route = self._routes.get(shown)
        limit = self._opened.limits.calls
        started = CallStarted(
            at=self._time(),
            n=self._num_started,
            call_id=call_id or token_hex(8),
            seq=seq,
            server=route.server if route else None,
            tool=route.tool if route else None,
            shown=shown,
            arguments=dict(arguments),
            is_over_limit=limit is not None and self._num_agent_calls >= limit,
            fault=fault,
        )
        self._file.append(started)
        self._num_started += 1
        self._num_agent_calls += not started.is_over_limit
        if seq is not None:
            self._order.take(seq)
        return started

    async def _finish(self, call: _Call, started: CallStarted, exchange: Exchange) -> ToolResult:
        """Execute and record, also where the caller has gone: a retry finds the result."""
        call.done = self._running[call.n] = anyio.Event()
        return self._answer(call, await completed(self._run_to_end(started, exchange)))

    @staticmethod
    def _answer(call: _Call, result: ToolResult) -> ToolResult:
        if not call.has_tool and not call.is_over_limit:
            raise UnknownNameError(result.text)
        return result

    async def _run_to_end(self, started: CallStarted, exchange: Exchange) -> ToolResult:
        began = time.perf_counter()
        self._last_activity = self._now()
        try:
            with call_span(self.id, started.shown, started.arguments, exchange):
                reply = await self._execute(started, exchange)
                return self._record_reply(started, reply, time.perf_counter() - began)
        except RecordError as error:
            return self._fail_unrecorded(error)
        finally:
            self._last_activity = self._now()
            self._running.pop(started.n).set()

    async def _execute(self, started: CallStarted, exchange: Exchange) -> UpstreamReply | Failure:
        if started.is_over_limit:
            await self.wait_idle(before=started.n)
            return _rejected(self._limit_text, Origin.LIMIT)
        if started.server is None or started.tool is None:
            return _rejected(self._unknown_text(started.shown))
        if started.fault is not None:
            return _rejected(started.fault)
        turn = self._turns[started.server]
        async with turn.lock:
            if self._ended is not None and self._ended.failure is not None:
                return self._ended.failure
            return await self._ask_server(turn.session, started.tool, started, exchange)

    async def _ask_server(
        self, session: UpstreamSession, tool: str, started: CallStarted, exchange: Exchange
    ) -> UpstreamReply | Failure:
        """Call the server; the one place where its exceptions become data."""
        seconds = self._opened.limits.call_seconds
        try:
            with (
                anyio.fail_after(seconds),
                upstream_span(started.server or "", tool, exchange) as traced,
            ):
                return await session.call(tool, started.arguments, traced)
        except TimeoutError:
            message = f"no answer from {started.server} within {seconds:g} s"
            return Failure(boundary=Origin.UPSTREAM, message=message)
        except SandboxError as error:
            return Failure(boundary=Origin.SANDBOX, message=str(error))
        except UpstreamError as error:
            return Failure(boundary=Origin.UPSTREAM, message=str(error))
        except Exception as error:  # noqa: BLE001 - a bug fails one episode, not the gateway
            _log.exception("episode %s: a call broke the gateway", self.id[:6])
            return Failure(boundary=Origin.GATEWAY, message=type(error).__name__)

    def _record_reply(
        self, started: CallStarted, reply: UpstreamReply | Failure, seconds: float
    ) -> ToolResult:
        failure = _failure_of(reply)
        if failure is None and isinstance(reply, UpstreamReply):
            result = within_limit(reply.result, self._opened.limits.result_bytes)
            origin, outcome = reply.origin, reply.outcome
        else:
            result = ToolResult.from_text(_FAILED_TEXT, is_error=True)
            origin = failure.boundary if failure else Origin.GATEWAY
            outcome = reply.outcome if isinstance(reply, UpstreamReply) else CallOutcome.REJECTED
        tool = started.tool
        solved = solved_by(self._opened.job, tool, result, origin) if tool else frozenset[int]()
        self._file.append(
            CallFinished(
                at=self._time(),
                n=started.n,
                result=result,
                origin=origin,
                outcome=outcome,
                solved=tuple(sorted(solved)),
                latency_ms=round(seconds * 1000, 3),
            )
        )
        note_result(started.server, origin, result)
        self._solved |= solved
        if failure is not None:
            self.end(EpisodeStatus.FAILED, failure)
        elif origin is Origin.LIMIT:
            self.end(EpisodeStatus.LIMIT)
        return result

    def _unknown_text(self, shown: str) -> str:
        return f"Unknown tool: {shown[:128]}. The tools are: {', '.join(self._routes) or 'none'}"

    # --- ending ----------------------------------------------------------------------------------

    def expire_if_due(self) -> bool:
        """End the episode where its time is over; tells whether it did."""
        if self._ended is None and not self.is_busy and self._now() >= self.expires_at.timestamp():
            self.end(EpisodeStatus.EXPIRED)
            return True
        return False

    def end(self, status: EpisodeStatus, failure: Failure | None = None) -> None:
        """Write the end of the record; an episode ends once, and the first end holds."""
        if self._ended is not None:
            return
        reward = None if failure else self._score()
        ended = EpisodeEnded(at=self._time(), status=status, reward=reward, failure=failure)
        try:
            self._file.append(ended)
        except RecordError as error:
            self._fail_unrecorded(error)
            return
        self._ended = ended
        self._order.close()

    def _fail_unrecorded(self, error: RecordError) -> ToolResult:
        """Fail in memory where the record itself cannot be written; nothing unrecorded is answered."""
        _log.error("episode %s: %s", self.id[:6], error)
        if self._ended is None:
            failure = Failure(boundary=Origin.GATEWAY, message=str(error))
            self._ended = EpisodeEnded(
                at=self._time(), status=EpisodeStatus.FAILED, reward=None, failure=failure
            )
            self._order.close()
        return ToolResult.from_text(_FAILED_TEXT, is_error=True)

    def begin_closing(self) -> None:
        """Take no further calls, while those that run come to their end."""
        self._is_closing = True
        self._order.close()

    async def wait_idle(self, *, before: int | None = None) -> None:
        """Wait until no call runs, or none of those that started before a given one."""
        for n, done in list(self._running.items()):
            if before is None or n < before:
                await done.wait()

    async def release(self) -> None:
        """Close the sessions and the record file; the episode can be restored from its record."""
        with anyio.CancelScope(shield=True):
            for turn in self._turns.values():
                try:
                    await turn.session.aclose()
                except AstraError:
                    _log.exception("episode %s: a session did not close", self.id[:6])
        self._file.close()

    # --- restoring -------------------------------------------------------------------------------

    def resume(self, record: Record) -> None:
        """Take over the calls of an earlier life; the sessions were opened with them."""
        for recorded in record.calls:
            started, is_unfinished = recorded.started, recorded.finished is None
            self._calls[started.call_id] = _Call.of(started, unfinished=is_unfinished)
            if started.seq is not None:
                (self._order.reopen if is_unfinished else self._order.take)(started.seq)
        self._num_started = len(record.calls)
        self._num_agent_calls = record.agent_calls
        self._solved = set(record.solved)
        self._last_activity = record.last_at.timestamp()
        self._ended = record.ended
        failed = next((c for c in record.finished_calls if c.origin.is_failure), None)
        if failed is not None:  # the gateway died before it could write the end
            failure = Failure(boundary=failed.origin, message=failed.result.text)
            self.end(EpisodeStatus.FAILED, failure)

    def _time(self) -> datetime:
        return datetime.fromtimestamp(self._now(), UTC)


def _digest(shown: str, arguments: Mapping[str, JsonValue], fault: str | None) -> bytes:
    return sha256(canonical_json([shown, arguments, fault])).digest()


def within_limit(result: ToolResult, limit_bytes: int) -> ToolResult:
    """Answer the result, or an error that says how large it is where it exceeds the limit."""
    size = len(orjson.dumps([result.content, result.structured]))
    if size <= limit_bytes:
        return result
    text = f"The result has {size} bytes; at most {limit_bytes} are allowed. Ask for less at once."
    return ToolResult.from_text(text, is_error=True)


def _rejected(text: str, origin: Origin = Origin.TOOL) -> UpstreamReply:
    return UpstreamReply(
        result=ToolResult.from_text(text, is_error=True),
        origin=origin,
        outcome=CallOutcome.REJECTED,
    )


def _failure_of(reply: UpstreamReply | Failure) -> Failure | None:
    """Find the failure in a reply; a server may also report one in its own words."""
    if isinstance(reply, Failure):
        return reply
    if reply.origin.is_failure:
        return Failure(boundary=reply.origin, message=reply.cause or reply.result.text)
    return None
