"""A chat-completions endpoint on a real socket that follows a script: one entry for each request.

It is a server of its own, not a double of the client: tests talk to it through the real ``openai``
client.
"""

import json
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from astra_mcp.cli.listening import bind, listen, url_of

Body = dict[str, Any]
Entry = Response | Callable[[Body], Response]
"""What one request gets; a function sees the request and may decide by it."""


@dataclass
class CompletionsServer:
    """What the server will answer, and what it was asked."""

    script: deque[Entry] = field(default_factory=deque[Entry])
    requests: list[Body] = field(default_factory=list[Body])
    keys: list[str] = field(default_factory=list[str])
    always: Callable[[Body], Response] | None = None
    """Answers every request that the script does not."""
    base_url: str = ""
    later: Callable[[Body], Awaitable[Response]] | None = None
    """Answers in its own time, in the place of everything else."""
    hang: bool = False
    """Accept requests and never answer."""
    closing: anyio.Event = field(default_factory=anyio.Event)
    """Set when the server goes; releases what hangs."""

    async def complete(self, request: Request) -> Response:
        """Answer one request."""
        body: Body = await request.json()
        self.requests.append(body)
        self.keys.append(request.headers.get("authorization", ""))
        if self.later is not None:
            return await self.later(body)
        if self.hang:
            return await self.wait_for_end()
        if self.script:
            entry = self.script.popleft()
            return entry if isinstance(entry, Response) else entry(body)
        if self.always is None:
            return JSONResponse({"error": {"message": "the script is over"}}, status_code=400)
        return self.always(body)

    async def wait_for_end(self) -> Response:
        """Answer nothing of use, and only when the server goes."""
        await self.closing.wait()
        return Response(status_code=503)


@asynccontextmanager
async def open_completions_server() -> AsyncGenerator[CompletionsServer]:
    """Serve on a free loopback port while the context is open."""
    server = CompletionsServer()
    route = Route("/v1/chat/completions", server.complete, methods=["POST"])
    with bind("127.0.0.1", 0) as listener:
        async with listen(Starlette(routes=[route]), listener):
            server.base_url = url_of(listener, "/v1")
            try:
                yield server
            finally:
                server.closing.set()


def says(
    content: str | None, *, finish_reason: str = "stop", reasoning_content: str | None = None
) -> Response:
    """A message without calls."""
    return _completion({"content": content, "reasoning_content": reasoning_content}, finish_reason)


def asks(*calls: tuple[str, str, object], content: str | None = None) -> Response:
    """A message with calls: id, tool and arguments; arguments that are no string become JSON."""
    return _completion({"content": content, "tool_calls": _calls(*calls)}, "tool_calls")


def refuses(status: int, message: str = "no", *, retry_after_ms: int = 1) -> Response:
    """An error; asks the client to come back at once, so that no test waits."""
    headers = {"retry-after-ms": str(retry_after_ms)}
    return JSONResponse({"error": {"message": message}}, status_code=status, headers=headers)


def streams(content: str | None, *calls: tuple[str, str, object]) -> Response:
    """A message in pieces, as clients get it that ask for ``stream``; calls as of :func:`asks`.

    Texts and arguments are cut in the middle, so that the client has to put them together.
    """
    deltas: list[Body] = [{"role": "assistant"}]
    deltas += [{"content": half} for half in _halves(content or "")]
    for index, call in enumerate(_calls(*calls)):
        first, second = _halves(call["function"]["arguments"])
        begun = {**call, "index": index, "function": {**call["function"], "arguments": first}}
        deltas += [
            {"tool_calls": [begun]},
            {"tool_calls": [{"index": index, "function": {"arguments": second}}]},
        ]
    reason = "tool_calls" if calls else "stop"
    choices: list[Body] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
    }
    lines = [json.dumps({**head, "choices": [choice]}) for choice in choices]
    text = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
    return Response(text, media_type="text/event-stream")


def breaks_off(text: str = '{"id": "x", "choices": [{"mess') -> Response:
    """A success whose JSON stops in the middle."""
    return Response(text, media_type="application/json")


def sends(document: object) -> Response:
    """Any document as a success."""
    return JSONResponse(document)


def tool_texts(body: Body) -> Sequence[str]:
    """The results that a request hands back to the model, in order."""
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


def _calls(*calls: tuple[str, str, object]) -> list[Body]:
    return [
        {
            "id": name,
            "type": "function",
            "function": {
                "name": tool,
                "arguments": value if isinstance(value, str) else json.dumps(value),
            },
        }
        for name, tool, value in calls
    ]


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _completion(message: Body, finish_reason: str) -> Response:
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", **message},
    }
    document = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [choice],
    }
    return JSONResponse(document)
