"""What a relayed server offers reaches clients of both eras as it is, whichever eras the server speaks."""

from pathlib import Path
from typing import Any

import anyio
import httpx
import mcp_types as types
import pytest
from mcp import MCPError

from relayed_servers import LEGACY, MODERN, Desk, open_relay_gateway

PATH = "/servers/desk/mcp"
pytestmark = pytest.mark.anyio

ways = pytest.mark.parametrize("mode", [LEGACY, MODERN], ids=["2025", "2026"])
speech = pytest.mark.parametrize("speaks", ["both", "handshake", "modern"])


@speech
@ways
async def test_everything_of_a_server_is_reached(tmp_path: Path, speaks: str, mode: str) -> None:
    desk = Desk("desk", speaks=speaks)
    async with (
        open_relay_gateway(tmp_path, desk) as gateway,
        gateway.client(PATH, mode) as client,
    ):
        listed = await client.list_resources()
        assert [r.uri for r in listed.resources] == ["desk://page/0", "shared://one"]
        templates = await client.list_resource_templates()
        assert [t.uri_template for t in templates.resource_templates] == ["desk://item/{id}"]
        read = await client.read_resource("desk://item/3")
        assert isinstance(read.contents[0], types.TextResourceContents)
        assert read.contents[0].text == "desk read desk://item/3"
        assert read.meta is not None
        assert read.meta["dev.example/read"] == 1
        assert [p.name for p in (await client.list_prompts()).prompts] == ["greet"]
        prompt = await client.get_prompt("greet", {"whom": "Bo"})
        greeting = prompt.messages[0].content
        assert isinstance(greeting, types.TextContent)
        assert greeting.text == "desk greets Bo"
        ref = types.PromptReference(type="ref/prompt", name="greet")
        completed = await client.complete(ref, {"name": "whom", "value": "B"})
        assert completed.completion.values == ["desk greet"]


@speech
@ways
async def test_a_tool_and_its_result_keep_what_the_server_gave_them(
    tmp_path: Path, speaks: str, mode: str
) -> None:
    desk = Desk("desk", speaks=speaks)
    async with (
        open_relay_gateway(tmp_path, desk) as gateway,
        gateway.client(PATH, mode) as client,
    ):
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
    desk = Desk("desk", speaks=speaks)
    async with (
        open_relay_gateway(tmp_path, desk) as gateway,
        gateway.client(PATH, mode) as client,
    ):
        with pytest.raises(MCPError, match="no such page") as missing:
            await client.read_resource("desk://item/missing")
        assert (missing.value.code, missing.value.data) == (-32002, {"uri": "desk://item/missing"})
        with pytest.raises(MCPError, match="sign in first") as refused:
            await client.call_tool("refuse", {})
        assert (refused.value.code, refused.value.data) == (-32042, {"elicitations": ["x"]})


@ways
async def test_an_endpoint_presents_itself_as_its_server(tmp_path: Path, mode: str) -> None:
    desk = Desk("desk", speaks="handshake" if mode == LEGACY else "modern")
    era = LEGACY if mode == LEGACY else "auto"
    async with (
        open_relay_gateway(tmp_path, desk) as gateway,
        gateway.client(PATH, era) as client,
    ):
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
            for method in [m for m in _METHODS if m not in kept]:
                server._request_handlers.pop(method, None)  # pyright: ignore[reportPrivateUsage]
            return server

    async with (
        open_relay_gateway(tmp_path, ToolsAlone("desk")) as gateway,
        gateway.client(PATH, mode) as client,
    ):
        assert len((await client.list_tools()).tools) > 1
        for asked in (client.list_prompts, client.list_resources):
            with pytest.raises(MCPError) as raised:
                await asked()
            assert raised.value.code == types.METHOD_NOT_FOUND


_METHODS = (
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
)


@ways
async def test_the_pages_of_one_server_keep_its_own_cursors(tmp_path: Path, mode: str) -> None:
    async with (
        open_relay_gateway(tmp_path, Desk("desk", pages=3)) as gateway,
        gateway.client(PATH, mode) as client,
    ):
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

    async with (
        open_relay_gateway(tmp_path, Desk("desk", speaks=speaks)) as gateway,
        gateway.client(PATH, mode, logging_callback=log) as client,
    ):
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
    async with (
        open_relay_gateway(tmp_path, desk) as gateway,
        gateway.client(PATH, mode) as client,
    ):
        await client.call_tool("say", {}, meta=meta)
    seen = desk.metas[0]
    assert (seen["traceparent"], seen["dev.example/a"]) == (trace, [1])
    assert "dev.astra-mcp/call-id" not in seen


async def post_modern(
    http: httpx.AsyncClient, url: str, method: str, params: dict[str, Any], **headers: str
) -> httpx.Response:
    """Send a request of the 2026 era by hand."""
    envelope: dict[str, Any] = {
        types.PROTOCOL_VERSION_META_KEY: MODERN,
        types.CLIENT_CAPABILITIES_META_KEY: {},
    }
    fields = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **headers}
    fields["Accept"] = "application/json, text/event-stream"
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    body["params"] = {**params, "_meta": envelope}
    return await http.post(url, json=body, headers=fields)


async def test_arguments_that_travel_as_headers_are_checked(tmp_path: Path) -> None:
    call = {"name": "headed", "arguments": {"region": "north"}}
    async with (
        open_relay_gateway(tmp_path, Desk("desk")) as gateway,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        url = f"{gateway.url}{PATH}"
        named = {"Mcp-Name": "headed"}
        right = await post_modern(
            http, url, "tools/call", call, **named, **{"Mcp-Param-Region": "north"}
        )
        assert right.json()["result"]["content"][0]["text"] == "desk did headed"
        wrong = await post_modern(
            http, url, "tools/call", call, **named, **{"Mcp-Param-Region": "south"}
        )
        missing = await post_modern(http, url, "tools/call", call, **named)
        for refused in (wrong, missing):
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
    assert desk_calls_once(tmp_path)


def desk_calls_once(home: Path) -> bool:
    """True where the records know one call."""
    lines = [
        line for f in (home / "records").rglob("*.jsonl") for line in f.read_text().splitlines()
    ]
    return sum('"call_started"' in line for line in lines) == 1


async def open_session(http: httpx.AsyncClient, url: str, **capabilities: Any) -> dict[str, str]:
    """Open a session of the handshake era by hand; answers the headers of its requests."""
    accept = {"Accept": "application/json, text/event-stream"}
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "hand", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    answer = await http.post(url, json=body, headers=accept)
    assert answer.status_code == 200, answer.text
    headers = {
        **accept,
        "Mcp-Session-Id": answer.headers["mcp-session-id"],
        "MCP-Protocol-Version": "2025-11-25",
    }
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await http.post(url, json=body, headers=headers)).status_code == 202
    return headers


async def test_a_session_is_unknown_at_another_endpoint(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with (
        open_relay_gateway(tmp_path, Desk("desk"), Desk("other")) as gateway,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        headers = await open_session(http, f"{gateway.url}{PATH}")
        assert (await http.post(f"{gateway.url}{PATH}", json=ping, headers=headers)).is_success
        for path in ("/servers/other/mcp", "/mcp"):
            for method in ("POST", "GET", "DELETE"):
                answer = await http.request(
                    method, f"{gateway.url}{path}", json=ping, headers=headers
                )
                assert answer.status_code == 404, (path, method)
        assert (await http.delete(f"{gateway.url}{PATH}", headers=headers)).is_success
        answer = await http.post(f"{gateway.url}{PATH}", json=ping, headers=headers)
        assert answer.status_code == 404


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
