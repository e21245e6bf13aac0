"""One episode: its tool list, its calls in order, its limits, its record and its reward.

The tool state lives in the upstream sessions; the truth lives in the record. An episode knows neither
HTTP nor MCP: the planes above it name it by its id and hand it calls.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex

import anyio

from astra_mcp.call_record import Encoded, EndStatus, EpisodeId, EpisodeStatus, encode_result
from astra_mcp.concurrency import in_turns, shielded
from astra_mcp.errors import (
    CallFaultError,
    EpisodeEndedError,
    GatewayError,
    NoProcessesError,
    RecordError,
    RelayedError,
    ShortageError,
    UpstreamError,
)
from astra_mcp.mcp.request_context import SILENT, Exchange, Hear
from astra_mcp.reward import Reward, score_episode
from astra_mcp.types import (
    Failure,
    JsonObject,
    JsonValue,
    Origin,
    ToolResult,
    ToolSpec,
    is_failure,
    json_fault,
)
from gateway.api.seams import Upstream, abilities
from gateway.api.wire import EpisodeState
from gateway.edge.tracing import call_span, note_result
from gateway.episodes.calls import (
    NO_ARGUMENTS,
    Call,
    Execution,
    Results,
    Settled,
    answered,
    digest_of,
    refusal_of,
    too_large_arguments,
    unknown_delivery,
    unrecorded,
    was_sent_for_good,
)
from gateway.episodes.failures import FailurePlan
from gateway.episodes.known_answers import KnownAnswers
from gateway.episodes.record import (
    EpisodeEnded,
    EpisodeOpened,
    Record,
    RecordFile,
    read_call,
    read_result,
    read_results,
)
from gateway.episodes.shown_tools import Route, Shown
from gateway.episodes.turns import CallOrder, Relaying, Turn, close_sessions, failure_of

__all__ = ["Episode"]

_LARGE_BYTES = 256 << 10
_MAX_NAME = 256
"""A longer name is no tool's; so much of it is recorded."""
_log = logging.getLogger("astra_mcp.gateway")


class Episode:
    """A single-use run; made and owned by :class:`gateway.episodes.live.Episodes`."""

    def __init__(
        self,
        *,
        opened: EpisodeOpened,
        routes: Mapping[str, Route],
        turns: Mapping[str, Turn],
        file: RecordFile,
        on_end: Callable[["Episode", EndStatus], None],
        now: Callable[[], float],
    ) -> None:
        self._opened = opened
        self._opened_at = opened.at.timestamp()
        self._shown = Shown(routes, opened.servers)
        self._turns = turns
        law = opened.failures
        self._plan = FailurePlan(law, opened.seed, emulated=opened.emulators) if law.rate else None
        self._answers = KnownAnswers(job=opened.job, shown_before=partial(read_results, file.path))
        self._execution = Execution(
            turns=turns,
            shown=self._shown,
            plan=self._plan,
            limits=opened.limits,
            goes_on=opened.endpoint is not None,
            answers=self._answers,
        )
        further = opened.distractor_servers
        own = [name for name in opened.servers if name not in further and name in turns]
        self.own_upstreams = tuple(turns[name].upstream for name in own)
        """The servers of its source; of a distractor's server one tool is shown, and no more.

        They are those that it holds, whatever is published under their names by now.
        """
        self.relays = any(upstream.relays for upstream in self.own_upstreams)
        """True where more than tools can be reached at one of its own servers."""
        self._file = file
        self._on_end = on_end
        self._now = now
        self._calls: dict[str, Call] = {}
        self._num_started = 0
        self._num_agent_calls = 0
        self._running: dict[int, Call] = {}
        self._results = Results()
        self._relaying = Relaying(turns, opened.limits.call_seconds)
        self._own_ids = token_hex(4)
        """Begins the ids of calls whose callers gave none."""
        self._order = CallOrder()
        self._is_closing = self._is_released = False
        self._last_activity = self._opened_at
        self._ended: EpisodeEnded | None = None

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
        """The tool list under its shown names; fixed for the life of an episode proper."""
        return self._shown.tools

    def show(self, upstreams: Sequence[Upstream], *, qualify_all: bool) -> bool:
        """Show what the servers of a person's state list by now; see :meth:`Shown.renew`."""
        held = {name: turn.upstream for name, turn in self._turns.items()}
        return self._shown.renew(held, upstreams, qualify_all=qualify_all)

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
        """True while a call or another request runs, or what became of a call is still to be recorded."""
        return bool(self._running or self._results) or self._relaying.is_busy

    @property
    def keeps_processes(self) -> bool:
        """True where nothing could rebuild what a server holds, once a call reached it."""
        held = (abilities(upstream) for upstream in self.upstreams)
        return self._num_started > 0 and any(it.keeps_processes for it in held)

    def knows(self, call_id: str) -> bool:
        """True where a call of this id was recorded, so that a retry is answered from the record."""
        return call_id in self._calls

    @property
    def upstreams(self) -> tuple[Upstream, ...]:
        """All servers that it holds, those of distractors included."""
        return tuple(turn.upstream for turn in self._turns.values())

    def upstream_of(self, shown: str) -> Upstream | None:
        """The server of a listed tool; None for a tool that is not listed."""
        route = self._shown.routes.get(shown)
        turn = self._turns.get(route.server) if route else None
        return turn.upstream if turn else None

    @property
    def endpoint(self) -> str | None:
        """The interactive endpoint that it is the state of, or None for an episode proper."""
        return self._opened.endpoint

    @property
    def servers(self) -> Mapping[str, str]:
        """Name to version of every server of the episode."""
        return self._shown.servers

    @property
    def expires_at(self) -> datetime:
        """When it expires unless it is called again; for an ended one, when it ended."""
        if self._ended is not None:
            return self._ended.at
        return datetime.fromtimestamp(self._due, UTC)

    @property
    def _due(self) -> float:
        limits = self._opened.limits
        return min(self._last_activity + limits.idle_seconds, self._opened_at + limits.life_seconds)

    def state(self) -> EpisodeState:
        """Tell where the episode stands."""
        ended = self._ended
        return EpisodeState(
            id=self.id,
            status=ended.status if ended else EpisodeStatus.OPEN,
            source=self._opened.source,
            seed=self._opened.seed,
            calls=self._num_agent_calls,
            solved=tuple(sorted(self._answers.solved)),
            reward=ended.reward if ended else self._score(),
            failure=ended.failure if ended else None,
            labels=self._opened.labels,
            marks=self._opened.marks,
            failures=self._opened.failures,
            created_at=self._opened.at,
            expires_at=self.expires_at,
        )

    def _score(self) -> Reward | None:
        return score_episode(self._opened.job, self._answers.solved, self._num_agent_calls)

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
        executed now, unless its server is a deployed one.

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
            ShortageError: It cannot be begun or recorded for now; the same call, by its id, can later.
        """
        answer = await self.answer(
            shown.encode(errors="replace").decode(),
            arguments,
            call_id=call_id,
            seq=seq,
            fault=fault or json_fault(arguments),
            exchange=exchange,
        )
        return answer.result

    async def answer(
        self,
        shown: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
        exchange: Exchange = SILENT,
    ) -> Encoded:
        """Do what :meth:`call` does for a name and arguments that are known to be sound JSON."""
        shown = shown[:_MAX_NAME]
        fault = fault or too_large_arguments(arguments, self._opened.limits.argument_bytes)
        if fault is not None:
            arguments = NO_ARGUMENTS
        if call_id or seq is not None:
            known = await self._find_known(call_id, seq)
            if known is not None:
                return await self._repeat(known, (shown, arguments, fault), exchange)
        if self._ended is not None or self._is_closing or self._now() >= self._due:
            refusal = self._refuse()
            if refusal is not None:
                return refusal
        if seq is not None:
            self._order.check(seq)
        try:
            call = self._start(call_id, seq, shown, arguments, fault)
        except RecordError as error:
            return self._fail_unrecorded(error)
        if call_id:
            self._calls[call_id] = call
        return await self._finish(call, exchange)

    async def _find_known(self, call_id: str | None, seq: int | None) -> Call | None:
        """Find the call of this id; where there is none, wait for the calls before this one."""
        known = self._calls.get(call_id) if call_id else None
        if known is None and seq is not None and self.is_open:
            await self._order.wait_for(seq)
            known = self._calls.get(call_id) if call_id else None
        return known

    def _refuse(self) -> Encoded | None:
        """Answer in the place of the tools where the episode takes no more calls."""
        self.expire_if_due()
        if self._ended is None and self._is_closing:
            raise EpisodeEndedError("this episode is being closed: create a new one")
        if self._ended is None:
            return None
        limit = self._opened.limits.calls
        reached = limit if limit is not None and self._num_agent_calls >= limit else None
        return refusal_of(self._ended, goes_on=self.endpoint is not None, limit=reached)

    async def _repeat(
        self,
        call: Call,
        asked: tuple[str, Mapping[str, JsonValue], str | None],
        exchange: Exchange,
    ) -> Encoded:
        begun = await anyio.to_thread.run_sync(read_call, self._file.path, call.started_at)
        if digest_of(begun.shown, begun.arguments, begun.fault) != digest_of(*asked):
            raise CallFaultError("this call id was used for another call: choose a new one")
        if call.is_unfinished and call.seq is not None:
            await self._order.wait_for(call.seq)
        if call.is_unfinished:
            refusal = self._refuse()
            if refusal is not None:
                return refusal
            call.is_unfinished = False
            self._order.take(call.seq)
            self._running[call.n] = call
            return await self._finish(call, exchange)
        await self._wait_for(call)
        if call.is_unfinished:
            return await self._repeat(call, asked, exchange)
        if call.finished_at is None:
            self.record_held()
        if call.finished_at is None:
            return unrecorded()
        result = await anyio.to_thread.run_sync(read_result, self._file.path, call.finished_at)
        return answered(call, encode_result(result))

    async def _wait_for(self, call: Call) -> None:
        """Wait until a call that runs has been recorded."""
        if call.n in self._running:
            call.done = call.done or anyio.Event()
            await call.done.wait()

    def _start(
        self,
        call_id: str | None,
        seq: int | None,
        shown: str,
        arguments: Mapping[str, JsonValue],
        fault: str | None,
    ) -> Call:
        """Record that the call begins, and take its place in the order (no await in between)."""
        if self._results:
            self.record_held()
        route = self._shown.routes.get(shown)
        limit = self._opened.limits.calls
        n = self._num_started
        call = Call(
            n=n,
            shown=shown,
            server=route.server if route else None,
            tool=route.tool if route else None,
            arguments=arguments,
            is_over_limit=limit is not None and self._num_agent_calls >= limit,
            seq=seq,
            fault=fault,
            is_distractor=route is not None and route.is_distractor,
        )
        self._last_activity = now = self._now()
        members = call.as_started(call_id or f"{self._own_ids}-{n}")
        call.started_at = self._file.append_started(now, members)
        call.is_large = self._file.size - call.started_at > _LARGE_BYTES
        if self._plan is not None:
            call.injected = call.draw(self._plan, arguments)
        self._num_started = n + 1
        self._num_agent_calls += not call.is_over_limit
        self._order.take(seq)
        self._running[n] = call
        return call

    async def _finish(self, call: Call, exchange: Exchange) -> Encoded:
        """Execute and record, also where the caller has gone: a retry finds the result."""
        began = time.perf_counter()
        try:
            with call_span(self.id, call.shown, call.arguments, exchange):
                if call.is_over_limit:
                    with shielded():
                        await self.wait_idle(before=call.n)
                settled = await self._execution.answer(call, exchange, self._failure)
                self._results.add(call, settled, time.perf_counter() - began, self._record)
        except RecordError as error:
            return self._fail_unrecorded(error)
        except NoProcessesError:
            call.is_unfinished = True
            self._order.reopen(call.seq)
            raise
        finally:
            self._last_activity = self._now()
            del self._running[call.n]
            if not call.is_unfinished:
                call.arguments = NO_ARGUMENTS
            if call.done is not None:
                call.done.set()
        return answered(call, settled.answer)

    def record_held(self) -> None:
        """Record what could not be when it came; see :meth:`gateway.episodes.calls.Results.record_held`."""
        self._results.record_held(self._record)

    def _record(self, call: Call, settled: Settled, seconds: float) -> None:
        answer, origin, told = settled.answer, settled.origin, settled.told.ids
        solved = settled.solved.ids - told - self._answers.told
        members: dict[str, object] = {
            "n": call.n,
            "origin": origin.value,
            "outcome": settled.outcome.value,
            "solved": sorted(solved),
            "latency_ms": round(seconds * 1000, 3),
        }
        turn = self._turns.get(call.server) if call.server else None
        if turn is not None and turn.emulator is not None:
            members["emulator"] = turn.emulator.value
        if call.injected is not None and origin is Origin.INJECTED:
            members["injected"] = call.injected.kind.value
        if told:
            members["told"] = sorted(told)
        if settled.resent:
            members["resent"] = settled.resent
        if settled.unmatched is not None:
            members["unmatched"] = settled.unmatched
        call.finished_at = self._file.append_finished(self._now(), answer, members)
        call.injected = None
        note_result(call.server, origin, answer.result)
        self._answers.solved |= solved
        self._answers.told |= told
        if answer.result.asks and not call.is_over_limit:
            self._num_agent_calls -= 1  # the call goes on with the answers, and counts then
        if settled.failure is not None:
            self.end(EpisodeStatus.FAILED, settled.failure)
        elif origin is Origin.LIMIT:
            self.end(EpisodeStatus.LIMIT)

    async def relay(
        self, server: str, method: str, params: JsonObject, exchange: Exchange
    ) -> JsonObject:
        """Pass a request other than a call on; it is not recorded, but keeps from expiring.

        Raises:
            EpisodeEndedError: The episode takes no more requests.
            UpstreamError: At an interactive endpoint its state ends with that; what else may be raised, and
                the arguments: see :meth:`gateway.episodes.turns.Relaying.request`.
        """
        self.expire_if_due()
        if self._ended is not None or self._is_closing:
            raise EpisodeEndedError("this episode has ended: create a new one")
        try:
            return await self._relaying.request(server, method, params, exchange)
        except UpstreamError as error:
            if self.endpoint is not None and not isinstance(error, RelayedError):
                self.end(EpisodeStatus.FAILED, failure_of(error))
            raise
        finally:
            self._last_activity = self._now()

    def watch(self, server: str, hear: Hear) -> None:
        """Hear the notifications of a server; see :meth:`gateway.episodes.turns.Relaying.watch`."""
        self._relaying.watch(server, hear)

    def expire_if_due(self) -> bool:
        """End the episode where its time is over; tells whether it did."""
        if self._ended is None and not self.is_busy and self._now() >= self._due:
            self.end(EpisodeStatus.EXPIRED)
            return True
        return False

    def end(self, status: EndStatus, failure: Failure | None = None) -> None:
        """Write the end of the record; an episode ends once, and the first end holds.

        Raises:
            ShortageError: It was to be closed, and stays open: nothing else in its record would say so.
        """
        if status is EpisodeStatus.CLOSED:
            self.record_held()
        if self._ended is not None:
            return
        ended = self._end_now(status, failure)
        try:
            self._file.append(ended)
        except ShortageError:
            # Its calls, or the time, say the other ends as well: they are found again from the record.
            if status is EpisodeStatus.CLOSED:
                raise
        except RecordError as error:
            self._fail_unrecorded(error)
            return
        self._ended = ended
        self._order.close()
        self._on_end(self, status)

    def _end_now(self, status: EndStatus, failure: Failure | None) -> EpisodeEnded:
        reward = None if failure else self._score()
        at = datetime.fromtimestamp(self._now(), UTC)
        return EpisodeEnded(at=at, status=status, reward=reward, failure=failure)

    def _fail_unrecorded(self, error: RecordError) -> Encoded:
        """Fail where a line can never be written; nothing unrecorded is answered."""
        if self._is_released:  # the stop broke the call off; whoever has the record next goes on
            return unrecorded()
        _log.error("episode %s: %s", self.id[:6], error)
        if self._ended is None:
            failure = Failure(boundary=Origin.GATEWAY, message=str(error))
            self._ended = self._end_now(EpisodeStatus.FAILED, failure)
            with suppress(GatewayError):  # it is what cannot be written
                self._file.append(self._ended)
            self._order.close()
        return unrecorded()

    def _failure(self) -> Failure | None:
        return self._ended.failure if self._ended is not None else self._results.failure

    def begin_closing(self) -> None:
        """Take no further calls, while those that run come to their end."""
        self._is_closing = True
        if self._plan is not None:
            self._plan.hurry()
        self._order.close()

    async def wait_idle(self, *, before: int | None = None) -> None:
        """Wait until no call runs, or none of those that started before a given one."""
        for call in list(self._running.values()):
            if before is None or call.n < before:
                await self._wait_for(call)

    async def release(self) -> None:
        """Close the record file and the sessions; the episode can be restored from its record."""
        self._is_released = True
        if self._plan is not None:
            self._plan.hurry()
        with suppress(GatewayError):  # its last chance
            self.record_held()
        self._file.close()  # first: a call that this breaks off stays unfinished, and can be sent again
        await close_sessions(self._turns.values(), self.id[:6])

    async def resume(self, record: Record) -> None:
        """Take over the calls of an earlier life, slice by slice; the sessions were opened with them."""
        async for recorded in in_turns(record.calls):
            call = Call.of(recorded, record.lines[recorded.n])
            self._calls[recorded.call_id] = call
            if self._plan is not None:
                injected = call.draw(self._plan, recorded.arguments)
                call.injected = injected if call.is_unfinished else None
            (self._order.reopen if call.is_unfinished else self._order.take)(call.seq)
        self._num_started = len(record.calls)
        self._num_agent_calls = record.agent_calls
        self._answers.solved |= record.solved
        self._answers.told |= record.told
        self._last_activity = record.last_at.timestamp()
        self._ended = record.ended
        # The gateway may have died before it could write the end.
        async for last in in_turns(record.finished_calls):
            if is_failure(last.origin):
                failure = Failure(boundary=last.origin, message=last.result.text)
                self.end(EpisodeStatus.FAILED, failure)
            elif last.origin is Origin.LIMIT:
                self.end(EpisodeStatus.LIMIT)
        if self.is_open:
            await self._give_up_deliveries()

    async def _give_up_deliveries(self) -> None:
        """Answer what a deployed server was sent and did not answer: it is never sent again."""
        async for call in in_turns(self._calls.values()):
            if not was_sent_for_good(call, self._turns):
                continue
            call.is_unfinished = False
            settled = self._execution.settle(unknown_delivery(call.server or ""))
            try:
                self._results.add(call, settled, 0.0, self._record)
            except ShortageError:
                pass  # held
            except RecordError as error:
                self._fail_unrecorded(error)
            self._order.take(call.seq)
