"""Messages as chat templates take them: OpenAI's form, with the arguments of calls as objects."""

import json
from collections.abc import Iterable, Mapping, Sequence

from astra_mcp.trajectory import AssistantMessage, Message, ToolCall, ToolMessage
from astra_mcp.types import JsonObject, JsonValue
from training.render.dialects.calls import normal_arguments

__all__ = ["called_names", "marked_row", "message_row", "message_rows"]


def called_names(messages: Iterable[Message]) -> Mapping[str, str]:
    """Name the tool of every call, by the call's id."""
    turns = (message for message in messages if isinstance(message, AssistantMessage))
    return {call.id: call.function.name for turn in turns for call in turn.tool_calls}


def message_rows(messages: Sequence[Message], *, with_thoughts: bool) -> list[JsonObject]:
    """Give the rows of a conversation.

    Args:
        messages: In order.
        with_thoughts: Whether the template is told of thoughts.
    """
    names = called_names(messages)
    return [message_row(message, names, with_thoughts=with_thoughts) for message in messages]


def message_row(
    message: Message, names: Mapping[str, str], *, with_thoughts: bool = False
) -> JsonObject:
    """Give the row of a message; members that say nothing are left out: templates ask for their presence.

    Args:
        message: Of a conversation.
        names: Of the called tools, by the ids of their calls.
        with_thoughts: Whether the template is told of thoughts.
    """
    row: JsonObject = {"role": message.role, "content": message.content or ""}
    if isinstance(message, ToolMessage):
        row |= {"tool_call_id": message.tool_call_id, "name": names.get(message.tool_call_id, "")}
    if isinstance(message, AssistantMessage):
        if with_thoughts and message.reasoning_content:
            # Transformers gives them by both names.
            row["reasoning_content"] = row["thinking"] = message.reasoning_content
        if message.tool_calls:
            row["tool_calls"] = [_call_row(call) for call in message.tool_calls]
    return row


def marked_row(message: AssistantMessage, mark: str) -> JsonObject:
    """Give a turn with as many calls under the same ids, and with a mark in the last thing that it says."""
    if not message.tool_calls:
        return {"role": "assistant", "content": mark}
    *others, last = message.tool_calls
    calls: list[JsonValue] = [
        *(_function_row(call, {}) for call in others),
        _function_row(last, {"mark": mark}),
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _call_row(call: ToolCall) -> JsonObject:
    text = call.function.arguments
    normal = normal_arguments(text)
    return _function_row(call, text if normal is None else json.loads(normal))


def _function_row(call: ToolCall, arguments: JsonValue) -> JsonObject:
    function: JsonObject = {"name": call.function.name, "arguments": arguments}
    return {"id": call.id, "type": call.type, "function": function}
