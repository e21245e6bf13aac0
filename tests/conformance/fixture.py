"""A server with everything that MCP's conformance suites ask for, in both eras of the protocol.

An ordinary server of the SDK. ``python fixture.py --port 0`` serves it over HTTP and prints its address as
JSON; :func:`make_fixture` makes it for a program that mounts it itself. The names of the tools that were
called go to a file, one a line, so that a record of the calls can be held against it.
"""

import argparse
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)

from astra_mcp.types import JsonObject

from fixture_content import (
    RESOURCE_CONTENTS,
    RESOURCES,
    TEMPLATE_PREFIX,
    TEMPLATE_SUFFIX,
    TEMPLATES,
    text,
)
from fixture_conversation import NeedsInputError, is_modern
from fixture_events import RecentEvents
from fixture_prompts import PROMPTS, prompt_blocks
from fixture_tools import TOOLS, FixtureTool

NAME = "conformance-fixture"
RESOURCE_NOT_FOUND = -32002
"""The handshake era's code for it; the modern era has none of its own."""

RETRY_MS = 100
"""How long a client waits before it takes up a closed stream."""

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams | None


class _ChangingServer(Server[dict[str, Any]]):
    """Tells clients of the handshake era that its lists change; the SDK tells those of the modern one."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> Any:
        changing = NotificationOptions(prompts_changed=True, tools_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )


class _Fixture:
    """The handlers, and how often the lists have changed."""

    def __init__(self, calls: Path) -> None:
        self._calls = calls
        self._tool_revision = 0
        self._prompt_revision = 0
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        mine = (
            FixtureTool(
                "test_trigger_tool_change", "Changes the list of tools", self._change_tools
            ),
            FixtureTool(
                "test_trigger_prompt_change", "Changes the list of prompts", self._change_prompts
            ),
        )
        self._tools = {tool.name: tool for tool in (*TOOLS, *mine)}

    def input_schema(self, tool: str) -> JsonObject | None:
        """Give what the SDK checks a call's headers by."""
        known = self._tools.get(tool)
        return known.input_schema if known else None

    async def list_tools(self, ctx: Context, params: Page) -> Any:
        """List all tools in a fixed order."""
        tools = [tool.listed(self._tool_revision) for tool in self._tools.values()]
        return types.ListToolsResult.model_validate({"tools": tools})

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        """Run a tool."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}")
        with self._calls.open("a") as calls:
            calls.write(f"{params.name}\n")
        try:
            result = await tool.run(ctx, params.arguments or {})
            return types.CallToolResult.model_validate(result)
        except NeedsInputError as needs:
            return needs.result

    async def list_resources(self, ctx: Context, params: Page) -> Any:
        """List all resources."""
        return types.ListResourcesResult.model_validate({"resources": RESOURCES})

    async def list_templates(self, ctx: Context, params: Page) -> Any:
        """List the one template."""
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": TEMPLATES})

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        """Read a resource, or one that the template describes."""
        known = RESOURCE_CONTENTS.get(params.uri)
        if known is not None:
            return types.ReadResourceResult.model_validate({"contents": [known]})
        if params.uri.startswith(TEMPLATE_PREFIX) and params.uri.endswith(TEMPLATE_SUFFIX):
            name = params.uri.removeprefix(TEMPLATE_PREFIX).removesuffix(TEMPLATE_SUFFIX)
            data = json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
            read: JsonObject = {"uri": params.uri, "mimeType": "application/json", "text": data}
            return types.ReadResourceResult.model_validate({"contents": [read]})
        code = types.INVALID_PARAMS if is_modern(ctx) else RESOURCE_NOT_FOUND
        raise MCPError(code, "Resource not found", {"uri": params.uri})

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Any:
        """Take a subscription to a resource that exists."""
        if params.uri not in RESOURCE_CONTENTS:
            raise MCPError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": params.uri})
        return {}

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Any:
        """End a subscription."""
        return {}

    async def list_prompts(self, ctx: Context, params: Page) -> Any:
        """List all prompts; the first one shows how often the list has changed."""
        note = f"{PROMPTS[0]['description']} (revision {self._prompt_revision})"
        prompts = [{**PROMPTS[0], "description": note}, *PROMPTS[1:]]
        return types.ListPromptsResult.model_validate({"prompts": prompts})

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        """Fill in a prompt."""
        try:
            blocks = await prompt_blocks(ctx, params.name, params.arguments or {})
        except NeedsInputError as needs:
            return needs.result
        messages = [{"role": "user", "content": block} for block in blocks]
        return types.GetPromptResult.model_validate({"messages": messages})

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Any:
        """Complete a prompt's argument from a few words."""
        words = [w for w in ("test", "testament", "paris") if w.startswith(params.argument.value)]
        found = {"values": words, "total": len(words), "hasMore": False}
        return types.CompleteResult.model_validate({"completion": found})

    async def set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Any:
        """Take a log level; all messages are of the level ``info``."""
        return {}

    async def _change_tools(self, ctx: Context, arguments: object) -> JsonObject:
        self._tool_revision += 1
        await self._bus.publish(ToolsListChanged())
        if not is_modern(ctx):
            await ctx.session.send_tool_list_changed()
        return {"content": [text(f"The tools are at revision {self._tool_revision}.")]}

    async def _change_prompts(self, ctx: Context, arguments: object) -> JsonObject:
        self._prompt_revision += 1
        await self._bus.publish(PromptsListChanged())
        if not is_modern(ctx):
            await ctx.session.send_prompt_list_changed()
        return {"content": [text(f"The prompts are at revision {self._prompt_revision}.")]}


def make_fixture(calls: Path) -> Server[Any]:
    """Make the server; each has lists of its own.

    Args:
        calls: The file that it adds the names of called tools to.
    """
    fixture = _Fixture(calls)
    server = _ChangingServer(
        NAME,
        version="1.0.0",
        instructions="Answers what conformance suites ask.",
        get_tool_input_schema=fixture.input_schema,
        on_list_tools=fixture.list_tools,
        on_call_tool=fixture.call_tool,
        on_list_resources=fixture.list_resources,
        on_list_resource_templates=fixture.list_templates,
        on_read_resource=fixture.read_resource,
        on_subscribe_resource=fixture.subscribe,
        on_unsubscribe_resource=fixture.unsubscribe,
        on_subscriptions_listen=fixture.listen,
        on_list_prompts=fixture.list_prompts,
        on_get_prompt=fixture.get_prompt,
        on_completion=fixture.complete,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, fixture.set_level)
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)
    )
    return server


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--calls", type=Path, default=Path(os.devnull), help="where calls are noted"
    )
    given = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", given.port))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    sys.stdout.write(json.dumps({"url": url}) + "\n")
    sys.stdout.flush()
    app = make_fixture(given.calls).streamable_http_app(
        event_store=RecentEvents(), retry_interval=RETRY_MS
    )
    # h11 strips white space around header values, as HTTP asks for; the faster parser does not.
    config = uvicorn.Config(app, http="h11", log_level="warning")
    anyio.run(uvicorn.Server(config).serve, [listener])


if __name__ == "__main__":
    _main()
