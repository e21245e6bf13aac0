"""Reads the sets of a mixture: what ``export sft`` writes, and trajectory files, each as it is.

A row is a chat with the tools that were shown. What a filter or a want of messages leaves out is counted.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.trajectory import (
    AssistantMessage,
    Message,
    StopReason,
    Trajectory,
    UserMessage,
)
from astra_mcp.types import JsonObject
from training.export.row_files import read_rows
from training.export.selection import Selection
from training.rollout.agent import UNREADABLE
from training.sft.settings import DataSet

__all__ = ["Conversation", "SetReader", "read_row"]

_MESSAGES = TypeAdapter(tuple[Message, ...])
_TOOLS = TypeAdapter(tuple[JsonObject, ...])
_VERSION = "schema_version"
_MEMBERS = {
    "system": ("role", "content"),
    "user": ("role", "content"),
    "assistant": ("role", "content", "reasoning_content", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}
"""What a message of each role has; columns of tables give every message those of all."""
_NAMED = {"tool": ("name",)}
"""What a message may have beside it: the tool that answered, which its call says already."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a model is to learn from."""

    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...]
    place: str
    """Where it stands, for messages to people."""

    @property
    def digest(self) -> bytes:
        """Tells it from any other, wherever it stands."""
        messages = [each.model_dump(mode="json") for each in self.messages]
        return sha256(json.dumps([messages, self.tools], sort_keys=True).encode()).digest()


@dataclass(slots=True)
class SetReader:
    """Reads one set, once, and counts what it leaves out."""

    data: DataSet
    num_read: int = 0
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """How many, by the filter or the lack that left them out."""

    def __iter__(self) -> Iterator[Conversation]:
        """Give what is taken, in the order of the file.

        Raises:
            ConfigError: The file cannot be read, a row is no chat, a filter asks for what rows do not say, or
                nothing is left.
        """
        selection = self.data.selection
        taken = 0
        for number, row in read_rows(self.data.file):
            place = f"{self.data.file}: row {number}"
            if isinstance(row, str):
                raise ConfigError(f"{place} {row}")
            self.num_read += 1
            conversation, trajectory = read_row(row, place)
            refusing = _refusing(selection, trajectory, place) or _lack(conversation, trajectory)
            if refusing is not None:
                self.left_out[refusing] = self.left_out.get(refusing, 0) + 1
                continue
            taken += 1
            yield conversation
        if not taken:
            raise ConfigError(f"{self.data.file} has nothing to train on: {self.account()}")

    def account(self) -> str:
        """Say what was read, and what was left out by what."""
        reasons = ", ".join(f"{count} by {name}" for name, count in self.left_out.items())
        return f"{self.num_read} rows were read, " + (
            f"of which these were not taken: {reasons}" if reasons else "and all were taken"
        )


def read_row(row: Mapping[str, object], place: str) -> tuple[Conversation, Trajectory | None]:
    """Read a row of a trajectory file or of an export, with the trajectory where it tells all of it.

    Args:
        row: As it stands there.
        place: Where that is, for messages to people.

    Raises:
        ConfigError: It is no chat; names the field.
    """
    if _VERSION in row:
        trajectory = _trajectory_of(row, place)
        return Conversation(trajectory.messages, trajectory.tools, place), trajectory
    if not isinstance(row.get("messages"), list):
        known = ", ".join(map(repr, row)) or "none"
        raise ConfigError(f"{place} is no chat: it needs a column 'messages', and has {known}")
    messages = _validated(
        _MESSAGES,
        [_bare(each) for each in cast("list[object]", row["messages"])],
        f"{place}: messages",
    )
    shown = _parsed(row.get("tools"), f"{place}: tools")
    tools = _validated(_TOOLS, [] if shown is None else shown, f"{place}: tools")
    conversation = Conversation(messages, tools, place)
    facts = _parsed(row.get("metadata"), f"{place}: metadata")
    if not isinstance(facts, dict) or _VERSION not in facts:
        return conversation, None  # of another's making, or in OpenAI's form
    whole = {**cast("JsonObject", facts), "messages": messages, "tools": tools}
    del whole[_VERSION]
    return conversation, _validated(TypeAdapter(Trajectory), whole, f"{place}: metadata")


def _trajectory_of(row: Mapping[str, object], place: str) -> Trajectory:
    try:
        return Trajectory.from_line(row)
    except ValidationError as error:
        raise ConfigError(f"{place}: {_first_fault(error)}") from None
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from None


def _bare(message: object) -> object:
    """Leave the members that a table's columns give to a message of another role, where they are empty."""
    if not isinstance(message, dict):
        return message
    members = cast("dict[str, Any]", message)
    role = members.get("role")
    own = _MEMBERS.get(str(role), ())
    kept = {
        name: value
        for name, value in members.items()
        if name in own or (value is not None and name not in _NAMED.get(str(role), ()))
    }
    if kept.get("tool_calls", ()) is None:
        del kept["tool_calls"]
    return kept


def _parsed(value: object, place: str) -> object:
    """Read JSON text; what stands there as it is, is taken so."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: is no JSON text: {error}") from None


def _validated(adapter: TypeAdapter[Any], value: object, place: str) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise ConfigError(f"{place}.{_first_fault(error)}") from None


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {fault_words(first['type'], first['msg'])}"


def _refusing(selection: Selection, trajectory: Trajectory | None, place: str) -> str | None:
    """Name the filter that leaves a row out; whatever failed is left out unasked."""
    if trajectory is not None:
        return selection.refusing(trajectory)
    asked = [name for name in selection.filters if name != "status"]
    if asked:
        raise ConfigError(
            f"{place} does not say where it comes from, which the filter {asked[0]} needs: leave the filter"
            " out, or take a file that `export sft` wrote with its metadata"
        )
    return None


def _lack(conversation: Conversation, trajectory: Trajectory | None) -> str | None:
    """Say why there is nothing to learn, or only tokens that no model wrote."""
    turns = [each for each in conversation.messages if isinstance(each, AssistantMessage)]
    if not any(isinstance(each, UserMessage) for each in conversation.messages):
        return "no user message"
    if not turns:
        return "no assistant message"
    if trajectory is not None and trajectory.stop is StopReason.LENGTH:
        return "a turn that was cut"  # rendered, it would get an end that the model never came to
    calls = (call.function for turn in turns for call in turn.tool_calls)
    if any(call.name == UNREADABLE and not call.arguments for call in calls):
        return "a call without its text"  # what stood there could not be read, and is not recorded
    return None
