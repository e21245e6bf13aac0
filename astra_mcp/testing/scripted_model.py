"""Turns that were written down, in the place of a model: no model, and named as what it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import orjson

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.chat import ChatReply, RequestedCall
from astra_mcp.types import JsonObject

__all__ = ["ScriptedModel", "Turn"]

Turn = str | Sequence[tuple[str, JsonObject]] | Callable[[Sequence[JsonObject]], "Turn"]
"""A last word, or calls of tools with their arguments, or what makes either of the conversation so far."""


@dataclass
class ScriptedModel:
    """Plays its turns in order in every conversation; satisfies :class:`~astra_mcp.llm.chat.Chat`.

    Conversations may run at the same time: which turn is due is counted in the messages.
    """

    turns: Sequence[Turn]
    name: str = "scripted"
    conversations: list[Sequence[JsonObject]] = field(
        default_factory=list[Sequence[JsonObject]], init=False
    )
    """The messages of each request."""

    async def complete(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject]
    ) -> ChatReply:
        """Play the next turn of a conversation.

        Raises:
            ModelError: There is none left.
        """
        del tools
        self.conversations.append(tuple(messages))
        place = sum(message["role"] == "assistant" for message in messages)
        if place >= len(self.turns):
            msg = f"the script has {len(self.turns)} turns, and one more was asked for"
            raise ModelError(msg, ModelFault.REFUSED)
        turn = self.turns[place]
        while callable(turn):
            turn = turn(messages)
        if isinstance(turn, str):
            return ChatReply(content=turn, finish_reason="stop")
        calls = tuple(
            RequestedCall(
                id=f"call-{place}-{number}", name=tool, arguments=orjson.dumps(arguments).decode()
            )
            for number, (tool, arguments) in enumerate(turn)
        )
        return ChatReply(content=None, calls=calls, finish_reason="tool_calls")
