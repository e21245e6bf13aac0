"""What a policy is asked, the name that its content gives a request, and what a policy may reply."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast

from pydantic import Field

from astra_mcp.types import FrozenModel, JsonObject, JsonValue, canonical_json

__all__ = [
    "Answer",
    "AnswerCall",
    "CompletionRequest",
    "Policy",
    "Refusal",
    "Reply",
    "RequestFaultError",
    "Verbatim",
    "content_id",
    "excerpt",
    "last_text",
    "parse_request",
]

_ID_LENGTH = 16
_MAX_EXCERPT = 200


class RequestFaultError(ValueError):
    """The request is none that the API knows; the message names the field."""


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request for a completion."""

    id: str
    """The same for every request with these messages and this schema; see :func:`content_id`."""
    occurrence: int
    """How many requests with this content came before, answered or not."""
    turn: int
    """How many answers to this content the policy was asked for before."""
    body: JsonObject
    """As it was sent."""
    key: str
    """What the client sent as its key."""

    @property
    def messages(self) -> list[JsonObject]:
        """The conversation."""
        return cast("list[JsonObject]", self.body["messages"])

    @property
    def schema(self) -> JsonObject | None:
        """What the answer has to satisfy, where the request says so by ``response_format``."""
        return _schema_of(self.body)

    @property
    def text(self) -> str:
        """The text of the last message."""
        return last_text(self.body)


def content_id(messages: object, schema: object = None) -> str:
    """Name a content: 16 hexadecimal digits of the hash of the messages and the schema.

    The model, the sampling and the tools do not count, so a recording plays for any model.

    Args:
        messages: As the request holds them.
        schema: Of ``response_format``; None where there is none.
    """
    return sha256(canonical_json([messages, schema])).hexdigest()[:_ID_LENGTH]


def parse_request(body: JsonValue) -> tuple[str, JsonObject]:
    """Check a request's body.

    Returns:
        The name of its content, and the body.

    Raises:
        RequestFaultError: It is none of the API's.
    """
    if not isinstance(body, dict):
        raise RequestFaultError("the body must be a JSON object")
    if not isinstance(body.get("model"), str):
        raise RequestFaultError("model must be a string")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestFaultError("messages must be a list of at least one message")
    if not all(isinstance(message, dict) and "role" in message for message in messages):
        raise RequestFaultError("messages must be objects with a role")
    if body.get("n", 1) not in (1, None):
        raise RequestFaultError("n must be 1: this server makes one choice")
    return content_id(messages, _schema_of(body)), body


def last_text(body: JsonObject) -> str:
    """Read the text of the last message, whose content may be a list of parts."""
    content = cast("list[JsonObject]", body["messages"])[-1].get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in parts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def excerpt(text: str) -> str:
    """Cut a text to what people recognise a request by."""
    return text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "…"


def _schema_of(body: JsonObject) -> JsonObject | None:
    wanted = body.get("response_format")
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    named = wanted.get("json_schema")
    schema = named.get("schema") if isinstance(named, dict) else None
    return schema if isinstance(schema, dict) else {}


class AnswerCall(FrozenModel):
    """One function call that the model asks for."""

    name: str
    arguments: JsonObject | str
    """A text is sent as it is, so that it may be no JSON."""
    id: str | None = None
    """None: made of the request and the call's place."""


class Answer(FrozenModel):
    """One message of the model."""

    content: str | JsonObject | list[JsonValue] | None = None
    """A text; objects and lists are sent as JSON text."""
    reasoning_content: str | None = None
    calls: tuple[AnswerCall, ...] = ()
    finish_reason: str | None = None
    """None: ``tool_calls`` where there are calls, else ``stop``."""
    prompt_tokens: int | None = Field(default=None, ge=0)
    """None: a quarter of the characters, like the next."""
    completion_tokens: int | None = Field(default=None, ge=0)

    @property
    def text(self) -> str | None:
        """The content as the message holds it."""
        if self.content is None or isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error in the form of the API."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A success with any body, which need be no document of the API."""

    body: str
    media_type: str = "application/json"


Reply = Answer | Refusal | Verbatim
Policy = Callable[[CompletionRequest], Reply | Awaitable[Reply]]
"""Says what to reply; one that takes its time is given up when the client is gone."""
