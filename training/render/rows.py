"""Messages as chat templates take them: OpenAI's form, with the arguments of calls as objects."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from astra_mcp.trajectory import AssistantMessage, Message, ToolCall, ToolMessage
from astra_mcp.types import JsonObject, JsonValue
from training.render.dialects.calls import normal_arguments

__all__ = ["RowForm", "called_names"]


def called_names(messages: Iterable[Message]) -> Mapping[str, str]:
    """Name the tool of every call, by the call's id."""
    turns = (message for message in messages if isinstance(message, AssistantMessage))
    return {call.id: call.function.name for turn in turns for call in turn.tool_calls}


@dataclass(frozen=True, slots=True)
class RowForm:
    """How messages become rows; what says nothing is left out, since templates ask for presence."""

    call_id: Callable[[str], str]
    """The id of a call as the dialect has it."""
    with_thoughts: bool
    """Whether the template is told of thoughts."""

    def rows(self, messages: Sequence[Message]) -> list[JsonObject]:
        """Give the rows of a conversation."""
        names = called_names(messages)
        return [self.row(message, names) for message in messages]

    def row(self, message: Message, names: Mapping[str, str]) -> JsonObject:
        """Give the row of a message.

        Args:
            message: Of a conversation.
            names: Of the called tools, by the ids of their calls.
        """
        row: JsonObject = {"role": message.role, "content": message.content or ""}
        if isinstance(message, ToolMessage):
            name = names.get(message.tool_call_id, "")
            row |= {"tool_call_id": self.call_id(message.tool_call_id), "name": name}
        if isinstance(message, AssistantMessage):
            if self.with_thoughts and message.reasoning_content:
                # Transformers gives them by both names.
                row["reasoning_content"] = row["thinking"] = message.reasoning_content
            if message.tool_calls:
                row["tool_calls"] = [
                    self._call(call, _arguments(call)) for call in message.tool_calls
                ]
        return row

    def marked(self, message: AssistantMessage, mark: str) -> JsonObject:
        """Give a turn with as many calls under the same ids, and with a mark in the last that it says."""
        if not message.tool_calls:
            return {"role": "assistant", "content": mark}
        *others, last = message.tool_calls
        calls: list[JsonValue] = [self._call(call, {}) for call in others]
        calls.append(self._call(last, {"mark": mark}))
        return {"role": "assistant", "content": "", "tool_calls": calls}

    def _call(self, call: ToolCall, arguments: JsonValue) -> JsonObject:
        function: JsonObject = {"name": call.function.name, "arguments": arguments}
        return {"id": self.call_id(call.id), "type": call.type, "function": function}


def _arguments(call: ToolCall) -> JsonValue:
    text = call.function.arguments
    normal = normal_arguments(text)
    return text if normal is None else json.loads(normal)
