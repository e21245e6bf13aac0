"""A completions server that follows a script: one entry for each request.

It is the product's own server on a real socket, not a double of the client: tests talk to it through the
real ``openai`` client.
"""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Never, cast

import anyio
import orjson

from astra_mcp.completions import (
    Answer,
    AnswerCall,
    CompletionRequest,
    Refusal,
    Reply,
    Verbatim,
    open_completions,
)
from astra_mcp.llm.config import ModelConfig

Body = dict[str, Any]
Entry = Reply | Callable[[Body], Reply]
"""What one request gets; a function sees the request and may decide by it."""


@dataclass
class CompletionsServer:
    """What the server will answer, and what it was asked."""

    script: deque[Entry] = field(default_factory=deque[Entry])
    requests: list[Body] = field(default_factory=list[Body])
    keys: list[str] = field(default_factory=list[str])
    always: Callable[[Body], Reply] | None = None
    """Answers every request that the script does not."""
    base_url: str = ""
    later: Callable[[Body], Awaitable[Reply]] | None = None
    """Answers in its own time, in the place of everything else."""

    def reply(self, request: CompletionRequest) -> Reply | Awaitable[Reply]:
        """Reply to one request; the policy of the server."""
        body = cast("Body", request.body)
        self.requests.append(body)
        self.keys.append(request.key)
        if self.later is not None:
            return self.later(body)
        if self.script:
            entry = self.script.popleft()
            return entry(body) if callable(entry) else entry
        if self.always is None:
            return Refusal(400, "the script is over")
        return self.always(body)

    def config(self, **settings: object) -> ModelConfig:
        """How this endpoint is reached."""
        named = {"model": "scripted", "base_url": self.base_url, "timeout_seconds": 5.0}
        return ModelConfig.model_validate({**named, **settings})

    async def hang(self, _: Body) -> Never:
        """Accept a request and never answer, until the client or the server goes."""
        await anyio.sleep_forever()
        raise AssertionError


@asynccontextmanager
async def open_completions_server() -> AsyncGenerator[CompletionsServer]:
    """Serve on a free loopback port while the context is open."""
    script = CompletionsServer()
    async with open_completions(script.reply) as server:
        script.base_url = server.base_url
        yield script


def says(
    content: str | None, *, finish_reason: str = "stop", reasoning_content: str | None = None
) -> Answer:
    """A message without calls."""
    return Answer(content=content, finish_reason=finish_reason, reasoning_content=reasoning_content)


def asks(*calls: tuple[str, str, object], content: str | None = None) -> Answer:
    """A message with calls: id, tool and arguments, which are an object or any text."""
    made = tuple(
        AnswerCall(id=call_id, name=tool, arguments=cast("Any", arguments))
        for call_id, tool, arguments in calls
    )
    return Answer(content=content, calls=made)


def refuses(status: int, message: str = "no", *, retry_after_ms: int = 1) -> Refusal:
    """An error; asks the client to come back at once, so that no test waits."""
    return Refusal(status, message, {"retry-after-ms": str(retry_after_ms)})


def breaks_off(text: str = '{"id": "x", "choices": [{"mess') -> Verbatim:
    """A success whose JSON stops in the middle."""
    return Verbatim(text)


def sends(document: object) -> Verbatim:
    """Any document as a success."""
    return Verbatim(orjson.dumps(document).decode())


def tool_texts(body: Body) -> Sequence[str]:
    """The results that a request hands back to the model, in order."""
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]
