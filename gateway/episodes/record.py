"""The record of an episode: one JSONL file, appended to before anything is answered.

Four events: ``episode_opened``, ``call_started`` (before the call is executed), ``call_finished``
(before its answer leaves) and ``episode_ended``; the two of a call are the halves of a
:class:`~astra_mcp.call_record.CallRecord`. A record says everything that a reward, a replay
or a restart needs; it holds gold, so it lies on the control side only. A line is written by one system
call: a killed process loses at most the line that it had not yet begun. A line that a full disk takes in
part is cut off again, at once or before the next one.
"""

import errno
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import orjson
from pydantic import TypeAdapter, ValidationError, model_validator

from astra_mcp.call_record import (
    CallRecord,
    Encoded,
    EndStatus,
    EpisodeId,
    FinishedCall,
    Step,
    upgraded,
)
from astra_mcp.concurrency import Pace
from astra_mcp.errors import GatewayError, NoFilesError, RecordError
from astra_mcp.headroom import FLOOR_BYTES, READING, WRITING, require_memory
from astra_mcp.reward import Reward
from astra_mcp.types import (
    EmulatorKind,
    Failure,
    FrozenModel,
    JobItem,
    JsonObject,
    PastCall,
    ToolResult,
)
from gateway.api.seams import RecordSink
from gateway.api.wire import NO_FAILURES, DistractorMix, EpisodeLimits, FailureLaw, ShownTool
from gateway.machine.room import SLOW_SECONDS, DiskRoom

__all__ = [
    "RECORD_VERSION",
    "EpisodeEnded",
    "EpisodeOpened",
    "Record",
    "RecordFile",
    "read_record",
    "record_path",
    "too_large",
]

RECORD_VERSION = 2


def _from_first(old: JsonObject) -> JsonObject:
    """Fill in what a record of version 1 may leave out, as its writer had neither."""
    law = NO_FAILURES.model_dump(mode="json")
    return {"failures": law, "distractors": None, "emulators": {}, **old}


_STEPS: Mapping[int, Step] = {1: _from_first}
"""From each older version to the next."""


class _Event(FrozenModel):
    at: datetime
    """When it was written, in UTC."""


class EpisodeOpened(_Event):
    """First line of a record: everything that was decided at creation."""

    event: Literal["episode_opened"] = "episode_opened"
    schema_version: Literal[2] = RECORD_VERSION
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
    failures: FailureLaw
    """Which calls fail on purpose."""
    distractors: DistractorMix | None
    """How the distractors among the tools were chosen; None where none were asked for."""
    emulators: dict[str, EmulatorKind]
    """Who makes up the answers of a server, for those of which there are documents only."""
    version: str
    """Of astra-mcp."""

    @model_validator(mode="before")
    @classmethod
    def _of_this_version(cls, data: Any) -> Any:
        return upgraded(data, RECORD_VERSION, _STEPS)

    @property
    def distractor_servers(self) -> frozenset[str]:
        """Names of the servers of which nothing but distractors is shown."""
        return frozenset(tool.server for tool in self.tools if tool.distractor)


class EpisodeEnded(_Event):
    """The end of the episode; answers to calls that were queued then may still follow it."""

    event: Literal["episode_ended"] = "episode_ended"
    status: EndStatus
    reward: Reward | None
    failure: Failure | None


class CallLines(NamedTuple):
    """Where the lines of a call begin in the file, in bytes."""

    started: int
    finished: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A whole record, read back."""

    opened: EpisodeOpened
    calls: tuple[CallRecord, ...]
    """In the order in which they were started; those that finished are :class:`FinishedCall`."""
    finished_calls: tuple[FinishedCall, ...]
    """In the order in which they finished, which is the order of their effects at each server."""
    lines: Mapping[int, CallLines]
    """Of each call, by its place in the record."""
    past: Mapping[str, tuple[PastCall, ...]]
    """The finished calls by their servers; like the next three made with the record, which may take long."""
    agent_calls: int
    """How many calls count: all but those that a limit refused or that were answered by a question."""
    solved: frozenset[int]
    """Ids of the sub-tasks solved so far."""
    told: frozenset[int]
    """Ids of the sub-tasks that the agent told its tools the answers of."""
    ended: EpisodeEnded | None
    last_at: datetime
    """Time of the last event."""

    def parts(self) -> list[list[Any]]:
        """All that it holds many of; see :func:`astra_mcp.concurrency.drop_in_slices`."""
        return [
            [*self.calls],
            [*self.finished_calls],
            [*self.lines.values()],
            *([*calls] for calls in self.past.values()),
        ]

    def past_calls(self, server: str) -> tuple[PastCall, ...]:
        """The finished calls of a server's tools, in the order of their effects."""
        return self.past.get(server, ())


def record_path(folder: Path, episode: str) -> Path:
    """Name the file of an episode."""
    return folder / f"{episode}.jsonl"


_SHORT_BYTES = _TAIL_BYTES = 64 << 10
_LEAST_BYTES = 4 << 20
"""What must be had beside a line where it belongs to what is under way: less than what begins needs."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_RARE = ("meta", "asks", "refusal")
"""Members of a result that are left out of a line where they are not set."""


class RecordFile:
    """Appends the events of one episode; the only writer of its file."""

    def __init__(
        self, folder: Path, episode: EpisodeId, room: DiskRoom, sinks: Sequence[RecordSink] = ()
    ) -> None:
        """Open the file for appending, readable by its owner alone.

        Raises:
            ShortageError: It cannot be opened for now.
            RecordError: It cannot be opened.
        """
        self.path = record_path(folder, episode)
        self._episode = episode
        self._room = room
        self._sinks = tuple(sinks)
        self._is_torn = False
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor: int | None = None
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
            self._size = _drop_torn_line(self.path, self._descriptor)
        except OSError as error:
            self.close()
            if error.errno in _FULL:
                raise room.note(os.strerror(error.errno)) from error
            msg = f"a record cannot be opened ({error.strerror}): see `astra-mcp doctor`"
            raise _no_files(error) or RecordError(msg) from error

    @property
    def size(self) -> int:
        """Bytes of its whole lines."""
        return self._size

    def append(self, event: EpisodeOpened | EpisodeEnded) -> None:
        """Write the beginning or the end of an episode, or nothing of it.

        Raises:
            ShortageError: It cannot be written for now.
            RecordError: The record is closed.
        """
        data = event.model_dump(mode="json") | {"at": _written(event.at.timestamp())}
        self._write(data, begins=isinstance(event, EpisodeOpened))
        self._tell(data)

    def append_started(self, at: float, call: Mapping[str, object]) -> int:
        """Write that a call begins, or nothing of it; answers where its line begins in the file, in bytes.

        Calls are most of what is written, so neither this nor :meth:`append_finished` makes a model;
        reading back checks every line.

        Args:
            at: Seconds since the epoch.
            call: Members of :class:`~astra_mcp.call_record.CallRecord`.

        Raises:
            ShortageError: As :meth:`append`; so does RecordError.
        """
        data = {"at": _written(at), "event": "call_started", **call}
        begin = self._write(data, begins=True)
        self._tell(data)
        return begin

    def append_finished(self, at: float, answer: Encoded, call: Mapping[str, object]) -> int:
        """Write that a call has ended, with the JSON of its result as it is; as :meth:`append_started`."""
        result = answer.result
        written: dict[str, Any] = {
            "content": orjson.Fragment(answer.content),
            "structured": orjson.Fragment(answer.structured),
            "is_error": result.is_error,
        }
        if result.meta or result.asks or result.refusal:
            written |= {name: getattr(result, name) for name in _RARE if getattr(result, name)}
        data = {"at": _written(at), "event": "call_finished", **call, "result": written}
        begin = self._write(data, begins=False, num_bytes=answer.size)
        written["content"], written["structured"] = list(result.content), result.structured
        self._tell(data)
        return begin

    def _write(self, event: Mapping[str, Any], *, begins: bool, num_bytes: int = 0) -> int:
        """Write a line; answers where in the file it begins. What begins nothing may take the reserve."""
        if self._descriptor is None:
            raise RecordError("the record is closed")
        (self._room.require if begins else self._room.require_speed)()
        require_memory(WRITING * num_bytes, floor=FLOOR_BYTES if begins else _LEAST_BYTES)
        try:
            line = orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError as error:
            raise RecordError(f"an event cannot be written as JSON ({error})") from error
        try:
            self._append_line(self._descriptor, line)
        except OSError as error:
            why = error.strerror or type(error).__name__
            if begins or not self._room.give(why):
                raise self._room.note(why) from error
            self._append_from_reserve(self._descriptor, line)
        begin = self._size
        self._size += len(line)
        return begin

    def _append_from_reserve(self, descriptor: int, line: bytes) -> None:
        try:
            self._append_line(descriptor, line)
        except OSError as error:
            raise self._room.note(error.strerror or type(error).__name__) from error

    def _append_line(self, descriptor: int, line: bytes) -> None:
        """Write a whole line, or nothing of it that stays."""
        if self._is_torn:
            self._cut(descriptor)
        began = time.perf_counter()
        try:
            written = os.write(descriptor, line)
            while written < len(line):
                written += os.write(descriptor, line[written:])
        except OSError:
            self._is_torn = True
            with suppress(OSError):  # then it is cut before the next line, or at the next start
                self._cut(descriptor)
            raise
        finally:
            seconds = time.perf_counter() - began
            if seconds > SLOW_SECONDS:
                self._room.note_slow(seconds)

    def _cut(self, descriptor: int) -> None:
        os.ftruncate(descriptor, self._size)
        self._is_torn = False

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


def read_record(path: Path, pace: Pace | None = None) -> Record:
    """Read a record back; a torn last line (the machine lost power) is left out.

    Args:
        path: Of the file.
        pace: Kept between two lines, in a thread beside which others work.

    Raises:
        RecordError: The file cannot be read, or a line of it is no event; names the line.
    """
    reading, begin = _Reading(), 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    if line != b"\n":
                        reading.take(_event(line), begin)
                except ValueError as error:
                    if not line.endswith(b"\n"):
                        break
                    raise _no_event(path, number, error) from None
                begin += len(line)
                if pace is not None:
                    pace.keep()
    except OSError as error:
        raise _unreadable(path, error) from error
    if reading.opened is None:
        raise RecordError(f"{_short(path)}: the first line is not an episode_opened event")
    try:
        calls = tuple(reading.calls())
    except ValidationError as error:
        msg = f"{_short(path)}: a call does not begin as it must: {error.errors()[0]['msg']}"
        raise RecordError(msg) from None
    return Record(
        opened=reading.opened,
        calls=calls,
        finished_calls=tuple(reading.finished.values()),
        past=_past_of(reading.finished.values(), reading.opened.limits.result_bytes),
        agent_calls=sum(not c.is_over_limit and not (c.result and c.result.asks) for c in calls),
        solved=frozenset(i for c in calls for i in c.solved),
        told=frozenset(i for c in calls for i in c.told),
        lines=reading.lines,
        ended=reading.ended,
        last_at=reading.last_at,
    )


def _no_event(path: Path, number: int, error: ValueError) -> RecordError:
    fault = (
        error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else error
    )
    return RecordError(f"{_short(path)}: line {number} is not a record event: {fault}")


def too_large(size: int, limit_bytes: int) -> ToolResult:
    """What is answered and recorded in the place of a larger result than an episode allows."""
    text = f"The result has {size} bytes; at most {limit_bytes} are allowed. Ask for less at once."
    return ToolResult.from_text(text, is_error=True)


def _is_too_large(result: ToolResult | None, limit_bytes: int) -> bool:
    if result is None or not result.is_error:
        return False
    size = next(iter(re.findall(r"[0-9]+", result.text)), None)
    return size is not None and result == too_large(int(size), limit_bytes)


def _past_of(calls: Iterable[FinishedCall], limit_bytes: int) -> dict[str, tuple[PastCall, ...]]:
    past: defaultdict[str, list[PastCall]] = defaultdict(list)
    for c in calls:
        if c.server is not None and c.tool is not None:
            call = PastCall(
                tool=c.tool,
                arguments=c.arguments,
                outcome=c.outcome,
                result=c.result,
                is_cut=_is_too_large(c.result, limit_bytes),
            )
            past[c.server].append(call)
    return {server: tuple(made) for server, made in past.items()}


class _Reading:
    """What the lines so far say."""

    def __init__(self) -> None:
        self.opened: EpisodeOpened | None = None
        self.finished: dict[int, FinishedCall] = {}
        self.lines: dict[int, CallLines] = {}
        """In the order in which the calls were started."""
        self.ended: EpisodeEnded | None = None
        self.last_at = datetime.min.replace(tzinfo=UTC)
        self._begun: dict[int, JsonObject] = {}
        """Members of each call that has no end yet; they are looked at with it, once."""

    def take(self, event: JsonObject, begin: int) -> None:
        """Add an event whose line begins there.

        Raises:
            ValueError: It is none.
        """
        kind = event.pop("event", None)
        if self.opened is None and kind != "episode_opened":
            raise ValueError("the first line is not an episode_opened event")
        match kind:
            case "episode_opened":
                read = EpisodeOpened.model_validate(event)
                self.opened, self.last_at = self.opened or read, read.at
            case "call_started":
                n, self.last_at = _place(event)
                self._begun[n] = _members(event)
                self.lines[n] = CallLines(begin)
            case "call_finished":
                n, self.last_at = _place(event)
                if n in self._begun:
                    members = {**self._begun[n], **event}
                    self.finished[n] = FinishedCall.model_validate(members)
                    del self._begun[n]
                    self.lines[n] = CallLines(self.lines[n].started, begin)
            case "episode_ended":
                read = EpisodeEnded.model_validate(event)
                self.ended, self.last_at = self.ended or read, read.at
            case other:
                raise ValueError(f"there is no event {other!r}")

    def calls(self) -> Iterable[CallRecord]:
        """All calls, in the order in which they were started.

        Raises:
            ValidationError: One of them has no end, and does not begin as it must.
        """
        for n in self.lines:
            yield self.finished.get(n) or CallRecord.model_validate(self._begun[n])


def _place(event: JsonObject) -> tuple[int, datetime]:
    """Read the number of a call and the time of its event, which is taken out.

    Raises:
        ValueError: One of them is missing.
    """
    return _NUMBER.validate_python(event.get("n")), _TIME.validate_python(event.pop("at", None))


_TIME = TypeAdapter(datetime)
_NUMBER = TypeAdapter(int)


def _event(line: bytes) -> JsonObject:
    if len(line) > _SHORT_BYTES:
        require_memory(READING * len(line), floor=_LEAST_BYTES)
    event: object = orjson.loads(line)
    if not isinstance(event, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - of a file, not of a caller
    return cast("JsonObject", event)


def _members(event: JsonObject) -> JsonObject:
    """Name the members of a call that begins as the model does: one has its own name in the file."""
    distractor = event.pop("distractor", False)
    return {**event, "is_distractor": distractor}


def read_call(path: Path, begin: int) -> CallRecord:
    """Read back how the call whose line begins at a byte began, however long the record is.

    Raises:
        RecordError: The file cannot be read, or no such line is there.
    """
    try:
        event = _event_at(path, begin)
        del event["event"], event["at"]
        return CallRecord.model_validate(_members(event))
    except (ValueError, KeyError):
        raise _nothing_at(path, begin) from None


def read_result(path: Path, begin: int) -> ToolResult:
    """Read back what a call answered; the arguments and errors are those of :func:`read_call`."""
    try:
        return ToolResult.model_validate(_event_at(path, begin)["result"])
    except (ValueError, KeyError):
        raise _nothing_at(path, begin) from None


def read_results(path: Path, end: int) -> Iterator[tuple[int, ToolResult]]:
    """Read the results back whose lines end before a byte, each with the byte at which its line begins.

    Raises:
        RecordError: The file cannot be read, or a line before it is no event.
    """
    begin = 0
    try:
        with path.open("rb") as file:
            while begin < end:
                line = file.readline()
                event = _event(line)
                if event.get("event") == "call_finished":
                    yield begin, ToolResult.model_validate(event["result"])
                begin += len(line)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, KeyError):
        raise _nothing_at(path, begin) from None


def _event_at(path: Path, begin: int) -> JsonObject:
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return _event(file.readline())
    except OSError as error:
        raise _unreadable(path, error) from error


def _nothing_at(path: Path, begin: int) -> RecordError:
    return RecordError(f"{_short(path)}: byte {begin} begins no record event")


def _unreadable(path: Path, error: OSError) -> GatewayError:
    msg = f"{_short(path)} cannot be read ({error.strerror})"
    return _no_files(error) or RecordError(msg)


def _no_files(error: OSError) -> NoFilesError | None:
    if error.errno not in (errno.EMFILE, errno.ENFILE):
        return None
    return NoFilesError(
        "no file can be opened any more: close episodes, or raise the limit (ulimit -n)"
    )


def _written(at: float) -> str:
    """Write a time in ISO 8601 with microseconds, in UTC."""
    digits = str(round(at * 1_000_000)).zfill(7)  # of microseconds, the last six of them a fraction
    return f"{_second(digits[:-6])}.{digits[-6:]}Z"


@lru_cache(maxsize=4)
def _second(seconds: str) -> str:
    """Write a second, in which many lines are written."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _drop_torn_line(path: Path, descriptor: int) -> int:
    """Cut off a last line without its line end: nothing was answered on its strength.

    Returns:
        The size of what is left, in bytes.
    """
    size = begin = whole = os.fstat(descriptor).st_size
    if size == 0:
        return 0
    with path.open("rb") as file:
        while begin > 0:
            begin, end = max(0, begin - _TAIL_BYTES), begin
            file.seek(begin)
            whole = begin + file.read(end - begin).rfind(b"\n") + 1
            if whole > begin:
                break
    if whole < size:
        os.ftruncate(descriptor, whole)
    return whole


def _short(path: Path) -> str:
    """Name a record in a message; its whole name would be the episode's capability."""
    return f"the record of episode {path.stem[:6]}"
