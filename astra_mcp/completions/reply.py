"""What the server says to a request: an answer of the model, an error, or any bytes."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from astra_mcp.completions.request import CompletionRequest
from astra_mcp.types import JsonObject, JsonValue

__all__ = ["Answer", "AnswerCall", "Policy", "Refusal", "Reply", "Verbatim"]


class AnswerCall(BaseModel):
    """One function call that the model asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    arguments: JsonObject | str
    """A text is sent as it is, so that it may be no JSON."""
    id: str | None = None
    """None: made of the request and the call's place."""


class Answer(BaseModel):
    """One message of the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
