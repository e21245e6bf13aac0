"""The bridge to the MCP SDK: values survive it, errors become protocol errors, callers are told apart."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from astra_mcp.errors import (
    AstraError,
    CallFaultError,
    EpisodeEndedError,
    RecordError,
    SandboxError,
    UnknownNameError,
)
from astra_mcp.mcp.bridge import ANONYMOUS, McpRequest, build_server, result_to_mcp, tool_to_mcp
from astra_mcp.mcp.http import open_http
from astra_mcp.mcp.lines import MAX_BODY_BYTES
from astra_mcp.serving.http.server import bind, listen, url_of
from astra_mcp.types import JsonObject, ToolResult, ToolSpec, canonical_json

ERAS = ("legacy", "2026-07-28")
TOOLS = [ToolSpec(name="tell", description="Tell.", input_schema={"type": "object"})]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    texts=st.lists(st.text(), max_size=3),
    structured=st.none() | st.dictionaries(st.text(), json_values, max_size=3),
    is_error=st.booleans(),
)
def test_results_survive_the_bridge(
    texts: list[str], structured: dict[str, Any] | None, is_error: bool
) -> None:
    blocks: tuple[JsonObject, ...] = tuple({"type": "text", "text": t} for t in texts)
    result = ToolResult(content=blocks, structured=structured, is_error=is_error)
    wire = json.loads(result_to_mcp(result).model_dump_json(by_alias=True, exclude_unset=True))
    assert wire["content"] == list(blocks)
    assert (wire["structuredContent"], wire["isError"]) == (structured, is_error)


def test_blocks_other_than_text_pass_through() -> None:
    blocks: tuple[JsonObject, ...] = (
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "test://page", "name": "page"},
        {"type": "text", "text": "x", "annotations": {"audience": ["user"]}},
    )
    shown = result_to_mcp(ToolResult(content=blocks)).model_dump(by_alias=True, exclude_unset=True)
    assert shown["content"] == list(blocks)


@given(name=st.from_regex(r"[a-z_]{1,20}", fullmatch=True), description=st.text())
def test_tools_survive_the_bridge(name: str, description: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": None}}}
    tool = ToolSpec(
        name=name, description=description, input_schema=schema, output_schema={"type": "object"}
    )
    shown = tool_to_mcp(tool).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert (shown["name"], shown.get("description", "")) == (name, description)
    assert (shown["inputSchema"], shown["outputSchema"]) == (schema, {"type": "object"})


@dataclass(frozen=True)
class Waiting:
    """A call that has begun and ends when it is told to."""

    begun: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)


@asynccontextmanager
async def served(
    error: AstraError | None = None, waiting: "Waiting | None" = None
) -> AsyncGenerator[str]:
    """Serve a tool that tells its caller and ``_meta``, or raises; ``wait`` waits."""

    async def list_tools(_: McpRequest) -> Sequence[ToolSpec]:
        return TOOLS

    async def call_tool(request: McpRequest, name: str, arguments: JsonObject) -> ToolResult:
        if error is not None:
            raise error
        if waiting is not None and "wait" in arguments:
            waiting.begun.set()
            await waiting.release.wait()
        told: JsonObject = {
            "caller": request.caller,
            "meta": request.meta.get("dev.astra-mcp/seq"),
            "arguments": arguments,
            "name": name,
        }
        return ToolResult.from_value(told, structured=True)

    server = build_server("teller", version="1", list_tools=list_tools, call_tool=call_tool)
    with bind("127.0.0.1", 0) as listener:
        async with open_http(server) as app, listen(app, listener):
            yield url_of(listener, "/mcp")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def caller_of(url: str, mode: Any, headers: dict[str, str] | None = None) -> str:
    async with (
        httpx2.AsyncClient(headers=headers, verify=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
    ):
        first = await client.call_tool("tell", {})
        again = await client.call_tool("tell", {})
    assert first.structured_content == again.structured_content
    return first.structured_content["caller"]


@pytest.mark.parametrize("mode", ERAS)
async def test_lists_calls_and_meta_arrive_in_both_eras(mode: Any) -> None:
    async with served() as url, Client(url, mode=mode, cache=None) as client:
        listed = await client.list_tools()
        result = await client.call_tool("tell", {"a": [1]}, meta={"dev.astra-mcp/seq": 4})
    assert [t.name for t in listed.tools] == ["tell"]
    if mode != "legacy":
        assert (listed.ttl_ms, listed.cache_scope) == (0, "private")
    assert result.structured_content["meta"] == 4
    assert result.structured_content["arguments"] == {"a": [1]}


async def test_each_session_of_the_handshake_era_is_a_caller() -> None:
    async with served() as url:
        callers = [
            await caller_of(url, "legacy", key) for key in (None, None, bearer("k"), bearer("k"))
        ]
        callers.append(await caller_of(f"{url}?caller=t", "legacy"))
    assert len(set(callers)) == 5
    assert all(c.startswith("session-") for c in callers)


async def test_keys_and_tokens_are_callers_of_the_modern_era() -> None:
    async with served() as url:
        asked = {
            (key, token): await caller_of(
                f"{url}?caller={token}" if token else url, ERAS[1], bearer(key) if key else None
            )
            for key in (None, "key-1", "key-2")
            for token in (None, "t1", "t2")
        }
        repeated = await caller_of(f"{url}?caller=t1", ERAS[1], bearer("key-1"))
    assert asked[None, None] == ANONYMOUS
    assert len(set(asked.values())) == len(asked)
    assert asked["key-1", "t1"] == repeated
    assert not any("key-1" in caller or "t1" in caller for caller in asked.values())


async def test_a_session_id_names_nobody_in_the_modern_era() -> None:
    async with served() as url:
        assert await caller_of(url, ERAS[1], {"Mcp-Session-Id": "somebody-elses"}) == ANONYMOUS


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UnknownNameError("no tool x; available: tell"), mcp_types.INVALID_PARAMS, "available"),
        (CallFaultError("seq 3 was used"), mcp_types.INVALID_PARAMS, "seq 3"),
        (RecordError("secret disk is full"), mcp_types.INTERNAL_ERROR, "the server failed"),
        (EpisodeEndedError("the episode has expired"), mcp_types.INVALID_REQUEST, "expired"),
        (SandboxError("/secret/path"), mcp_types.INTERNAL_ERROR, "the server failed"),
    ],
)
async def test_errors_become_protocol_errors(
    mode: Any, error: AstraError, code: int, message: str
) -> None:
    async with served(error) as url, Client(url, mode=mode, cache=None) as client:
        with pytest.raises(MCPError, match=message) as raised:
            await client.call_tool("tell", {})
    assert raised.value.code == code
    assert "secret" not in raised.value.message


async def test_white_space_around_header_values_is_no_mismatch() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": JsonObject(),
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    body = canonical_json(request)
    async with served() as url:
        port = urlsplit(url).port
        assert port is not None
        # By hand: HTTP clients refuse to send what servers must accept.
        async with await anyio.connect_tcp("127.0.0.1", port) as wire:
            await wire.send(
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                b"Content-Type: application/json\r\nAccept: application/json\r\n"
                b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method:   tools/list \t\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            answer = b"".join([chunk async for chunk in wire])
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"name":"tell"' in answer


def told(answer: httpx2.Response) -> JsonObject:
    """Read what the tool told."""
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]["structuredContent"]["arguments"]


def tell(number: int | str, **arguments: Any) -> JsonObject:
    params: JsonObject = {"name": "tell", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def open_session(http: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """Shake hands; gives the headers of the session."""
    hello: JsonObject = {
        "protocolVersion": "2025-06-18",
        "capabilities": JsonObject(),
        "clientInfo": {"name": "test", "version": "1"},
    }
    accept = {"Accept": "application/json, text/event-stream"}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    opened = await http.post(url, headers=accept, json=opening)
    return {**accept, "Mcp-Session-Id": opened.headers["mcp-session-id"]}


@pytest.mark.parametrize("again", [7, "7"])
async def test_an_id_that_is_under_way_is_refused_and_mixes_up_no_answers(again: int | str) -> None:
    waiting = Waiting()
    answers: dict[str, httpx2.Response] = {}
    async with served(waiting=waiting) as url, httpx2.AsyncClient(verify=False) as http:
        mine, other = [await open_session(http, url) for _ in range(2)]

        async def ask(name: str, headers: dict[str, str], number: int | str, **said: Any) -> None:
            answers[name] = await http.post(url, headers=headers, json=tell(number, **said))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(partial(ask, "first", mine, 7, wait=True))
                await waiting.begun.wait()
                await ask("second", mine, again, a=2)
                await ask("of another", other, again, a=3)
                waiting.release.set()
        await ask("later", mine, again, a=4)
    second = answers.pop("second")
    assert (second.status_code, second.json()["id"]) == (400, again)
    assert second.json()["error"]["code"] == mcp_types.INVALID_REQUEST
    assert {name: told(answer) for name, answer in answers.items()} == {
        "first": {"wait": True},
        "of another": {"a": 3},
        "later": {"a": 4},
    }


async def test_a_body_that_is_too_large_is_refused_in_a_session_too() -> None:
    async with served() as url, httpx2.AsyncClient(verify=False) as http:
        headers = await open_session(http, url)
        answer = await http.post(url, headers=headers, content=b" " * (MAX_BODY_BYTES + 1))
        nonsense = await http.post(
            url, headers={**headers, "Content-Type": "application/json"}, content=b"garbage"
        )
    assert answer.status_code == 413
    assert nonsense.json()["error"]["code"] == mcp_types.PARSE_ERROR
