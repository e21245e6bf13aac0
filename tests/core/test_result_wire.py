"""A result that a client's revision cannot show keeps its words, and whether it failed."""

from typing import Any

import pytest
from mcp_types import methods

from astra_mcp.mcp.bridge import result_to_wire
from astra_mcp.types import ToolResult

SAID: dict[str, Any] = {"type": "text", "text": "PAYMENT FAILED"}
VERSIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
UNKNOWN: tuple[dict[str, Any], ...] = (
    {"type": "image", "data": "AAAA"},
    {"type": "hologram", "data": "AAAA"},
    {"type": "tool_use", "id": "1", "name": "x", "input": {}},
    {"type": "text", "text": "kept", "annotations": {"priority": 7}},
)


def as_answered(result: ToolResult, version: str) -> dict[str, Any]:
    """What the SDK makes of it."""
    wire = {"resultType": "complete", **result_to_wire(result, version)}
    return methods.serialize_server_result("tools/call", version, wire)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", UNKNOWN, ids=lambda b: str(b["type"]))
def test_an_unknown_block_becomes_a_text_and_takes_nothing_else_along(
    version: str, block: dict[str, Any]
) -> None:
    answered = as_answered(ToolResult(content=(SAID, block), is_error=True), version)
    assert answered["isError"] is True
    assert [b["type"] for b in answered["content"]] == ["text", "text"]
    assert answered["content"][0]["text"] == "PAYMENT FAILED"
    text = answered["content"][1]["text"]
    assert ("kept" if block["type"] == "text" else str(block["type"])) in text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_known_block_is_left_as_it_is(version: str) -> None:
    image: dict[str, Any] = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert as_answered(ToolResult(content=(image,)), version)["content"] == [image]


@pytest.mark.parametrize("structured", [["a"], "text", 3])
def test_structured_content_that_is_no_object_reaches_those_who_know_it(structured: Any) -> None:
    result = ToolResult(content=(SAID,), structured=structured)
    assert as_answered(result, "2026-07-28")["structuredContent"] == structured
    answered = as_answered(result, "2025-11-25")
    assert "structuredContent" not in answered
    assert answered["content"] == [SAID]
