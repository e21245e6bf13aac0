"""One call: what is known of it, who answers it, and what its reply comes to.

Its server answers it in its turn, a failure in its place, or words where it reaches none; the reply is a
result within its limit, or a failure in words. Knows turns, limits and the plan of failures; knows neither
the record's file nor the order of calls.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import anyio
import anyio.lowlevel
import orjson

from astra_mcp.answers import prepare_matching
from astra_mcp.call_record import CallRecord, Encoded, EpisodeStatus, encode_result
from astra_mcp.concurrency import completed_at_once, shielded
from astra_mcp.errors import (
    EpisodeEndedError,
    NoMemoryError,
    RecordError,
    ShortageError,
    UnknownNameError,
)
from astra_mcp.mcp.request_context import Exchange
from astra_mcp.reward import NOTHING_SOLVED, Solved, solved_in_slices
from astra_mcp.sent_answers import NOTHING_SENT, Sent, free_texts, modifying_names
from astra_mcp.text.plain import one_line
from astra_mcp.types import (
    CallOutcome,
    Failure,
    JsonObject,
    JsonValue,
    Origin,
    ToolResult,
    UpstreamReply,
    canonical_json,
    is_failure,
)
from gateway.api.seams import abilities
from gateway.api.wire import EpisodeLimits
from gateway.episodes.failures import FailurePlan, InjectedFailure
from gateway.episodes.known_answers import KnownAnswers
from gateway.episodes.record import CallLines, EpisodeEnded, too_large
from gateway.episodes.shown_tools import Shown
from gateway.episodes.turns import Turn, ask_server

NO_ARGUMENTS: Mapping[str, JsonValue] = {}
_NO_SCHEMA: JsonObject = {}
_UNSHOWN = encode_result(
    ToolResult.from_text(
        "The tool has answered, and there is no memory to show its result (ulimit -v of the gateway). "
        "Ask for less at once.",
        is_error=True,
    )
)
_UNREACHED = "The tool could not be reached."
_THE_END = "This run has ended; further calls are not possible."
_ANSWER_NOW = "This run has ended; give the final answer."
_BEGIN_ANEW = "This state has ended; the next call begins a new one."


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
    is_large: bool = False
    """True where to record its beginning took milliseconds, after which others have their turn."""
    is_unfinished: bool = False
    """True where it was started only: by an earlier life of the gateway, or where no process could be."""
    started_at: int = 0
    """Where the record says how it began, in bytes."""
    finished_at: int | None = None
    """Where it says how it ended; None where it does not yet."""
    done: anyio.Event | None = None
    """Made by whoever waits for the end of the call."""

    @classmethod
    def of(cls, recorded: CallRecord, lines: CallLines) -> "Call":
        """Take over a recorded call."""
        known = {name: getattr(recorded, name) for name in _TAKEN_OVER}
        call = cls(**known, is_unfinished=recorded.result is None)
        if not call.is_unfinished:
            call.arguments = NO_ARGUMENTS
        call.started_at, call.finished_at = lines
        return call

    def as_started(self, call_id: str) -> Mapping[str, object]:
        """Say what is recorded of its beginning, under the names of the file."""
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
        """Count it in a plan, by the arguments that were recorded, and find out how it fails.

        What reaches no tool anyway does not count.
        """
        if self.server is None or self.tool is None or self.is_over_limit or self.fault is not None:
            return None
        return plan.draw(self.server, self.tool, arguments)


_TAKEN_OVER = [
    f.name for f in fields(Call) if f.name in CallRecord.model_fields and f.name != "injected"
]
"""What a call is from its record on; how it fails is drawn again."""


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


def was_sent_for_good(call: Call, turns: Mapping[str, Turn]) -> bool:
    """True where an earlier life may have sent a call to a deployed server, whose state is not ours."""
    turn = turns.get(call.server) if call.server else None
    if not call.is_unfinished or turn is None or call.is_over_limit or call.fault or call.injected:
        return False
    return not abilities(turn.upstream).replayable


class Settled(NamedTuple):
    """What is recorded and answered."""

    answer: Encoded
    origin: Origin
    outcome: CallOutcome
    failure: Failure | None
    """Where it is set, the episode ends with it."""
    solved: Solved = NOTHING_SOLVED
    resent: int = 0
    """As :class:`~astra_mcp.types.UpstreamReply` says."""
    told: Sent = NOTHING_SENT
    """What the agent sent of answers that no result had shown when it began the call."""

    @property
    def unmatched(self) -> str | None:
        """Why answers were not looked for in all of the arguments or of the result."""
        refusal = self.told.refusal
        return self.solved.unmatched if refusal is None else f"the arguments: {refusal}"


Write = Callable[[Call, Settled, float], None]


@dataclass(slots=True)
class Results:
    """What became of calls, on its way to the record: in order, and held where there is no room for it."""

    _held: deque[tuple[Call, Settled, float]] = field(
        default_factory=deque[tuple[Call, Settled, float]], init=False
    )

    def __bool__(self) -> bool:
        """True where one is held."""
        return bool(self._held)

    def add(self, call: Call, settled: Settled, seconds: float, write: Write) -> None:
        """Record one, after those that are held. Raises as :meth:`record_held`."""
        self._held.append((call, settled, seconds))
        self.record_held(write)

    def record_held(self, write: Write) -> None:
        """Record what could not be recorded when it came.

        Args:
            write: Records one, with the seconds that the call took. Not kept, as it is of the episode, which
                nothing but the collector of garbage could take away then.

        Raises:
            ShortageError: It is held until there is room.
            RecordError: The record is closed.
        """
        while self._held:
            held = self._held.popleft()
            try:
                try:
                    write(*held)
                except NoMemoryError:  # many that hold their results would wait for each other
                    call, settled, seconds = held
                    unshown = settled._replace(answer=_UNSHOWN, solved=NOTHING_SOLVED)
                    held = (call, unshown, seconds)
                    write(*held)
            except ShortageError:
                self._held.appendleft(held)
                raise

    @property
    def failure(self) -> Failure | None:
        """How the episode has failed, by what is held."""
        return next((settled.failure for _, settled, _ in self._held if settled.failure), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Answers the calls of one episode."""

    turns: Mapping[str, Turn]
    """By the names of the servers."""
    shown: Shown
    """What the episode lists."""
    plan: FailurePlan | None
    """Lets calls fail; None where none do."""
    limits: EpisodeLimits
    goes_on: bool
    """True where another state follows a failed one."""
    answers: KnownAnswers
    """Of what the episode is scored on."""

    async def answer(
        self, call: Call, exchange: Exchange, failure: Callable[[], Failure | None]
    ) -> Settled:
        """Run a call that is recorded as begun; whoever cancels it waits for its end, which has a deadline.

        The failure tells how the episode has failed, once it is the call's turn.
        """
        if call.is_over_limit:
            return self.settle(rejected(limit_text(self.limits.calls), Origin.LIMIT))
        if call.server is None or call.tool is None:
            names = ", ".join(self.shown.routes) or "none"
            text = f"Unknown tool: {one_line(call.shown[:128])}. The tools are: {names}"
            return await self._matched(call, self.settle(rejected(text)))
        if call.fault is not None:
            return await self._matched(call, self.settle(rejected(call.fault)))
        turn = self.turns[call.server]
        if turn.lock.locked():
            with shielded():
                await turn.lock.acquire()
        else:
            turn.lock.acquire_nowait()
        try:
            failed = failure()
            if failed is not None:
                return self.settle(failed)
            if call.is_large:
                with shielded():
                    await anyio.lowlevel.checkpoint()
            if call.injected is not None and self.plan is not None:
                # In the place of the server, it may take as long as a call may, and no longer.
                seconds = min(call.injected.delay_seconds, self.limits.call_seconds)
                await self.plan.wait(seconds, exchange.cancellation)
                settled = self.settle(rejected(call.injected.text, Origin.INJECTED))
                return await self._matched(call, settled)
            reply = await ask_server(
                turn, call.tool, call.arguments, exchange, self.limits.call_seconds
            )
            return await self._matched(call, self.settle(reply))
        finally:
            turn.lock.release()

    async def _matched(self, call: Call, settled: Settled) -> Settled:
        """Look for answers while it is still the call's turn: what is recorded next is its result.

        A tool that has nothing to do with the job solves nothing, whatever it is named and says.
        """
        if not self.answers.job or settled.failure is not None:
            return settled
        return await completed_at_once(self._look(call, settled))

    async def _look(self, call: Call, settled: Settled) -> Settled:
        await prepare_matching()
        told = await self.answers.told_by(self._free_texts(call), began_at=call.started_at)
        solved = NOTHING_SOLVED
        if not call.is_distractor and call.tool is not None:
            result = settled.answer.result
            solved = await solved_in_slices(self.answers.job, call.tool, result, settled.origin)
        if told is NOTHING_SENT and solved is NOTHING_SOLVED:
            return settled
        return settled._replace(told=told, solved=solved)

    def _free_texts(self, call: Call) -> Iterator[str]:
        """Read out what the agent wrote in a call, and words of it that a refusal may repeat."""
        route = self.shown.routes.get(call.shown)
        modifying = frozenset[str]()
        if call.tool is None:
            yield call.shown
        elif not call.is_distractor:
            modifying = modifying_names(self.answers.job, call.tool)
        if call.fault is not None:
            yield call.fault
        schema = route.shown.input_schema if route else _NO_SCHEMA
        yield from free_texts(call.arguments, schema, modifying)

    def settle(self, reply: UpstreamReply | Failure) -> Settled:
        """Bound a server's reply, and tell a failure from a result; a server may report one in its words."""
        if isinstance(reply, Failure):
            return self._fail(reply)
        if is_failure(reply.origin):
            shown = reply.result.text
            failure = Failure(boundary=reply.origin, message=reply.cause or shown or _UNREACHED)
            return self._fail(failure, shown=shown, outcome=reply.outcome)
        if reply.origin is Origin.LIMIT:
            text = f"{reply.result.text} {_BEGIN_ANEW if self.goes_on else _ANSWER_NOW}"
            reply = replace(reply, result=ToolResult.from_text(text, is_error=True))
        try:
            answer = encode_result(reply.result)
        except RecordError as error:
            failure = Failure(boundary=Origin.UPSTREAM, message=str(error))
            return self._fail(failure, outcome=reply.outcome)
        except NoMemoryError:
            answer = _UNSHOWN
        if answer.size > self.limits.result_bytes:
            answer = encode_result(too_large(answer.size, self.limits.result_bytes))
        return Settled(answer, reply.origin, reply.outcome, None, resent=reply.resent)

    def _fail(
        self, failure: Failure, *, shown: str = "", outcome: CallOutcome = CallOutcome.REJECTED
    ) -> Settled:
        """Make a result of a failure, of which an agent may read what is shown, else its message."""
        words = words_of_the_end(failure, goes_on=self.goes_on, shown=shown)
        return Settled(_error(words), failure.boundary, outcome, failure)


def words_of_the_end(failure: Failure, *, goes_on: bool, shown: str = "") -> str:
    """Say to an agent what became of its call; never empty.

    The message of a failed sandbox or gateway is for those who run it, and stays in the record.
    """
    words = shown or (failure.message if failure.boundary is Origin.UPSTREAM else "") or _UNREACHED
    if goes_on:
        return words
    return f"{words}{'' if words.endswith(('.', '!', '?')) else '.'} {_THE_END}"


def refusal_of(ended: EpisodeEnded, *, goes_on: bool, limit: int | None) -> Encoded:
    """Answer a call in the place of its server, where the episode has ended.

    The limit is that of calls, where it was reached; a server may have one of its own.

    Raises:
        EpisodeEndedError: It was closed or has expired.
    """
    match ended.status:
        case EpisodeStatus.FAILED if goes_on and ended.failure is not None:
            text = words_of_the_end(ended.failure, goes_on=True)
        case EpisodeStatus.FAILED:
            return unrecorded()
        case EpisodeStatus.LIMIT if goes_on:
            text = _BEGIN_ANEW
        case EpisodeStatus.LIMIT:
            text = _ANSWER_NOW if limit is None else f"{limit_text(limit)} {_ANSWER_NOW}"
        case status:
            raise EpisodeEndedError(
                f"this episode is {status.value}: create a new one; its record and reward can "
                "still be read"
            )
    return _error(text)


def limit_text(limit: int | None) -> str:
    """Say that no call is left."""
    return f"The limit of {limit} tool calls is reached."


def unrecorded() -> Encoded:
    """Answer a call that could not be recorded: of what it did, nothing may be told."""
    return _error(f"{_UNREACHED} {_THE_END}")


def _error(text: str) -> Encoded:
    """Make a result that is an error of these words."""
    return encode_result(ToolResult.from_text(text, is_error=True))


def unknown_delivery(server: str) -> Failure:
    """Tell of a call that a deployed server was sent in an earlier life of the gateway."""
    message = (
        f"delivery unknown: the gateway ended while {server} ran this call, which may or may not have "
        "taken effect; it is not sent again"
    )
    return Failure(boundary=Origin.UPSTREAM, message=message)


def rejected(text: str, origin: Origin = Origin.TOOL) -> UpstreamReply:
    """Answer a call that reaches no server."""
    result = ToolResult.from_text(text, is_error=True)
    return UpstreamReply(result=result, origin=origin, outcome=CallOutcome.REJECTED)


def too_large_arguments(arguments: Mapping[str, JsonValue], limit_bytes: int) -> str | None:
    """Say why arguments are no tool's: they are larger than the episode allows; None where they are not."""
    size = len(orjson.dumps(arguments))
    if size <= limit_bytes:
        return None
    return f"the arguments have {size} bytes; at most {limit_bytes} are allowed: send less at once"


def within_limit(result: ToolResult, limit_bytes: int) -> ToolResult:
    """Answer the result, or an error that says how large it is where it exceeds the limit."""
    size = len(orjson.dumps([result.content, result.structured]))
    return result if size <= limit_bytes else too_large(size, limit_bytes)
