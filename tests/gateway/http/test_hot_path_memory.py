"""What the hot path remembers of its clients is bounded in bytes, not only in number."""

from typing import Any

import pytest

from gateway.agents import hot_wire

from by_hand import PREFIX, modern_request

CLIENT_INFO = f"{PREFIX}clientInfo"


@pytest.mark.parametrize(("length", "is_kept"), [(10, True), (10_000, False)])
async def test_what_a_client_says_at_length_is_looked_at_each_time(
    gateway: Any, length: int, is_kept: bool
) -> None:
    created = await gateway.episode()
    kept = hot_wire._envelopes  # pyright: ignore[reportPrivateUsage]
    latest = hot_wire._latest  # pyright: ignore[reportPrivateUsage]
    kept.clear()
    latest.clear()
    info = {"name": "x" * length, "version": "1"}
    asked = modern_request("tools/call", {"name": "add", "arguments": {}}, **{CLIENT_INFO: info})
    answer = await gateway.stranger.post(created["mcp_url"], **asked)
    assert answer.json()["result"]["isError"] is False
    assert (len(kept), len(latest)) == (is_kept, is_kept)
