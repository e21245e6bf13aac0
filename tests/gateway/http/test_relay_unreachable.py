"""A server that cannot be reached says why at its own endpoint, to clients of both eras, each time."""

import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from by_hand import ACCEPT, hello, modern_request
from deployed_workshop import raw_entry, write_config

CALL: dict[str, Any] = {"name": "x", "arguments": {}}


@pytest.fixture(scope="module")
def gateway(start_serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A gateway of a server that can be reached, and of one at a port at which nobody listens."""
    folder = tmp_path_factory.mktemp("unreachable")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    gone = {"url": f"http://127.0.0.1:{port}/mcp"}
    config = write_config(folder, gone=gone, raw=raw_entry())
    return start_serve(folder / "home", "--mcp-config", str(config))


async def test_a_server_that_cannot_be_reached_says_why(gateway: Any) -> None:
    url = f"{gateway.url}/servers/gone/mcp"
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        for method in ("tools/list", "tools/call", "tools/list"):
            asked = modern_request(method, CALL if method == "tools/call" else {})
            answer = await http.post(url, **asked)
            assert "upstream gone cannot be reached" in answer.json()["error"]["message"], method
        answer = await http.post(url, json=hello(), headers=ACCEPT)
        assert "upstream gone cannot be reached" in answer.text


async def test_at_the_endpoint_of_all_one_that_cannot_be_reached_breaks_no_other(
    gateway: Any, era: str, sdk: Any
) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        # It is not waited for at the endpoint of all: one that is slow to start joins it later.
        listed = await http.post(
            f"{gateway.url}/servers/raw/mcp", **modern_request("tools/list", {})
        )
        assert "count" in listed.text
    async with sdk(f"{gateway.url}/mcp?caller={era}", era) as client:
        for expected in ("1", "2"):
            result = await client.call_tool("raw__count", {})
            assert [block.text for block in result.content] == [expected]
