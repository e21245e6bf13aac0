"""The trajectory as a value, which is checked as a whole, and its files.

Messages are OpenAI chat messages, the tool list is the OpenAI function documents as they were shown.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from shutil import copymode
from typing import Annotated, Any, Literal, Self, cast

import orjson
from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_serializer,
    model_serializer,
    model_validator,
)

from astra_mcp.call_record import CallFacts, EndStatus, EpisodeStatus
from astra_mcp.errors import ConfigError
from astra_mcp.reward import Reward
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.trajectory.line import closed_line, instant_text, opened_line
from astra_mcp.types import FailureOrigin, FrozenModel, JsonObject

__all__ = [
    "AgentInfo",
    "AssistantMessage",
    "CallNote",
    "FunctionCall",
    "Message",
    "ModelUsage",
    "RolloutBoundary",
    "Seeds",
    "StopReason",
    "SystemMessage",
    "ToolCall",
    "ToolMessage",
    "Trajectory",
    "TrajectoryFailure",
    "TrajectoryWriter",
    "UserEnd",
    "UserInfo",
    "UserMessage",
    "Versions",
    "read_trajectories",
]

_LINE_START = b'{"schema_version":'
"""By which the beginning of a torn line is told from what is not ours."""


class FunctionCall(FrozenModel):
    """What the agent asked for, in its own words."""

    name: str
    arguments: str
    """As the agent wrote it: JSON text of an object, or whatever else a model produced."""


class ToolCall(FrozenModel):
    """One call of an assistant message."""

    id: str = Field(min_length=1)
    """Unique in the trajectory."""
    type: Literal["function"] = "function"
    function: FunctionCall


class SystemMessage(FrozenModel):
    """Standing instructions; only as the first message."""

    role: Literal["system"] = "system"
    content: str


class UserMessage(FrozenModel):
    """What the user says: the request, and what follows it where the user goes on speaking."""

    role: Literal["user"] = "user"
    content: str


class AssistantMessage(FrozenModel):
    """One turn of the agent: words, calls, or both."""

    role: Literal["assistant"] = "assistant"
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()

    @model_serializer(mode="wrap")
    def _omit_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what chat endpoints refuse when it is empty."""
        data: dict[str, Any] = handler(self)
        optional = ("reasoning_content", "tool_calls")
        return {k: v for k, v in data.items() if v or k not in optional}


class ToolMessage(FrozenModel):
    """What came back for one call."""

    role: Literal["tool"] = "tool"
    tool_call_id: str
    content: str


Message = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]


class _Answered(BaseModel, frozen=True, extra="forbid"):
    tool_call_id: str
    seq: int | None
    """Place among the episode's calls, from 0; None where they were not numbered."""
    is_error: bool


class CallNote(CallFacts, _Answered, frozen=True):
    """What is known of one answered call, beside its text.

    The facts come from the episode's record; they are None where that could not be read, and for a call that
    it does not hold because the episode had ended.
    """


class StopReason(StrEnum):
    """Why the agent stopped."""

    ANSWER = "answer"
    """It called no further tool."""
    TURNS = "turns"
    """It used up its turns."""
    LENGTH = "length"
    """Its last message was cut at the model's token limit."""
    TIME = "time"
    """The episode's time was over; a call that was under way then is answered by a word of that."""
    TOKENS = "tokens"
    """Its model wrote more than the episode allows, or read more for one turn."""
    INVALID_CALLS = "invalid_calls"
    """So many calls in a row could reach no tool: by unknown names, or arguments that are no object."""
    USER_TURNS = "user_turns"
    """It answered, and the user, who would have gone on, has used up the turns."""
    SOLVED = "solved"
    """All sub-tasks were solved, and that was to be the end."""
    ENDED = "ended"
    """The episode ended first."""
    FAILURE = "failure"
    """A failure ended it."""


class RolloutBoundary(StrEnum):
    """Where a failure happened of which the gateway knows nothing."""

    TRANSPORT = "transport"
    """Between the rollout and the gateway."""
    MODEL = "model"
    """At the model's endpoint."""
    AGENT = "agent"
    """The agent cannot play this episode, such as an oracle without gold."""
    USER = "user"
    """At the model that speaks as the user."""


class TrajectoryFailure(FrozenModel):
    """A failure as data."""

    boundary: FailureOrigin | RolloutBoundary
    message: str


class AgentInfo(FrozenModel):
    """Who played."""

    name: str
    """That of a built-in agent, ``model``, ``qwen-agent``, or what a class of one's own says."""
    model: str | None = None
    """The model's name at its endpoint."""


class Seeds(FrozenModel):
    """Where the episode's random choices come from."""

    root: int
    """The seed of the whole run."""
    index: int = Field(ge=0)
    """Number of the episode among those of its source."""
    episode: int
    """The derived seed that the gateway was given, and the agent for the first sample; that of a further one
    is derived from it and the sample's number."""


class ModelUsage(FrozenModel):
    """What the agent's model took in one episode, as its endpoint counted."""

    calls: int = Field(ge=0)
    """Begun, whether answered or not; a retried one is one."""
    prompt_tokens: int | None
    """None, like the others, where the endpoint did not tell of every answered call."""
    completion_tokens: int | None
    cached_tokens: int | None
    """Of those of the prompts, what the endpoint had in a cache."""
    cost: float | None
    """In the currency of the configured prices; None where they are not known."""


class UserEnd(StrEnum):
    """How a user who goes on speaking came to an end."""

    DONE = "done"
    """By the user's own rule: there is nothing more to say."""
    LIMIT = "limit"
    """The user would have gone on, and had no turn left."""


class UserInfo(FrozenModel):
    """Who spoke to the agent, where that was more than the one message of the source."""

    name: str
    """``simulated``, or the name that a user of one's own has."""
    model: str | None = None
    """The model that spoke, by its name at its endpoint."""
    persona: str | None = None
    """How the user speaks, in words."""
    turns: int = Field(ge=0)
    """Messages of the user."""
    end: UserEnd | None
    """None where something else ended the episode first."""
    reason: str | None = None
    """Why there was nothing more to say, in the user's words."""
    usage: ModelUsage | None = None
    """What the user's model took; none of it counts in the agent's."""


class Versions(FrozenModel):
    """What produced the trajectory."""

    astra_mcp: str
    source: str | None = None
    """Version of the environment, where the source is one."""


class Trajectory(FrozenModel):
    """One agent in one episode. Source: ASTRA sec. 2.1, eq. (2): tau = {m_0 ... m_{k-1}}."""

    episode_id: str | None
    """None where no episode could be opened."""
    created_at: datetime
    source: JsonObject
    """As in ``POST /v1/episodes``, such as ``{"kind": "environment", "name": ...}``, with ``question``
    where a further question of the environment is asked."""
    distractors: JsonObject | None = None
    """How tools that do not belong to the task came into the list (``mode``, ``k`` and what fell short);
    None where none did. Like the next, from the episode's record, and since version 2."""
    failures: JsonObject | None = None
    """Which calls failed on purpose (``rate``, ``kinds``, ``delay``); None where none could."""
    agent: AgentInfo
    seeds: Seeds
    versions: Versions
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    group: str | None = None
    """The same for all samples of one question under one seed of the environment, and for no other; like the
    next three None in files of before."""
    sample: int | None = Field(default=None, ge=0)
    """Number of the episode in its group."""
    options: str | None = None
    """What was asked for with every episode of the run, as JSON text of an object."""
    usage: ModelUsage | None = None
    """What the model took; None for an agent without one."""
    user: UserInfo | None = None
    """Who went on speaking to the agent; None where the source's prompt was all. Since version 4."""
    tools: tuple[JsonObject, ...]
    """OpenAI function documents, as the agent was shown them."""
    tools_hash: str | None
    messages: tuple[Message, ...]
    calls: tuple[CallNote, ...]
    """One for each tool message, in their order."""
    status: EndStatus
    stop: StopReason
    reward: Reward | None
    """None after a failure, and where the source has no job."""
    failure: TrajectoryFailure | None = None

    @property
    def environment(self) -> str | None:
        """Name of the environment, or None for another kind of source."""
        name = self.source.get("name")
        return name if self.source.get("kind") == "environment" and isinstance(name, str) else None

    @property
    def task(self) -> str | None:
        """Id of the synthesized task, or None for another kind of source."""
        id = self.source.get("id")
        return id if self.source.get("kind") == "task" and isinstance(id, str) else None

    @property
    def question(self) -> str | None:
        """Id of the environment's further question that was asked; None for the main one."""
        asked = self.source.get("question")
        return asked if self.environment is not None and isinstance(asked, str) else None

    @classmethod
    def from_line(cls, line: Mapping[str, Any]) -> Self:
        """Read a line, or the row that a program made of it when it loaded a file.

        Args:
            line: Of this schema version or an older one.

        Raises:
            ValueError: It is none; pydantic's own error where a field is wrong.
        """
        return cls.model_validate(opened_line(line))

    def as_line(self) -> JsonObject:
        """Give the line: the same members and types for every trajectory.

        Raises:
            ValueError: A number in it is not finite, which JSON cannot carry.
        """
        return closed_line(self.model_dump(mode="json"))

    @field_serializer("created_at", when_used="json")
    def _write_created_at(self, created_at: datetime) -> str:
        return instant_text(created_at)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        has_failed = self.status is EpisodeStatus.FAILED
        if has_failed != (self.failure is not None):
            raise ValueError("status failed and a failure go together")
        if has_failed and self.reward is not None:
            raise ValueError("a failed trajectory has no reward")
        _check_messages(self.messages, is_complete=not has_failed)
        _check_user(self.user, self.messages, self.stop)
        answered = [m.tool_call_id for m in self.messages if isinstance(m, ToolMessage)]
        if answered != [note.tool_call_id for note in self.calls]:
            msg = "calls must annotate the tool messages, one for one and in their order"
            raise ValueError(msg)
        return self


def _check_messages(messages: Sequence[Message], *, is_complete: bool) -> None:
    """Check that every tool message answers one earlier call of the latest assistant message.

    Args:
        messages: In order.
        is_complete: Every call must be answered; only a failure may leave calls open, at the end.
    """
    ids = Counter(
        call.id for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls
    )
    repeated = [name for name, count in ids.items() if count > 1]
    if repeated:
        raise ValueError(f"tool call id {repeated[0]!r} is used {ids[repeated[0]]} times")
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                msg = f"messages.{index}: {message.tool_call_id!r} answers no open tool call"
                raise ValueError(msg)
            waiting.remove(message.tool_call_id)
            continue
        if waiting:
            msg = f"messages.{index}: the tool call {min(waiting)!r} before it is not answered"
            raise ValueError(msg)
        if isinstance(message, SystemMessage) and index:
            raise ValueError(f"messages.{index}: a system message may only be the first")
        if isinstance(message, AssistantMessage):
            waiting = {call.id for call in message.tool_calls}
    if waiting and is_complete:
        raise ValueError(f"the tool call {min(waiting)!r} is not answered")


def _check_user(user: UserInfo | None, messages: Sequence[Message], stop: StopReason) -> None:
    """Check that what is said of the user is what the messages show."""
    if stop is StopReason.USER_TURNS and (user is None or user.end is not UserEnd.LIMIT):
        raise ValueError("stop user_turns says that the user came to the limit, and user does not")
    if user is None:
        return
    told = sum(isinstance(message, UserMessage) for message in messages)
    if user.turns != told:
        raise ValueError(f"user.turns is {user.turns}, and there are {told} messages of the user")


class TrajectoryWriter:
    """Writes a JSONL file, one whole line or none per trajectory; no two writers have one file at once.

    A context manager: what fails before the first line leaves no new file behind.
    """

    def __init__(self, path: Path, *, goes_on: bool = False) -> None:
        """Create the file, and its folder where it is missing.

        Args:
            path: Of the file.
            goes_on: Write behind the lines that the file has, where there is one. Call :meth:`mend` before.

        Raises:
            ConfigError: The file exists already (it is never overwritten), is written by somebody else, ends
                in what is no line of trajectories, or cannot be created.
        """
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | (0 if goes_on else os.O_EXCL)
        self._is_new = not path.exists()
        if not self._is_new and not goes_on:
            raise ConfigError(f"{path} exists and is kept as it is: name another file")
        if not self._is_new and not path.is_file():
            raise ConfigError(f"{path} is no file to go on with: name another one")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: int | None = os.open(path, flags, 0o644)
        except OSError as error:
            raise ConfigError(f"{path} cannot be created: {error.strerror}") from None
        self._size = 0
        self._starts: list[int] = []
        self._num_torn = 0
        self._lacks_end = False
        try:
            self._lock(self._file)
            self._find_lines()
        except BaseException:
            self.close()
            raise

    @property
    def num_lines(self) -> int:
        """Whole lines in the file."""
        return len(self._starts)

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = os.path.samestat(os.fstat(file), self.path.stat())
        except (BlockingIOError, FileNotFoundError):
            is_there = False
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be locked: {error.strerror}") from None
        if not is_there:
            raise ConfigError(f"another process writes {self.path}: wait for its end")

    def _find_lines(self) -> None:
        """Count what is there; a last line without its end is whole, or torn, or not ours."""
        last = b""
        with self.path.open("rb") as lines:
            for last in lines:
                self._starts.append(self._size)
                self._size += len(last)
        if not last or last.endswith(b"\n"):
            return
        try:
            Trajectory.from_line(_parse_object(last))
        except (RecursionError, ValueError):
            self._size = self._starts.pop()
            self._num_torn = len(last)
        else:
            self._lacks_end = True
        if last[: len(_LINE_START)] != _LINE_START[: len(last)]:
            number = len(self._starts) + 1
            raise ConfigError(f"{self.path}: line {number} is no trajectory: name another file")

    def mend(self) -> int:
        """End a last line that is whole, or take off one that was cut; answers how many bytes are gone.

        Raises:
            ConfigError: The disk refuses; the lines that are whole are intact.
        """
        if self._lacks_end:
            self._append(b"\n")
        torn, self._num_torn, self._lacks_end = self._num_torn, 0, False
        if torn:
            os.truncate(self.path, self._size)
        return torn

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close()
        if error is not None and self._size == 0 and self._is_new:
            self.path.unlink(missing_ok=True)

    def write(self, trajectory: Trajectory) -> None:
        """Append one line; a line that does not fit on the disk is taken back as a whole.

        Raises:
            ConfigError: The disk is full or refuses, or the trajectory holds what JSON cannot carry; all
                earlier lines are intact.
        """
        start = self._size
        try:
            line = orjson.dumps(trajectory.as_line()) + b"\n"
        except (TypeError, ValueError) as error:
            words = f"the trajectory of episode {trajectory.episode_id} cannot be written as JSON"
            raise ConfigError(f"{self.path}: {words}: {error}") from None
        self._append(line)
        self._starts.append(start)

    def _append(self, data: bytes) -> None:
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        try:
            if os.write(self._file, data) < len(data):
                os.truncate(self.path, self._size)
                raise ConfigError(f"{self.path}: the disk is full; {self._size} bytes were kept")
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from None
        self._size += len(data)

    def arrange(self, order: Sequence[int]) -> None:
        """Put the lines into an order and close the file; it changes as a whole or not at all.

        One line at a time is in memory.

        Args:
            order: The numbers of the lines, from 0 as they were written, in the order wanted; one that is
                missing is left out.

        Raises:
            ConfigError: The disk is full or refuses; the file is as it was written.
        """
        if list(order) == list(range(len(self._starts))):
            self.close()
            return
        ends = [*self._starts[1:], self._size]
        draft = self.path.with_name(f".{token_hex(8)}.draft")
        try:
            with self.path.open("rb") as lines, draft.open("xb") as arranged:
                for number in order:
                    lines.seek(self._starts[number])
                    arranged.write(lines.read(ends[number] - self._starts[number]))
                arranged.flush()
                os.fsync(arranged.fileno())
            copymode(self.path, draft)
            draft.replace(self.path)
        except OSError as error:
            raise ConfigError(
                f"{self.path} holds every trajectory, but not in the order of the plan: it cannot be"
                f" rewritten ({error.strerror})"
            ) from None
        finally:
            draft.unlink(missing_ok=True)
            self.close()  # and with it the lock, once the file is in its place

    def close(self) -> None:
        """Close the file; closing twice is allowed."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_trajectories(path: Path) -> Iterator[Trajectory]:
    """Read a JSONL file line by line.

    Raises:
        ConfigError: The file cannot be read, or a line is not a trajectory; names line and field.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield _parse_line(path, number, line)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None


def _parse_line(path: Path, number: int, line: bytes) -> Trajectory:
    try:
        return Trajectory.from_line(_parse_object(line))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        fault = f"{field + ': ' if field else ''}{first['msg']}"
    except UnicodeDecodeError as error:
        fault = f"is not UTF-8 (byte {error.start})"
    except RecursionError:
        fault = "nests too deeply"
    except ValueError as error:
        fault = str(error)
    cut = "" if line.endswith(b"\n") else " (the line is cut off at the end of the file)"
    raise ConfigError(f"{path}: line {number}: {fault}{cut}")


def _parse_object(line: bytes) -> JsonObject:
    document = parse_strict(line.decode())
    if isinstance(document, dict):
        return cast("JsonObject", document)
    raise ValueError("must be a JSON object")
