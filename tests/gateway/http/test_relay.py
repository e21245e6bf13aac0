"""What a relayed server offers reaches clients of both eras as it is, whichever eras the server speaks."""

from pathlib import Path
from typing import Any

import anyio
import httpx
import mcp_types as types
import pytest
from mcp import MCPError

from by_hand import modern_request, open_session
from relayed_servers import (
    LEGACY,
    MODERN,
    Desk,
    open_desks,
    open_relay_gateway,
    recorded,
    text_of,
    ways,
)

PATH = "/servers/desk/mcp"
speech = pytest.mark.parametrize("speaks", ["both", "handshake", "modern"])


@speech
@ways
async def test_everything_of_a_server_is_reached(tmp_path: Path, speaks: str, mode: str) -> None:
    async with open_desks(tmp_path, mode, Desk("desk", speaks=speaks)) as client:
        listed = await client.list_resources()
        assert [r.uri for r in listed.resources] == ["desk://page/0", "shared://one"]
        templates = await client.list_resource_templates()
        assert [t.uri_template for t in templates.resource_templates] == ["desk://item/{id}"]
        read = await client.read_resource("desk://item/3")
        assert text_of(read) == "desk read desk://item/3"
        assert read.meta is not None
        assert read.meta["dev.example/read"] == 1
        assert [p.name for p in (await client.list_prompts()).prompts] == ["greet"]
        prompt = await client.get_prompt("greet", {"whom": "Bo"})
        assert text_of(prompt) == "desk greets Bo"
        ref = types.PromptReference(type="ref/prompt", name="greet")
        completed = await client.complete(ref, {"name": "whom", "value": "B"})
        assert completed.completion.values == ["desk greet"]


@speech
@ways
async def test_a_tool_and_its_result_keep_what_the_server_gave_them(
    tmp_path: Path, speaks: str, mode: str
) -> None:
    async with open_desks(tmp_path, mode, Desk("desk", speaks=speaks)) as client:
        tool = (await client.list_tools()).tools[0]
        assert (tool.title, tool.meta) == ("Title of say", {"dev.example/kind": "test"})
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        result = await client.call_tool("paint", {})
        assert isinstance(result.content[0], types.ImageContent)
        assert result.content[0].annotations == types.Annotations(audience=["user"], priority=0.5)
        assert result.structured_content == {"n": [1, None]}
        assert result.meta is not None
        assert result.meta["dev.example/cost"] == 3


@speech
@ways
async def test_an_error_of_the_server_passes_with_its_code_and_data(
    tmp_path: Path, speaks: str, mode: str
) -> None:
    async with open_desks(tmp_path, mode, Desk("desk", speaks=speaks)) as client:
        with pytest.raises(MCPError, match="no such page") as missing:
            await client.read_resource("desk://item/missing")
        assert (missing.value.code, missing.value.data) == (-32002, {"uri": "desk://item/missing"})
        with pytest.raises(MCPError, match="sign in first") as refused:
            await client.call_tool("refuse", {})
        assert (refused.value.code, refused.value.data) == (-32042, {"elicitations": ["x"]})


@ways
async def test_an_endpoint_presents_itself_as_its_server(tmp_path: Path, mode: str) -> None:
    desk = Desk("desk", speaks="handshake" if mode == LEGACY else "modern")
    async with open_desks(tmp_path, LEGACY if mode == LEGACY else "auto", desk) as client:
        assert client.instructions == "Ask desk politely."
        assert client.server_info is not None
        assert client.server_info.name == "desk"
        shown = client.server_capabilities
        assert shown.prompts is not None
        assert shown.completions is not None
        assert shown.resources is not None
        assert shown.resources.subscribe
        assert shown.tools is not None
        assert shown.tools.list_changed


@ways
async def test_a_method_that_the_server_does_not_have_is_not_found(
    tmp_path: Path, mode: str
) -> None:
    class ToolsAlone(Desk):
        def make(self) -> Any:
            server = super().make()
            kept = {"tools/list", "tools/call", "ping", "server/discover"}
            handlers = server._request_handlers  # pyright: ignore[reportPrivateUsage]
            for method in set(handlers) - kept:
                del handlers[method]
            return server

    async with open_desks(tmp_path, mode, ToolsAlone("desk")) as client:
        assert len((await client.list_tools()).tools) > 1
        for asked in (client.list_prompts, client.list_resources):
            with pytest.raises(MCPError) as raised:
                await asked()
            assert raised.value.code == types.METHOD_NOT_FOUND


@ways
async def test_the_pages_of_one_server_keep_its_own_cursors(tmp_path: Path, mode: str) -> None:
    async with open_desks(tmp_path, mode, Desk("desk", pages=3)) as client:
        first = await client.list_prompts()
        assert first.next_cursor == "1"
        second = await client.list_prompts(cursor="1")
        assert [p.name for p in second.prompts] == ["greet1"]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("speaks", ["both", "handshake"])
@ways
async def test_progress_and_log_messages_reach_the_client_of_the_call(
    tmp_path: Path, speaks: str, mode: str
) -> None:
    told: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        told.append((params.level, params.data))

    desk = Desk("desk", speaks=speaks)
    async with open_desks(tmp_path, mode, desk, logging_callback=log) as client:
        await client.call_tool("report", {}, progress_callback=note)
        assert told == [(0.5, 1.0, "half"), (1.0, 1.0, "whole")]
        told.clear()
        asked: Any = {types.LOG_LEVEL_META_KEY: "error"} if mode == MODERN else None
        if mode == LEGACY:
            await client.set_logging_level("error")  # pyright: ignore[reportDeprecated] - still spoken
        await client.call_tool("log", {}, meta=asked)
        assert told == [("error", "a word at error")]
        told.clear()
        if mode == MODERN:
            await client.call_tool("log", {})
            assert told == []


@ways
async def test_the_client_s_meta_reaches_the_server_and_the_gateway_s_own_does_not(
    tmp_path: Path, mode: str
) -> None:
    desk = Desk("desk")
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta: Any = {"traceparent": trace, "dev.example/a": [1], "dev.astra-mcp/call-id": "one"}
    async with open_desks(tmp_path, mode, desk) as client:
        await client.call_tool("say", {}, meta=meta)
    seen = desk.metas[0]
    assert (seen["traceparent"], seen["dev.example/a"]) == (trace, [1])
    assert "dev.astra-mcp/call-id" not in seen


async def test_arguments_that_travel_as_headers_are_checked(tmp_path: Path) -> None:
    asked = modern_request("tools/call", {"name": "headed", "arguments": {"region": "north"}})
    async with (
        open_relay_gateway(tmp_path, Desk("desk")) as gateway,
        httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http,
    ):
        missing = await http.post(PATH, **asked)
        asked["headers"]["Mcp-Param-Region"] = "south"
        wrong = await http.post(PATH, **asked)
        asked["headers"]["Mcp-Param-Region"] = "north"
        right = await http.post(PATH, **asked)
    assert right.json()["result"]["content"][0]["text"] == "desk did headed"
    for refused in (wrong, missing):
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
    assert len(recorded(tmp_path, "call_started")) == 1


async def test_a_session_with_an_open_stream_does_not_keep_the_gateway_from_stopping(
    tmp_path: Path,
) -> None:
    opened = anyio.Event()
    async with (
        httpx.AsyncClient(trust_env=False, timeout=30) as http,
        anyio.create_task_group() as group,
    ):

        async def hear(url: str, headers: dict[str, str]) -> None:
            async with http.stream("GET", url, headers=headers) as stream:
                assert stream.status_code == 200
                opened.set()
                try:
                    async for _ in stream.aiter_bytes():
                        pass
                except httpx.RemoteProtocolError:
                    pass  # the gateway has stopped

        with anyio.fail_after(20):
            async with open_relay_gateway(tmp_path, Desk("desk")) as gateway:
                headers = await open_session(http, f"{gateway.url}{PATH}")
                group.start_soon(hear, f"{gateway.url}{PATH}", headers)
                await opened.wait()
