"""A completions server and the real client of it, which tries nothing twice."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import openai

from astra_mcp.completions import (
    Answer,
    CompletionRequest,
    CompletionsServer,
    Policy,
    open_completions,
)

KEY = "sk-of-this-test"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}


class Endpoint(NamedTuple):
    """A server and its client."""

    server: CompletionsServer
    client: openai.AsyncOpenAI

    async def ask(self, text: str, **more: Any) -> Any:
        """Ask with one message, and any further parameters of the API."""
        messages: Any = [{"role": "user", "content": text}]
        create: Any = self.client.chat.completions.create
        return await create(model="m", messages=messages, **more)


def echo(request: CompletionRequest) -> Answer:
    """Say the last message again."""
    return Answer(content=f"echo: {request.text}")


def wanting(schema: dict[str, Any]) -> dict[str, Any]:
    """The parameter that asks for structured output."""
    named = {"name": "answer", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


@asynccontextmanager
async def open_endpoint(policy: Policy = echo, **options: Any) -> AsyncGenerator[Endpoint]:
    """Open both; the options are those of :func:`~astra_mcp.completions.open_completions`."""
    async with (
        open_completions(policy, **options) as server,
        openai.AsyncOpenAI(
            base_url=server.base_url, api_key=KEY, max_retries=0, timeout=10
        ) as client,
    ):
        yield Endpoint(server, client)
