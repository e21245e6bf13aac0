"""What the hot path remembers of its clients is bounded in bytes, not only in number."""

from typing import Any

import pytest

from gateway.agents import hot_wire


@pytest.mark.parametrize(("length", "is_kept"), [(10, True), (10_000, False)])
async def test_what_a_client_says_at_length_is_looked_at_each_time(
    gateway: Any, length: int, is_kept: bool
) -> None:
    created = await gateway.episode()
    kept = hot_wire._envelopes  # pyright: ignore[reportPrivateUsage]
    latest = hot_wire._latest  # pyright: ignore[reportPrivateUsage]
    kept.clear()
    latest.clear()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "x" * length, "version": "1"},
    }
    params = {"name": "add", "arguments": {}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "add",
    }
    answer = await gateway.stranger.post(created["mcp_url"], json=body, headers=headers)
    assert answer.json()["result"]["isError"] is False
    assert (len(kept), len(latest)) == (is_kept, is_kept)
