"""From what a server answers to the reply that the gateway records and hands on."""

from typing import Final, cast

from astra_mcp.errors import RelayedError
from astra_mcp.types import (
    CallOutcome,
    ContentBlock,
    JsonObject,
    Origin,
    ToolResult,
    UpstreamReply,
)

__all__ = ["INPUT_REQUIRED", "is_input_required", "read_reply", "refused_reply", "text_reply"]

INPUT_REQUIRED: Final = "input_required"


def is_input_required(result: JsonObject) -> bool:
    """Tell whether the server needs input before it goes on (MCP 2026-07-28)."""
    return result.get("resultType") == INPUT_REQUIRED


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
