"""The baseline: the SDK's low-level server with one echo tool, as fast as the SDK goes.

    python baseline_server.py [--port 0]

Both eras, JSON answers, no middleware, no tool list before each call, uvloop and httptools. Prints its
address as one JSON line. Also serves as the deployed HTTP server behind a gateway.
"""

import argparse
import json
import os
import sys

import mcp_types
import uvicorn
from mcp.server.lowlevel import Server

from astra_mcp.serving.http.server import bind, url_of

__all__ = ["ECHO", "main"]

ECHO = {
    "name": "echo",
    "description": "Say a text again.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}


async def _list(_: object, __: object) -> mcp_types.ListToolsResult:
    tool = mcp_types.Tool.model_validate(ECHO)
    return mcp_types.ListToolsResult(tools=[tool], ttl_ms=0, cache_scope="private")


async def _call(_: object, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    text = str((params.arguments or {}).get("text", ""))
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)])


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = Server(
        "baseline", on_list_tools=_list, on_call_tool=_call, get_tool_input_schema=lambda _: None
    )
    server.middleware.clear()
    with bind("127.0.0.1", options.port) as listener:
        config = uvicorn.Config(
            server.streamable_http_app(json_response=True),
            loop="uvloop",
            http="httptools",
            access_log=False,
            log_level="warning",
            timeout_keep_alive=600,
        )
        sys.stdout.write(json.dumps({"url": url_of(listener), "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main()
