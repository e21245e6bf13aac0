"""A chat model at any OpenAI-compatible endpoint, with function calling.

Takes and returns plain values; the ``openai`` client stays in here. Retries are the client's own, and
what is left after them is a :class:`~astra_mcp.errors.ModelError` whose text holds no key.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, cast

import anyio
import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from astra_mcp.errors import ConfigError, ModelError
from astra_mcp.types import JsonObject

__all__ = [
    "Chat",
    "ChatConfig",
    "ChatModel",
    "ChatReply",
    "RequestedCall",
    "open_chat_model",
]

MAX_ERROR_TEXT = 300
"""Characters of an endpoint's own error message that are kept."""
_BACKOFF_SECONDS = 10.0
"""Above the longest pause that the client makes before a retry of its own accord (8 s)."""


class ChatConfig(BaseModel):
    """Which model, where, and how patiently."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    base_url: str | None = None
    """Such as ``http://127.0.0.1:8000/v1``; None is the client's default, OpenAI's own."""
    api_key: SecretStr | None = None
    """May be missing where ``base_url`` is given: local servers often need none."""
    temperature: float | None = Field(default=None, ge=0)
    """None leaves it to the endpoint."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """Deadline of one attempt."""
    max_retries: int = Field(default=2, ge=0, le=10)
    """Further attempts after a failed connection, a timeout, 408, 409, 429 and 5xx."""


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


class ChatModel:
    """A :class:`Chat` over the ``openai`` client; made by :func:`open_chat_model`."""

    def __init__(self, config: ChatConfig, client: openai.AsyncOpenAI) -> None:
        self._config = config
        self._client = client
        attempts = config.max_retries + 1
        self._deadline_seconds = attempts * (config.timeout_seconds + _BACKOFF_SECONDS)

    async def complete(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject]
    ) -> ChatReply:
        """Continue a conversation; see :class:`Chat`."""
        temperature = self._config.temperature
        try:
            # The client bounds every read; this bounds an endpoint that trickles for ever.
            with anyio.fail_after(self._deadline_seconds):
                completion = await self._client.chat.completions.create(
                    model=self._config.model,
                    messages=cast("Any", list(messages)),
                    tools=cast("Any", list(tools)) if tools else openai.omit,
                    temperature=openai.omit if temperature is None else temperature,
                )
        except openai.OpenAIError as error:
            msg = f"the model {self._config.model!r} failed: {self._describe(error)}"
            raise ModelError(msg) from None
        except TimeoutError:
            msg = f"the model {self._config.model!r} failed: no answer in {self._deadline_seconds:g} s"
            raise ModelError(msg) from None
        except ValueError:
            msg = f"the model {self._config.model!r} failed: its answer is not JSON"
            raise ModelError(msg) from None
        return self._parse(completion)

    def _describe(self, error: openai.OpenAIError) -> str:
        """Say what failed without the key, which some endpoints repeat in their messages."""
        match error:
            case openai.APITimeoutError():
                return f"no answer in {self._config.timeout_seconds:g} s"
            case openai.APIStatusError():
                text = f"HTTP {error.status_code}: {error.message}"
            case openai.APIConnectionError():
                return f"no connection to {self._client.base_url.host}"
            case _:
                text = str(error)
        key = self._client.api_key
        return text.replace(key, "***")[:MAX_ERROR_TEXT] if key else text[:MAX_ERROR_TEXT]

    def _parse(self, completion: ChatCompletion) -> ChatReply:
        # The client does not validate answers: a foreign endpoint may send anything.
        choices: Any = getattr(completion, "choices", None)
        if not isinstance(choices, list) or not choices:
            msg = f"the model {self._config.model!r} answered without a message"
            raise ModelError(msg)
        choice = completion.choices[0]
        try:
            return ChatReply(
                content=_clean(choice.message.content),
                reasoning_content=_reasoning(choice.message),
                calls=tuple(_calls(choice.message)),
                finish_reason=str(choice.finish_reason),
            )
        except (AttributeError, TypeError, ValueError) as error:
            msg = f"the model {self._config.model!r} answered what is no chat message ({error})"
            raise ModelError(msg[:MAX_ERROR_TEXT]) from None


@asynccontextmanager
async def open_chat_model(config: ChatConfig) -> AsyncGenerator[ChatModel]:
    """Open a model; its connections close with the context.

    Raises:
        ConfigError: The endpoint needs a key and there is none.
    """
    if config.api_key is not None:
        key = config.api_key.get_secret_value()
    elif config.base_url is not None:
        key = "none"
    else:
        msg = (
            f"no key for the model {config.model!r}: set OPENAI_API_KEY, or name the endpoint "
            "with --base-url where it needs none"
        )
        raise ConfigError(msg)
    async with openai.AsyncOpenAI(
        api_key=key,
        base_url=config.base_url,
        timeout=config.timeout_seconds,
        max_retries=config.max_retries,
    ) as client:
        yield ChatModel(config, client)


def _calls(message: ChatCompletionMessage) -> list[RequestedCall]:
    calls: list[RequestedCall] = []
    for call in message.tool_calls or ():
        if call.type == "custom":
            msg = "a custom tool call was asked for, and none was offered"
            raise ValueError(msg)
        function = call.function
        calls.append(
            RequestedCall(
                id=_clean(call.id) or "",
                name=_clean(function.name) or "",
                arguments=_clean(function.arguments) or "",
            )
        )
    return calls


def _reasoning(message: ChatCompletionMessage) -> str | None:
    """Read the thoughts that some endpoints add under one of two names."""
    extra = message.model_extra or {}
    text = extra.get("reasoning_content") or extra.get("reasoning")
    return _clean(text) if isinstance(text, str) else None


def _clean(text: str | None) -> str | None:
    """Replace lone surrogates, which JSON allows and UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8") if text is not None else None
