"""An echo tool over standard input and output, in both eras of MCP, of nothing but the standard library.

    python stdio_echo.py [NUMBER]

Lists so many further tools, which echo as well. Small and fast on purpose: what is measured is the gateway
or bridge in front of it.
"""

import json
import sys
from typing import Any

__all__ = ["answer", "main"]

ECHO: dict[str, Any] = {
    "name": "echo",
    "description": "Say a text again.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}
TOOLS = [ECHO]
NAME = {"name": "stdio-echo", "version": "1"}
_HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """Answer one message; None where it wants no answer."""
    if "id" not in message or "method" not in message:
        return None
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    params: dict[str, Any] = message.get("params") or {}
    is_modern = "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})
    result = _result(str(message["method"]), params)
    if result is None:
        return reply | {"error": {"code": -32601, "message": "Method not found"}}
    if is_modern:
        result = {"resultType": "complete", **result}
    return reply | {"result": result}


def _result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in _HANDSHAKE else _HANDSHAKE[-1]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": NAME}
        case "server/discover":
            return {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "serverInfo": NAME,
                "ttlMs": 0,
                "cacheScope": "private",
            }
        case "tools/list":
            return {"tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}
        case "tools/call":
            arguments: dict[str, Any] = params.get("arguments") or {}
            text = str(arguments.get("text", ""))
            return {"content": [{"type": "text", "text": text}]}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    """Answer line by line until the input ends."""
    further = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    TOOLS.extend(ECHO | {"name": f"echo_{number:05}"} for number in range(further))
    for line in sys.stdin.buffer:
        if line.strip():
            reply = answer(json.loads(line))
            if reply is not None:
                sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
                sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
