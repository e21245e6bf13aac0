"""The record of an episode: one JSONL file, appended to before anything is answered.

Four events: ``episode_opened``, ``call_started`` (before the call is executed), ``call_finished``
(before its answer leaves) and ``episode_ended``. A record says everything that a reward, a replay
or a restart needs; it holds gold, so it lies on the control side only. A line is written by one system
call: a killed process loses at most the line that it had not yet begun.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from astra_mcp.call_record import Encoded, EpisodeId, EpisodeStatus, FailureKind
from astra_mcp.errors import CapacityError, RecordError
from astra_mcp.reward import JobItem, Reward
from astra_mcp.types import (
    CallOutcome,
    EmulatorKind,
    Failure,
    JsonObject,
    JsonValue,
    Origin,
    PastCall,
    ToolResult,
)
from gateway.api.seams import RecordSink
from gateway.api.wire import (
    NO_FAILURES,
    CallState,
    DistractorMix,
    EpisodeLimits,
    FailureLaw,
    ShownTool,
)

__all__ = [
    "RECORD_VERSION",
    "CallFinished",
    "CallStarted",
    "EpisodeEnded",
    "EpisodeOpened",
    "Event",
    "FinishedCall",
    "FinishedMembers",
    "Record",
    "RecordFile",
    "RecordedCall",
    "StartedMembers",
    "read_event",
    "read_record",
    "record_path",
]

RECORD_VERSION = 1


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at: datetime
    """When it was written, in UTC."""


class EpisodeOpened(_Event):
    """First line of a record: everything that was decided at creation."""

    event: Literal["episode_opened"] = "episode_opened"
    schema_version: Literal[1] = RECORD_VERSION
    id: EpisodeId
    endpoint: str | None = None
    """The interactive endpoint that the state belongs to; None for an episode proper."""
    source: JsonObject
    seed: int
    limits: EpisodeLimits
    labels: dict[str, str]
    prompt: str | None
    job: tuple[JobItem, ...]
    tools: tuple[ShownTool, ...]
    tools_hash: str
    servers: dict[str, str]
    """Name to version (content hash) of every server of the episode."""
    marks: tuple[str, ...]
    failures: FailureLaw = NO_FAILURES
    """Which calls fail on purpose."""
    distractors: DistractorMix | None = None
    """How the distractors among the tools were chosen; None where none were asked for."""
    emulators: dict[str, EmulatorKind] = Field(default_factory=dict[str, EmulatorKind])
    """Who makes up the answers of a server, for those of which there are documents only."""
    version: str
    """Of astra-mcp."""

    @property
    def distractor_servers(self) -> frozenset[str]:
        """Names of the servers of which nothing but distractors is shown."""
        return frozenset(tool.server for tool in self.tools if tool.distractor)


class CallStarted(_Event):
    """Written before a call is executed."""

    event: Literal["call_started"] = "call_started"
    n: int
    """Place in the record, from 0."""
    call_id: str
    seq: int | None
    server: str | None
    """None for a tool that the episode does not list."""
    tool: str | None
    shown: str
    arguments: dict[str, JsonValue]
    is_over_limit: bool = False
    """True where the call limit was reached before; the call reaches no tool and does not count."""
    fault: str | None = None
    """Why the arguments, which then stand empty, reached no tool: they were no JSON object."""
    distractor: bool = False


class CallFinished(_Event):
    """Written before the call's answer leaves."""

    event: Literal["call_finished"] = "call_finished"
    n: int
    result: ToolResult
    origin: Origin
    outcome: CallOutcome
    solved: tuple[int, ...]
    """Ids of the sub-tasks that this result solves."""
    latency_ms: float
    emulator: EmulatorKind | None = None
    """Who makes up the answers of the call's server; None for one that answers itself."""
    injected: FailureKind | None = None
    """How the call failed on purpose; None where it did not."""


class EpisodeEnded(_Event):
    """The end of the episode; answers to calls that were queued then may still follow it."""

    event: Literal["episode_ended"] = "episode_ended"
    status: EpisodeStatus
    reward: Reward | None
    failure: Failure | None


Event = EpisodeOpened | CallStarted | CallFinished | EpisodeEnded
_EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call with its result, or without one where the gateway died in between."""

    started: CallStarted
    finished: CallFinished | None
    started_at: int
    """Where its line begins in the file, in bytes."""
    finished_at: int | None
    """Likewise; None where it has no such line."""

    def as_state(self) -> CallState:
        """Render for the control plane."""
        started, finished = self.started, self.finished
        return CallState(
            n=started.n,
            call_id=started.call_id,
            seq=started.seq,
            server=started.server,
            tool=started.tool,
            shown=started.shown,
            arguments=started.arguments,
            is_distractor=started.distractor,
            result=finished.result if finished else None,
            origin=finished.origin if finished else None,
            solved=finished.solved if finished else (),
            latency_ms=finished.latency_ms if finished else None,
            emulator=finished.emulator if finished else None,
            injected=finished.injected if finished else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCall:
    """A call with its result."""

    started: CallStarted
    finished: CallFinished

    @property
    def origin(self) -> Origin:
        """Who is the author of the result."""
        return self.finished.origin

    @property
    def result(self) -> ToolResult:
        """What was answered."""
        return self.finished.result


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A whole record, read back."""

    opened: EpisodeOpened
    calls: tuple[RecordedCall, ...]
    """In the order in which they were started."""
    finished_calls: tuple[FinishedCall, ...]
    """In the order in which they finished, which is the order of their effects at each server."""
    ended: EpisodeEnded | None
    last_at: datetime
    """Time of the last event."""

    @property
    def agent_calls(self) -> int:
        """How many calls count: all but those that a limit refused or that were answered by a question."""
        return sum(
            not c.started.is_over_limit and not (c.finished and c.finished.result.asks)
            for c in self.calls
        )

    @property
    def solved(self) -> frozenset[int]:
        """Ids of the sub-tasks solved so far."""
        return frozenset(i for c in self.calls if c.finished for i in c.finished.solved)

    def past_calls(self, server: str) -> tuple[PastCall, ...]:
        """The finished calls of a server's tools, in the order of their effects."""
        return tuple(
            PastCall(
                tool=c.started.tool,
                arguments=c.started.arguments,
                outcome=c.finished.outcome,
                result=c.finished.result,
            )
            for c in self.finished_calls
            if c.started.server == server and c.started.tool is not None
        )


class StartedMembers(TypedDict):
    """What an episode tells of a call that begins; see :class:`CallStarted`."""

    n: int
    call_id: str
    seq: int | None
    server: str | None
    tool: str | None
    shown: str
    arguments: Mapping[str, JsonValue]
    is_over_limit: bool
    fault: str | None
    distractor: bool


class FinishedMembers(TypedDict):
    """What an episode tells of a call that ends; see :class:`CallFinished`."""

    n: int
    origin: str
    outcome: str
    solved: list[int]
    latency_ms: float
    emulator: NotRequired[str]
    injected: NotRequired[str]


def record_path(folder: Path, episode: str) -> Path:
    """Name the file of an episode."""
    return folder / f"{episode}.jsonl"


_RARE = ("meta", "asks", "refusal")
"""Members of a result that are left out of a line where they are not set."""


class RecordFile:
    """Appends the events of one episode; the only writer of its file."""

    def __init__(self, folder: Path, episode: EpisodeId, sinks: Sequence[RecordSink] = ()) -> None:
        """Open the file for appending, readable by its owner alone."""
        self.path = record_path(folder, episode)
        self._episode = episode
        self._sinks = tuple(sinks)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor: int | None = None
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
            self._size = _drop_torn_line(self.path, self._descriptor)
        except OSError as error:
            self.close()
            if error.errno in (errno.EMFILE, errno.ENFILE):
                msg = (
                    "no file can be opened any more: close episodes, or raise the limit (ulimit -n)"
                )
                raise CapacityError(msg) from error
            msg = f"a record cannot be opened ({error.strerror}): see `astra-mcp doctor`"
            raise RecordError(msg) from error

    def append(self, event: EpisodeOpened | EpisodeEnded) -> None:
        """Write the beginning or the end of an episode, or nothing of it.

        Raises:
            RecordError: The disk is full or the record is closed; after a failure it stays closed.
        """
        data = event.model_dump(mode="json")
        self._write(data)
        self._tell(data)

    def append_started(self, at: float, call: "StartedMembers") -> int:
        """Write a :class:`CallStarted`, or nothing of it.

        Calls are most of what is written, so neither this nor :meth:`append_finished` makes a model;
        reading back checks every line.

        Args:
            at: Seconds since the epoch.
            call: The further members of the event.

        Returns:
            Where its line begins in the file, in bytes.

        Raises:
            RecordError: As :meth:`append`.
        """
        data = {"at": _written(at), "event": "call_started", **call}
        begin = self._write(data)
        self._tell(data)
        return begin

    def append_finished(self, at: float, answer: Encoded, call: "FinishedMembers") -> int:
        """Write a :class:`CallFinished`, or nothing of it.

        Args:
            at: Seconds since the epoch.
            answer: The result; its JSON is taken as it is.
            call: The further members of the event.

        Returns:
            Where its line begins in the file, in bytes.

        Raises:
            RecordError: As :meth:`append`.
        """
        result = answer.result
        written: dict[str, Any] = {
            "content": orjson.Fragment(answer.content),
            "structured": orjson.Fragment(answer.structured),
            "is_error": result.is_error,
        }
        if result.meta or result.asks or result.refusal:
            written |= {name: getattr(result, name) for name in _RARE if getattr(result, name)}
        data = {"at": _written(at), "event": "call_finished", **call, "result": written}
        begin = self._write(data)
        written["content"], written["structured"] = list(result.content), result.structured
        self._tell(data)
        return begin

    def _write(self, event: Mapping[str, Any]) -> int:
        """Write a line; answers where in the file it begins."""
        if self._descriptor is None:
            msg = "the record is closed"
            raise RecordError(msg)
        try:
            line = orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError as error:
            msg = f"an event cannot be written as JSON ({error})"
            raise RecordError(msg) from error
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            os.ftruncate(self._descriptor, self._size)
            self.close()
            msg = f"a record cannot be written ({error.strerror}): free disk space"
            raise RecordError(msg) from error
        begin = self._size
        self._size += len(line)
        return begin

    def _tell(self, event: Mapping[str, Any]) -> None:
        for sink in self._sinks:
            sink.write(self._episode, event)

    def discard(self) -> None:
        """Remove a record to which nothing could be written."""
        self.close()
        if self._size == 0:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the file; closing twice is allowed."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def read_record(path: Path) -> Record:
    """Read a record back; a torn last line (the machine lost power) is left out.

    Raises:
        RecordError: The file cannot be read, or a line of it is no event; names the line.
    """
    events: list[Event] = []
    begins: list[int] = []
    begin = 0
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _unreadable(path, error) from error
    for number, line in enumerate(lines, start=1):
        here, begin = begin, begin + len(line) + 1
        if not line:
            continue
        try:
            events.append(_EVENTS.validate_json(line))
            begins.append(here)
        except ValidationError as error:
            if number == len(lines):
                break
            fault = error.errors(include_url=False)[0]["msg"]
            msg = f"{_short(path)}: line {number} is not a record event: {fault}"
            raise RecordError(msg) from None
    return _assemble(path, events, begins)


def read_event(path: Path, begin: int) -> Event:
    """Read one event back, however long the record is.

    Args:
        path: Of the record.
        begin: Where its line begins, in bytes.

    Raises:
        RecordError: The file cannot be read, or there is no event there.
    """
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return _EVENTS.validate_json(file.readline())
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValidationError:
        msg = f"{_short(path)}: byte {begin} begins no record event"
        raise RecordError(msg) from None


def _unreadable(path: Path, error: OSError) -> RecordError:
    return RecordError(f"{_short(path)} cannot be read ({error.strerror})")


def _assemble(path: Path, events: Sequence[Event], begins: Sequence[int]) -> Record:
    opened = events[0] if events else None
    if not isinstance(opened, EpisodeOpened):
        msg = f"{_short(path)}: the first line is not an episode_opened event"
        raise RecordError(msg)
    finished = {e.n: e for e in events if isinstance(e, CallFinished)}
    placed = list(zip(events, begins, strict=True))
    ends = {e.n: begin for e, begin in placed if isinstance(e, CallFinished)}
    calls = tuple(
        RecordedCall(
            started=e, finished=finished.get(e.n), started_at=begin, finished_at=ends.get(e.n)
        )
        for e, begin in placed
        if isinstance(e, CallStarted)
    )
    by_number = {c.started.n: c for c in calls}
    return Record(
        opened=opened,
        calls=calls,
        finished_calls=tuple(
            FinishedCall(started=by_number[n].started, finished=f)
            for n, f in finished.items()
            if n in by_number
        ),
        ended=next((e for e in events if isinstance(e, EpisodeEnded)), None),
        last_at=events[-1].at,
    )


def _written(at: float) -> str:
    """Write a time in ISO 8601 with microseconds."""
    digits = str(round(at * 1_000_000)).zfill(7)  # of microseconds, the last six of them a fraction
    return f"{_second(digits[:-6])}.{digits[-6:]}+00:00"


@lru_cache(maxsize=4)
def _second(seconds: str) -> str:
    """Write a second, in which many lines are written."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _drop_torn_line(path: Path, descriptor: int) -> int:
    """Cut off a last line without its line end: nothing was answered on its strength.

    Returns:
        The size of what is left, in bytes.
    """
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.ftruncate(descriptor, whole)
    return whole


def _short(path: Path) -> str:
    """Name a record in a message; its whole name would be the episode's capability."""
    return f"the record of episode {path.stem[:6]}"
