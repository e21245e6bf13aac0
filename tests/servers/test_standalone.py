"""One server alone: callers never share a state, states end, and both transports and eras reach it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from astra_mcp.errors import ModelError, ModelFault, UnknownNameError
from astra_mcp.mcp.made_up import EMULATOR_KEY
from astra_mcp.serving.http.server import bind, listen, url_of
from astra_mcp.types import EmulatorKind, ToolResult
from servers.emulated.fleet import EmulatedServers
from servers.environment import MAX_KILLS, EnvironmentServer
from servers.standalone import CallerStates, Presentation, open_standalone_http

from fake_emulation import FakeDocuments, FakeEmulator, document

ERAS = ("legacy", "2026-07-28")


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@asynccontextmanager
async def states_of(server: EnvironmentServer, **options: Any) -> AsyncGenerator[CallerStates]:
    states = CallerStates(server, **options)
    try:
        yield states
    finally:
        await states.aclose()


async def remember(states: CallerStates, caller: str, word: str) -> Any:
    result = await states.call(caller, "remember", {"word": word})
    assert isinstance(result.structured, dict)
    return result.structured["words"]


async def test_a_state_ends_when_it_was_idle_for_too_long(server: EnvironmentServer) -> None:
    clock = Clock()
    async with states_of(server, idle_seconds=60, now=clock) as states:
        await remember(states, "a", "one")
        clock.seconds += 30
        await remember(states, "b", "two")
        clock.seconds += 31
        await states.expire()
        assert len(states) == 1
        assert await remember(states, "a", "three") == ["three"]
        assert await remember(states, "b", "four") == ["two", "four"]


async def test_a_state_with_a_call_under_way_does_not_end(server: EnvironmentServer) -> None:
    clock = Clock()
    results: list[ToolResult] = []
    async with (
        states_of(server, idle_seconds=60, limit=1, now=clock) as states,
        anyio.create_task_group() as group,
    ):
        await remember(states, "a", "one")

        async def hang() -> None:
            results.append(await states.call("a", "hang", {}))

        group.start_soon(hang)
        await anyio.wait_all_tasks_blocked()
        clock.seconds += 1000
        await states.expire()
        assert len(states) == 1
        refused = await states.call("b", "draw", {})
        assert refused.is_error
        assert "Too many callers" in refused.text
    assert "hang was stopped" in results[0].text


async def test_the_state_that_was_idle_longest_makes_room(server: EnvironmentServer) -> None:
    clock = Clock()
    async with states_of(server, limit=2, now=clock) as states:
        for caller in ("a", "b", "a", "c"):
            clock.seconds += 1
            await remember(states, caller, caller)
        assert len(states) == 2
        assert await remember(states, "a", "x") == ["a", "a", "x"]
        assert await remember(states, "b", "x") == ["x"]


async def test_a_state_that_failed_is_replaced_by_a_fresh_one(server: EnvironmentServer) -> None:
    async with states_of(server) as states:
        await remember(states, "a", "one")
        kills = [await states.call("a", "hang", {}) for _ in range(MAX_KILLS)]
        assert "fresh state" in kills[-1].text
        assert await remember(states, "a", "two") == ["two"]


async def test_an_unknown_tool_names_the_available_ones(server: EnvironmentServer) -> None:
    async with states_of(server) as states:
        with pytest.raises(UnknownNameError, match="available tools: remember, draw"):
            await states.call("a", "recall", {})
        assert len(states) == 0


@pytest.fixture
async def url(server: EnvironmentServer) -> AsyncGenerator[str]:
    """Where the notebook is served over HTTP."""
    with bind("127.0.0.1", 0) as listener:
        presentation = Presentation(version="1.0.0", instructions="Remembers words.")
        async with open_standalone_http(server, presentation) as app, listen(app, listener):
            yield url_of(listener, "/mcp")


@pytest.mark.parametrize("mode", ERAS)
async def test_http_clients_list_and_call(url: str, mode: Any) -> None:
    async with Client(url, mode=mode, cache=None) as client:
        listed = await client.list_tools()
        result = await client.call_tool("remember", {"word": "one"})
        error = await client.call_tool("remember", {"word": ""})
        with pytest.raises(MCPError, match="available tools: remember"):
            await client.call_tool("recall", {})
    assert [t.name for t in listed.tools] == ["remember", "draw", "refuse", "flood", "hang"]
    assert result.structured_content == {"words": ["one"], "count": 1}
    assert error.is_error


async def test_http_callers_of_both_eras_have_their_own_states(url: str) -> None:
    async def words(target: str, mode: Any, word: str) -> list[str]:
        async with Client(target, mode=mode, cache=None) as client:
            result = await client.call_tool("remember", {"word": word})
        return result.structured_content["words"]

    modern = [(target, ERAS[1]) for target in (url, f"{url}?caller=a", f"{url}?caller=b")]
    for number, (target, mode) in enumerate([(url, "legacy"), (url, "legacy"), *modern]):
        assert await words(target, mode, f"w{number}") == [f"w{number}"]
    assert await words(*modern[1], "again") == ["w3", "again"]


@pytest.mark.parametrize("mode", ERAS)
async def test_an_emulated_server_says_that_it_is_made_up_and_how_it_failed(mode: Any) -> None:
    emulator = FakeEmulator(kind=EmulatorKind.MODEL)
    servers = EmulatedServers(
        FakeDocuments(document("desk")), {emulator.kind: emulator}, kind=emulator.kind
    )
    [emulated] = servers.upstreams()
    await emulated.prepare()
    presentation = Presentation(version="1", instructions="Made up.", emulator=emulator.kind)
    with bind("127.0.0.1", 0) as listener:
        async with (
            open_standalone_http(emulated, presentation) as app,
            listen(app, listener),
            Client(url_of(listener, "/mcp"), mode=mode, cache=None) as client,
        ):
            listed = (await client.list_tools()).tools
            result = await client.call_tool("remember", {"word": "one"})
            emulator.fault = ModelError("the model is away", ModelFault.UNREACHABLE)
            with pytest.raises(MCPError, match="the emulator of desk failed: the model is away"):
                await client.call_tool("remember", {"word": "lost"})
            emulator.fault = None
            again = await client.call_tool("remember", {"word": "two"})
    assert [(tool.meta or {})[EMULATOR_KEY] for tool in listed] == ["model", "model"]
    assert (result.meta or {})[EMULATOR_KEY] == "model"
    assert '"words": ["one", "two"]' in again.model_dump_json().replace('\\"', '"')
