"""Requests of both eras written by hand: what the SDK's client hides, and what it would never send."""

from collections.abc import Mapping
from typing import Any

import httpx

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
PREFIX = "io.modelcontextprotocol/"
ACCEPT = {"Accept": "application/json, text/event-stream"}


def modern_message(method: str, params: Mapping[str, Any] | None = None, /, **meta: Any) -> Any:
    """Make a message of the modern era; keyword arguments are members of ``_meta``."""
    envelope = {
        f"{PREFIX}protocolVersion": MODERN,
        f"{PREFIX}clientInfo": {"name": "t", "version": "1"},
        f"{PREFIX}clientCapabilities": {},
        **meta,
    }
    full_params = {**(params or {}), "_meta": envelope}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": full_params}


def modern_request(
    method: str, params: Mapping[str, Any] | None = None, /, **meta: Any
) -> dict[str, Any]:
    """Make body and headers of a request of the modern era, as the options of an HTTP client's ``post``."""
    headers = {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if params and "name" in params:
        headers["Mcp-Name"] = params["name"]
    return {"json": modern_message(method, params, **meta), "headers": headers}


def hello(version: str = HANDSHAKE, /, **capabilities: Any) -> dict[str, Any]:
    """Make the message that opens a session of the handshake era."""
    info = {"name": "t", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


async def open_session(http: httpx.AsyncClient, url: str, **capabilities: Any) -> dict[str, str]:
    """Open a session of the handshake era; answers the headers of its requests."""
    answer = await http.post(url, json=hello(**capabilities), headers=ACCEPT)
    assert answer.status_code == 200, answer.text
    session = answer.headers["mcp-session-id"]
    headers = {**ACCEPT, "Mcp-Session-Id": session, "MCP-Protocol-Version": HANDSHAKE}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await http.post(url, json=ready, headers=headers)).status_code == 202
    return headers
