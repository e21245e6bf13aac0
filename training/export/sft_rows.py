"""Trajectories as rows for supervised fine-tuning: chats for training libraries, or OpenAI's own form."""

import json

from astra_mcp.trajectory import SCHEMA_VERSION, AssistantMessage, ToolMessage, Trajectory
from astra_mcp.types import JsonObject, JsonValue
from training.rewards.score import Dimension, Score

__all__ = ["chat_row", "facts_of", "openai_row", "score_columns"]


def chat_row(trajectory: Trajectory) -> JsonObject:
    """Give the row of a chat, which holds the whole trajectory.

    A message has the members of its role. Those of the agent have four whatever they hold, so messages of one
    chat differ in their members wherever one loads lines of JSON; ``datasets`` then takes each as it is, and
    guesses no types.
    """
    called = {
        call.id: call.function.name
        for message in trajectory.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    messages: list[JsonValue] = []
    for message in trajectory.messages:
        row: JsonObject = message.model_dump(mode="json")
        if isinstance(message, AssistantMessage):
            row.setdefault("reasoning_content", None)
            row.setdefault("tool_calls", [])
        elif isinstance(message, ToolMessage):
            row["name"] = called[message.tool_call_id]
        messages.append(row)
    return {
        "messages": messages,
        "tools": _json_text(trajectory.tools),
        "metadata": _json_text(facts_of(trajectory)),
    }


def score_columns(score: Score) -> JsonObject:
    """Give the column of a scored chat; None for a dimension that is not defined."""
    values = score.values()
    found = {dimension.value: values.get(dimension) for dimension in Dimension}
    return {"scores": {"total": score.total, **found}}


def facts_of(trajectory: Trajectory) -> JsonObject:
    """Give what a trajectory says beside its messages and tools."""
    facts = trajectory.model_dump(mode="json", exclude={"messages", "tools"})
    return {"schema_version": SCHEMA_VERSION, **facts}


def openai_row(trajectory: Trajectory) -> JsonObject:
    """Give the row that OpenAI's fine-tuning takes; it has no place for reasoning and for facts.

    Source: OpenAI's guide to supervised fine-tuning, tool calling.
    """
    messages = [
        m.model_dump(mode="json", exclude={"reasoning_content"}) for m in trajectory.messages
    ]
    for message in messages:
        if message["content"] is None and "tool_calls" not in message:
            message["content"] = ""  # null is taken beside calls alone
    row: JsonObject = {"messages": [*messages]}
    if trajectory.tools:
        turns = (m for m in trajectory.messages if isinstance(m, AssistantMessage))
        row["tools"] = [*trajectory.tools]
        row["parallel_tool_calls"] = any(len(turn.tool_calls) > 1 for turn in turns)
    return row


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
