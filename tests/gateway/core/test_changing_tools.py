"""A server that lists other tools after a call keeps the state that the call made."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from gateway.episodes.episode import Episode
from gateway.episodes.live import open_episodes
from servers.deployed import open_deployed

from relayed_servers import DeployedCatalog

SECRET = b"0" * 32
Context = ServerRequestContext[dict[str, bool], Any]


@asynccontextmanager
async def _fresh(_: Server[Any]) -> AsyncGenerator[dict[str, bool]]:
    yield {"signed in": False}


async def _list(ctx: Context, params: object) -> mcp_types.ListToolsResult:
    del params
    names = ["sign_in", *(["secret"] if ctx.lifespan_context["signed in"] else [])]
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    return mcp_types.ListToolsResult(
        tools=[mcp_types.Tool(name=name, input_schema=schema) for name in names]
    )


async def _call(ctx: Context, params: mcp_types.CallToolRequestParams) -> Any:
    if params.name == "sign_in":
        ctx.lifespan_context["signed in"] = True
        await ctx.session.send_tool_list_changed()
    said = "welcome" if ctx.lifespan_context["signed in"] else "sign in first"
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=said)])


def _desk() -> Server[dict[str, bool]]:
    return Server("desk", lifespan=_fresh, on_list_tools=_list, on_call_tool=_call)


async def _text(state: Episode, tool: str) -> str:
    return (await state.call(tool, {})).text


@pytest.mark.parametrize(("endpoint", "prefix"), [("desk", ""), ("*", "desk__")])
async def test_a_state_outlives_the_tool_list_that_it_began_with(
    endpoint: str, prefix: str, tmp_path: Path
) -> None:
    async with open_deployed(None, home=tmp_path) as servers:
        servers.mount("desk", _desk)
        catalog = DeployedCatalog(servers)
        async with open_episodes(catalog, tmp_path, secret=SECRET) as episodes:
            state = await episodes.interactive(endpoint, "ann", ["desk"])
            assert [tool.name for tool in state.tools] == [f"{prefix}sign_in"]
            changed = anyio.Event()
            catalog.watch(lambda _: changed.set())
            assert await _text(state, f"{prefix}sign_in") == "welcome"
            with anyio.fail_after(10):
                await changed.wait()
            assert await episodes.interactive(endpoint, "ann", ["desk"]) is state
            assert [tool.name for tool in state.tools] == [f"{prefix}sign_in", f"{prefix}secret"]
            assert await _text(state, f"{prefix}secret") == "welcome"


async def test_another_server_of_the_same_name_begins_a_new_state(tmp_path: Path) -> None:
    async with open_deployed(None, home=tmp_path) as servers:
        servers.mount("desk", _desk)
        catalog = DeployedCatalog(servers)
        async with open_episodes(catalog, tmp_path, secret=SECRET) as episodes:
            state = await episodes.interactive("desk", "ann", ["desk"])
            assert await _text(state, "sign_in") == "welcome"
        async with open_deployed(None, home=tmp_path / "other") as others:
            others.mount("desk", _desk)
            shown = state.show(DeployedCatalog(others).upstreams(), qualify_all=False)
            assert not shown
