"""The values of a conversation with a model, and what an agent needs of one."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from astra_mcp.types import JsonObject

__all__ = ["Chat", "ChatReply", "RequestedCall"]


class RequestedCall(BaseModel):
    """One function call that the model asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """As the endpoint named it; may be empty or repeated."""
    name: str
    arguments: str
    """JSON text, or whatever the model produced in its place."""


class ChatReply(BaseModel):
    """One assistant message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: str | None
    reasoning_content: str | None = None
    calls: tuple[RequestedCall, ...] = ()
    finish_reason: str
    """The endpoint's word; ``length`` means that the message was cut."""
    refusal: str | None = None
    """Why the model declined to answer, where the endpoint keeps that apart from the content."""


class Chat(Protocol):
    """What an agent needs of a model."""

    async def complete(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject]
    ) -> ChatReply:
        """Continue a conversation.

        Args:
            messages: OpenAI chat messages.
            tools: OpenAI function documents; may be empty.

        Raises:
            ModelError: No usable answer came, after retries.
        """
        ...
