"""The values of a conversation with a model, and what an agent needs of one."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from astra_mcp.errors import fault_words
from astra_mcp.types import FrozenModel, JsonObject

__all__ = ["Chat", "ChatReply", "MalformedCompletionError", "RequestedCall", "read_completion"]


class RequestedCall(FrozenModel):
    """One function call that the model asks for."""

    id: str
    """As the endpoint named it; may be empty or repeated."""
    name: str
    arguments: str
    """JSON text, or whatever the model produced in its place."""


class ChatReply(FrozenModel):
    """One assistant message."""

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


class MalformedCompletionError(ValueError):
    """A document is no chat completion; the message says why."""


def _clean(value: object) -> object:
    """Replace lone surrogates, which JSON allows and UTF-8 cannot carry."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _words(value: object) -> object:
    """Pass thoughts that are no text over: endpoints send lists and objects under the same name."""
    return _clean(value) if isinstance(value, str) else None


Text = Annotated[str | None, BeforeValidator(_clean)]
Thoughts = Annotated[str | None, BeforeValidator(_words)]


class _Function(BaseModel):
    name: Text = None
    arguments: Text = None


class _Call(BaseModel):
    id: Text = None
    function: _Function

    def requested(self) -> RequestedCall:
        name, arguments = self.function.name or "", self.function.arguments or ""
        return RequestedCall(id=self.id or "", name=name, arguments=arguments)


class _Message(BaseModel):
    content: Text = None
    reasoning_content: Thoughts = None
    reasoning: Thoughts = None
    """The other name of the same."""
    refusal: Thoughts = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


def read_completion(document: JsonObject) -> ChatReply:
    """Read the first message of a completion.

    Raises:
        MalformedCompletionError: There is none.
    """
    try:
        choice = _Completion.model_validate(document).choices[0]
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        msg = f"{place}: {fault_words(fault['type'], fault['msg'])}"
        raise MalformedCompletionError(msg) from None
    message = choice.message
    return ChatReply(
        content=message.content,
        reasoning_content=message.reasoning_content or message.reasoning,
        calls=tuple(call.requested() for call in message.tool_calls or ()),
        finish_reason=choice.finish_reason or "",
        refusal=message.refusal or None,
    )
