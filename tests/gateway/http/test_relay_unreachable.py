"""A server that cannot be reached says why at its own endpoint, to clients of both eras, each time."""

import json
import socket
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from deployed_workshop import RAW_SERVER

MODERN_HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
}
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
def gateway(start_serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A gateway of a server that can be reached, and of one at a port at which nobody listens."""
    folder = tmp_path_factory.mktemp("unreachable")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    raw = {"command": sys.executable, "args": ["-S", str(RAW_SERVER)]}
    servers = {"gone": {"url": f"http://127.0.0.1:{port}/mcp"}, "raw": raw}
    config = folder / "servers.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    return start_serve(folder / "home", "--mcp-config", str(config))


async def test_a_server_that_cannot_be_reached_says_why(gateway: Any) -> None:
    url = f"{gateway.url}/servers/gone/mcp"
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        for method in ("tools/list", "tools/call", "tools/list"):
            params: dict[str, Any] = {"name": "x", "arguments": {}, "_meta": ENVELOPE}
            named = {"mcp-method": method} | ({"mcp-name": "x"} if method == "tools/call" else {})
            body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = await http.post(url, json=body, headers={**MODERN_HEADERS, **named})
            assert "upstream gone cannot be reached" in answer.json()["error"]["message"], method
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "hand", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        answer = await http.post(url, json=body, headers={"accept": MODERN_HEADERS["accept"]})
        assert "upstream gone cannot be reached" in answer.text


async def test_at_the_endpoint_of_all_one_that_cannot_be_reached_breaks_no_other(
    gateway: Any, era: str, sdk: Any
) -> None:
    async with sdk(f"{gateway.url}/mcp?caller={era}", era) as client:
        for expected in ("1", "2"):
            result = await client.call_tool("raw__count", {})
            assert [block.text for block in result.content] == [expected]
