"""What judges are shown of a trajectory: messages from the first user message on, cut where they do not fit.

The messages that an equation names, and no other, go into a prompt. What is shown of the first messages does
not depend on those that follow.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from astra_mcp.errors import AstraError
from astra_mcp.trajectory import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from astra_mcp.types import JsonObject, JsonValue

__all__ = [
    "MIN_PROMPT_BYTES",
    "Round",
    "Shown",
    "ShownMessages",
    "TooLongError",
    "calls_of",
    "final_answer",
    "first_question",
    "from_first_question",
    "rounds_of",
    "show_exchange",
    "show_messages",
    "show_tools",
]

MIN_PROMPT_BYTES: Final = 4000
"""Less than this holds no trajectory."""
_LONGEST: Final = 16_384
"""Characters that a text keeps in the mildest cut; each next one halves it."""
_SHORTEST: Final = 128


class TooLongError(AstraError):
    """A trajectory does not fit into a prompt, also where all its texts are cut."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Something as a judge sees it."""

    document: JsonValue
    cut: int = 0
    """Characters that were left out; the document says where."""


@dataclass(frozen=True, slots=True)
class Round:
    """The calls of one assistant message: u_j of ASTRA sec. 2.1.5."""

    number: int
    """j, from 1."""
    place: int
    """Index t_j of the assistant message that makes them."""


def rounds_of(trajectory: Trajectory) -> list[Round]:
    """Group the calls: those of one message are one round."""
    places = [
        place
        for place, message in enumerate(trajectory.messages)
        if isinstance(message, AssistantMessage) and message.tool_calls
    ]
    return [Round(number, place) for number, place in enumerate(places, 1)]


def calls_of(trajectory: Trajectory) -> list[ToolCall]:
    """All calls in the order in which the agent made them."""
    turns = (m for m in trajectory.messages if isinstance(m, AssistantMessage))
    return [call for turn in turns for call in turn.tool_calls]


def first_question(trajectory: Trajectory) -> int | None:
    """Index of the first user message, which is m_1 whatever stands before it; None where there is none."""
    roles = (isinstance(message, UserMessage) for message in trajectory.messages)
    return next((place for place, is_user in enumerate(roles) if is_user), None)


def final_answer(trajectory: Trajectory) -> str | None:
    """The words of the last message; None where it is not the agent's, calls a tool, or says nothing."""
    last = trajectory.messages[-1] if trajectory.messages else None
    if not isinstance(last, AssistantMessage) or last.tool_calls:
        return None
    return last.content if (last.content or "").strip() else None


def from_first_question(trajectory: Trajectory) -> Trajectory:
    """Leave out what stands before m_1, and its calls; whatever nobody asked for is left as it is."""
    place = first_question(trajectory)
    if not place:
        return trajectory
    messages = trajectory.messages[place:]
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    notes = tuple(note for note in trajectory.calls if note.tool_call_id in answered)
    return trajectory.model_copy(update={"messages": messages, "calls": notes})


class ShownMessages:
    """Messages without the system's, as judges see the first of them or all; each is measured once.

    Calls are numbered from 1 in the order of the messages. Texts of results are cut first, then all others,
    until the document fits; each says how much is missing.
    """

    def __init__(self, messages: Sequence[Message], *, failed: Collection[str] = ()) -> None:
        """Take messages.

        Args:
            messages: From m_1, or what the system says before it.
            failed: Ids of calls whose results are marked as failed.
        """
        self._messages = messages
        calls = [c for m in messages if isinstance(m, AssistantMessage) for c in m.tool_calls]
        self._numbers = {call.id: number for number, call in enumerate(calls, 1)}
        self._failed = frozenset(failed)
        self._drafts: list[_Draft] = []
        """In each cut, from the mildest, as far as they were needed."""

    def up_to(self, num: int, max_bytes: int) -> Shown:
        """Show the first messages.

        Args:
            num: How many, those of the system included.
            max_bytes: Of the document as JSON, in UTF-8.

        Raises:
            TooLongError: The document does not fit.
        """
        for place, cut in enumerate(_cuts()):
            if place == len(self._drafts):
                self._drafts.append(self._draft(cut))
            draft = self._drafts[place]
            if draft.sizes[num] <= max_bytes:
                seen: JsonValue = [each for each in draft.documents[:num] if each is not None]
                return Shown(seen, draft.missing[num])
        raise _too_long("the trajectory", max_bytes)

    def _draft(self, cut: "_Cut") -> "_Draft":
        draft = _Draft([], [_size([])], [0])
        for message in self._messages:
            size = draft.sizes[-1]
            document = None
            if not isinstance(message, SystemMessage):
                document = _message(message, self._numbers, self._failed, cut)
                size = size + _size([document]) + _NEXT if draft.has_any else _size([document])
                draft.has_any = True
            draft.documents.append(document)
            draft.sizes.append(size)
            draft.missing.append(cut.count)
        return draft


@dataclass(slots=True)
class _Draft:
    """Messages in one cut."""

    documents: list[JsonObject | None]
    """None for the system's."""
    sizes: list[int]
    """Bytes of the document of so many first messages, from none."""
    missing: list[int]
    """Characters that it leaves out."""
    has_any: bool = False


def show_messages(
    messages: Sequence[Message], max_bytes: int, *, failed: Collection[str] = ()
) -> Shown:
    """Show all messages, see :class:`ShownMessages`.

    Raises:
        TooLongError: The document does not fit.
    """
    return ShownMessages(messages, failed=failed).up_to(len(messages), max_bytes)


def show_exchange(question: str, answer: str, max_bytes: int) -> Shown:
    """Show a question and the answer to it.

    Raises:
        TooLongError: They do not fit.
    """

    def write(cut: "_Cut") -> JsonValue:
        return {"question": cut.other(question), "answer": cut.other(answer)}

    return _fitting(write, max_bytes, "the question with the answer")


def show_tools(trajectory: Trajectory, max_bytes: int) -> Shown:
    """Show the tools that the agent was shown; of those never called, parameters give way in the end.

    Raises:
        TooLongError: They do not fit.
    """
    called = {call.function.name for call in calls_of(trajectory)}
    functions = [cast("JsonObject", tool.get("function", tool)) for tool in trajectory.tools]

    def write(cut: "_Cut", *, whole: bool = True) -> JsonValue:
        return [_tool(each, cut, whole=whole or each.get("name") in called) for each in functions]

    try:
        return _fitting(write, max_bytes, "the list of tools")
    except TooLongError:
        return _fitting(lambda cut: write(cut, whole=False), max_bytes, "the list of tools")


def _tool(function: Mapping[str, JsonValue], cut: "_Cut", *, whole: bool) -> JsonObject:
    shown: JsonObject = {
        "name": function.get("name"),
        "description": cut.result(str(function.get("description") or "")),
    }
    if whole:
        return {**shown, "parameters": cut.tree(function.get("parameters"))}
    cut.count += len(str(function.get("parameters")))
    return {**shown, "parameters": "[not shown: the tool is never called]"}


def _message(
    message: Message, numbers: Mapping[str, int], failed: Collection[str], cut: "_Cut"
) -> JsonObject:
    if isinstance(message, ToolMessage):
        name = message.tool_call_id
        shown: JsonObject = {"role": "tool", "call": numbers.get(name)}
        if name in failed:
            shown["failed"] = True
        return {**shown, "content": cut.result(message.content)}
    shown = {"role": message.role}
    if isinstance(message, AssistantMessage):
        if message.reasoning_content:
            shown["reasoning"] = cut.other(message.reasoning_content)
        if message.tool_calls:
            shown["calls"] = [_call(call, numbers, cut) for call in message.tool_calls]
    if message.content is not None:
        shown["content"] = cut.other(message.content)
    return shown


def _call(call: ToolCall, numbers: Mapping[str, int], cut: "_Cut") -> JsonObject:
    return {
        "number": numbers[call.id],
        "tool": call.function.name,
        "arguments": cut.other(call.function.arguments),
    }


class _Cut:
    """Cuts texts to a length, and counts what is left out."""

    def __init__(self, results: int | None, others: int | None) -> None:
        self._results = results
        self._others = others
        self.count = 0

    def result(self, text: str) -> str:
        return self._to(self._results, text)

    def other(self, text: str) -> str:
        return self._to(self._others, text)

    def tree(self, value: JsonValue) -> JsonValue:
        """Cut every text in a value, such as the descriptions in a schema."""
        if isinstance(value, str):
            return self.result(value)
        if isinstance(value, list):
            return [self.tree(each) for each in value]
        if isinstance(value, dict):
            return {name: self.tree(each) for name, each in value.items()}
        return value

    def _to(self, limit: int | None, text: str) -> str:
        if limit is None or len(text) <= limit:
            return text
        missing = len(text) - limit
        self.count += missing
        head, tail = limit - limit // 4, limit // 4
        return f"{text[:head]} [... {missing} characters are not shown here ...] {text[-tail:]}"


def _fitting(write: Callable[[_Cut], JsonValue], max_bytes: int, what: str) -> Shown:
    for cut in _cuts():
        document = write(cut)
        if _size(document) <= max_bytes:
            return Shown(document, cut.count)
    raise _too_long(what, max_bytes)


def _too_long(what: str, max_bytes: int) -> TooLongError:
    return TooLongError(
        f"{what} does not fit into {max_bytes} bytes of a prompt, also with all its texts cut:"
        " allow more with --max-prompt-bytes"
    )


def _cuts() -> Sequence[_Cut]:
    """From none over shorter results to shorter texts of every kind."""
    limits: list[int] = []
    limit = _LONGEST
    while limit >= _SHORTEST:
        limits.append(limit)
        limit //= 2
    return [
        _Cut(None, None),
        *(_Cut(limit, None) for limit in limits),
        *(_Cut(_SHORTEST, limit) for limit in limits),
    ]


def _size(document: JsonValue) -> int:
    """Of a document as a member of the one that a prompt has."""
    text = json.dumps({"": document}, ensure_ascii=False, indent=1)
    return len(text.encode("utf-8", "replace"))


_NEXT: Final = _size([0, 0]) - 2 * _size([0])
"""What a further member of a list adds, beside the size that it has as the only one."""
