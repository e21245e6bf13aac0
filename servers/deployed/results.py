"""From what a server answers to the reply that the gateway records and hands on.

Where a server of 2026-07-28 needs input from a client of the handshake era, it is got by requests.
"""

from collections.abc import Awaitable, Callable
from typing import cast

import anyio

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import RelayedError
from astra_mcp.mcp.request_context import Channel
from astra_mcp.types import (
    CallOutcome,
    ContentBlock,
    JsonObject,
    JsonValue,
    Origin,
    ToolResult,
    UpstreamReply,
)

__all__ = [
    "InputError",
    "answer_asks",
    "is_input_required",
    "read_reply",
    "refused_reply",
    "text_reply",
]


def is_input_required(result: JsonObject) -> bool:
    """Tell whether the server needs input before it goes on (MCP 2026-07-28)."""
    return result.get("resultType") == "input_required"


def read_reply(result: JsonObject) -> UpstreamReply:
    """Take a result as the server gave it; what is no result of a tool call becomes an error that says so."""
    meta = result.get("_meta")
    content = result.get("content")
    kept_meta = meta if isinstance(meta, dict) else None
    if is_input_required(result):
        asks = {k: v for k, v in result.items() if k in ("inputRequests", "requestState")}
        return _reply(ToolResult(content=(), meta=kept_meta, asks=asks))
    if content is None and "structuredContent" in result:
        content = []
    if not isinstance(content, list) or not all(isinstance(b, dict) for b in content):
        return text_reply("The server answered something that is no result of a tool call.")
    # From a JSON parser, so there is nothing left to validate.
    return _reply(
        ToolResult.model_construct(
            content=tuple(cast("list[ContentBlock]", content)),
            structured=result.get("structuredContent"),
            is_error=result.get("isError") is True,
            meta=kept_meta,
            asks=None,
            refusal=None,
        )
    )


def refused_reply(error: RelayedError) -> UpstreamReply:
    """Say what a JSON-RPC error of the server said, and keep the error itself."""
    refusal: JsonObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        refusal["data"] = error.data  # pyright: ignore[reportArgumentType] - it came out of JSON
    text: ContentBlock = {"type": "text", "text": str(error)}
    return _reply(ToolResult(content=(text,), is_error=True, refusal=refusal))


def text_reply(text: str) -> UpstreamReply:
    """Make an error in words."""
    return _reply(ToolResult.from_text(text, is_error=True))


def _reply(result: ToolResult) -> UpstreamReply:
    return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)


MAX_ROUNDS = 10
ASKS_AT_ONCE = 8
WAIT_SECONDS = 0.1
"""Before a repeat that brings nothing but the state, which is how a server says that it is not ready."""
_CANNOT = -32601


class InputError(RelayedError):
    """The input could not be got; the message says why in words for the agent."""


async def answer_asks(
    result: JsonObject,
    channel: Channel | None,
    repeat: Callable[[JsonObject], Awaitable[JsonObject]],
    *,
    what: str,
) -> JsonObject:
    """Ask the client and repeat the request with its answers, until the server has all it needs.

    Args:
        result: What the server needs.
        channel: The way to the client.
        repeat: Sends the request again with further params.
        what: Such as ``tool book``, for messages.

    Raises:
        InputError: The client cannot give the input or will not, or the server asks without end.
        UpstreamError: The server failed.
    """
    for _ in range(MAX_ROUNDS):
        if not is_input_required(result):
            return result
        asked = result.get("inputRequests")
        params: JsonObject = {}
        if isinstance(asked, dict) and asked:
            params["inputResponses"] = await _ask_all(asked, channel, what)
        else:
            await anyio.sleep(WAIT_SECONDS)
        if "requestState" in result:
            params["requestState"] = result["requestState"]
        result = await repeat(params)
    if is_input_required(result):
        raise InputError(_CANNOT, f"The {what} asked for input {MAX_ROUNDS} times without an end.")
    return result


async def _ask_all(asked: JsonObject, channel: Channel | None, what: str) -> JsonObject:
    if channel is None:
        raise InputError(_CANNOT, f"The {what} asks for input that this client cannot give.")

    async def ask(item: tuple[str, JsonValue]) -> tuple[str, JsonValue]:
        key, request = item
        if not isinstance(request, dict):
            raise InputError(_CANNOT, f"The {what} asks for input in a way that is no request.")
        method, params = str(request.get("method")), request.get("params")
        try:
            answer = await channel.ask(method, params if isinstance(params, dict) else {})
        except RelayedError as error:
            msg = (
                f"The {what} asked the client for {method}, which it did not give: {error.message}"
            )
            raise InputError(error.code, msg, error.data) from None
        return key, answer

    return dict(await map_concurrently(ask, asked.items(), limit=ASKS_AT_ONCE))
