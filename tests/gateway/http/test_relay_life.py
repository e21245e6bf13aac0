"""Relaying over standard input and output, and the end of sessions that nobody uses."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from starlette.types import Receive, Scope, Send

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.serving.http.server import bind, listen, url_of
from gateway.agents.plane import AgentPlane
from gateway.agents.sessions import CLOSED_SECONDS, Sessions
from gateway.agents.targets import EpisodeTarget, target_at
from gateway.api.wire import EpisodeRequest
from gateway.episodes.live import Episodes, open_episodes
from servers.deployed import open_deployed
from servers.deployed.config import read_entries

from by_hand import open_session
from deployed_workshop import raw_entry, write_config
from relayed_servers import LEGACY, MODERN, DeployedCatalog, Desk, open_relay_gateway, text_of, ways
from tiers import AT_THE_GATE

PATH = "/servers/desk/mcp"
SYSTEM = pytest.mark.system
"""Each starts a gateway; one era of each is enough before a commit."""
NOTES = '''
from mcp.server import MCPServer

server = MCPServer("notes", instructions="Be kind.")


@server.tool()
def say(text: str) -> str:
    """Say it."""
    return text


@server.resource("notes://one")
def one() -> str:
    return "the first note"


@server.prompt()
def greet(whom: str) -> str:
    return f"Hello {whom}"


server.run()
'''


@asynccontextmanager
async def over_stdio(
    folder: Path, mode: Any, *options: str, **servers: Any
) -> AsyncGenerator[Client]:
    """Start a gateway of these servers, and of notes where none are named, as a desktop client does."""
    (folder / "notes.py").write_text(NOTES)
    notes = {"command": sys.executable, "args": ["-P", str(folder / "notes.py")]}
    config = write_config(folder, **(servers or {"notes": notes}))
    command = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "astra_mcp", "serve", "--stdio", *options, "--mcp-config", str(config)],
        env={**os.environ, "ASTRA_MCP_HOME": str(folder / "home")},
    )
    with anyio.fail_after(60):
        async with Client(stdio_client(command), mode=mode, cache=None) as client:
            yield client


@pytest.mark.parametrize(
    "mode", [pytest.param(LEGACY, marks=SYSTEM, id="2025"), pytest.param(MODERN, id="2026")]
)
async def test_a_client_on_standard_input_and_output_reaches_everything_of_a_server(
    tmp_path: Path, mode: Any
) -> None:
    async with over_stdio(tmp_path, mode, "--server", "notes") as client:
        assert [t.name for t in (await client.list_tools()).tools] == ["say"]
        assert text_of(await client.call_tool("say", {"text": "hi"})) == "hi"
        assert text_of(await client.read_resource("notes://one")) == "the first note"
        assert text_of(await client.get_prompt("greet", {"whom": "Bo"})) == "Hello Bo"


@pytest.mark.parametrize(
    "mode",
    [pytest.param("auto", marks=AT_THE_GATE)]
    + [pytest.param(m, marks=SYSTEM) for m in (LEGACY, MODERN)],
)
async def test_one_entry_that_is_wrong_breaks_no_other_server(tmp_path: Path, mode: Any) -> None:
    servers: dict[str, Any] = {
        "dead": {"command": "false"},
        "notes": {"command": sys.executable, "args": ["-P", str(tmp_path / "notes.py")]},
    }
    async with over_stdio(tmp_path, mode, **servers) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "notes__say" in names
        for _ in range(2):
            said = await client.call_tool("notes__say", {"text": "hi"})
            assert (text_of(said), said.is_error) == ("hi", False)
        # An environment answers wrong arguments with a result of its own.
        asked = await client.call_tool("tour-rebooking__find_booking", {"nonsense": 1})
        assert "nonsense" in str(asked.content)


@pytest.mark.parametrize("mode", ["auto", pytest.param(MODERN, marks=SYSTEM)])
async def test_a_client_that_begins_in_2026_is_told_why_a_server_cannot_be_started(
    tmp_path: Path, mode: Any
) -> None:
    wrong = {"command": "/no/such"}
    async with over_stdio(tmp_path, mode, "--server", "wrong", wrong=wrong) as client:
        for _ in range(2):
            with pytest.raises(MCPError, match="upstream wrong cannot be started"):
                await client.list_tools()
        with pytest.raises(MCPError, match="upstream wrong cannot be started"):
            await client.call_tool("say", {"text": "hi"})


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        """The time."""
        return self.seconds


async def post(http: httpx.AsyncClient, method: str, headers: Mapping[str, str]) -> httpx.Response:
    """Send a request to the desk in a session of the handshake era."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
    return await http.post(PATH, json=body, headers=headers)


@asynccontextmanager
async def desk_behind(
    sessions: Sessions, home: Path, **options: Any
) -> AsyncGenerator[tuple[Episodes, httpx.AsyncClient]]:
    """Serve one deployed server; the options are those of its episodes."""
    with bind("127.0.0.1", 0) as listener, anyio.fail_after(30):
        async with open_deployed(None, home=home) as deployed:
            deployed.mount("desk", Desk("desk").make)
            catalog = DeployedCatalog(deployed)
            async with open_episodes(catalog, home, secret=b"s", **options) as episodes:
                plane = AgentPlane(catalog, episodes, sessions=sessions)

                async def app(scope: Scope, receive: Receive, send: Send) -> None:
                    target = target_at(scope["path"])
                    assert target is not None
                    await plane.answer(target, scope, receive, send)

                async with (
                    plane.open(max_body_bytes=65536),
                    listen(app, listener),
                    httpx.AsyncClient(base_url=url_of(listener), trust_env=False) as http,
                ):
                    yield episodes, http


async def test_a_session_that_nobody_uses_ends_and_gives_its_state_back(tmp_path: Path) -> None:
    clock = Clock()
    sessions = Sessions(idle_seconds=0.05, now=clock.now)
    async with desk_behind(sessions, tmp_path) as (episodes, http):
        session = await open_session(http, PATH)
        # One is answered by the SDK, the other one without it: both are use.
        assert (await post(http, "prompts/list", session)).is_success
        assert (await post(http, "tools/list", session)).is_success
        assert episodes.count_open() == 1
        clock.seconds = 1000.0
        while episodes.count_open():
            await anyio.lowlevel.checkpoint()
        assert (await post(http, "ping", session)).status_code == 404
        assert len(sessions) == 0


async def test_an_idle_session_whose_state_cannot_be_restored_ends_and_harms_nobody(
    tmp_path: Path,
) -> None:
    clock, time = Clock(), Clock()
    sessions = Sessions(idle_seconds=0.05, now=clock.now)
    async with desk_behind(sessions, tmp_path, now=time.now) as (episodes, http):
        session = await open_session(http, PATH)
        assert (await post(http, "prompts/list", session)).is_success
        time.seconds = 1000.0
        await episodes.sweep()
        assert episodes.count_open() == 0, "its state is parked"
        for record in (tmp_path / "records").rglob("*.jsonl"):
            record.unlink()
        clock.seconds = 1000.0
        while len(sessions):
            await anyio.lowlevel.checkpoint()
        assert (await post(http, "ping", await open_session(http, PATH))).is_success


async def test_the_session_of_an_episode_that_is_closed_is_idle_soon(tmp_path: Path) -> None:
    clock = Clock()
    sessions = Sessions(now=clock.now)
    async with desk_behind(sessions, tmp_path) as (episodes, http):
        source = {"kind": "servers", "names": ["desk"]}
        request = EpisodeRequest.model_validate({"source": source})
        closed, other = [await episodes.create(request) for _ in range(2)]
        for episode in (closed, other):
            await open_session(http, f"/episodes/{episode.id}/mcp")
        await episodes.close(closed.id)
        clock.seconds = CLOSED_SECONDS
        assert [s.target for s in sessions.idle()] == [EpisodeTarget(closed.id)]


@ways
async def test_a_server_that_is_removed_breaks_no_other_of_an_episode_and_fails_it_once_called(
    tmp_path: Path, mode: str
) -> None:
    file = write_config(tmp_path, gone=raw_entry(), kept=raw_entry())
    async with open_relay_gateway(tmp_path / "home", file=file) as gateway:
        created = await gateway.open_episode("gone", "kept")
        async with gateway.client(created.mcp_url, mode) as client:
            write_config(tmp_path, kept=raw_entry())
            gateway.deployed.publish(read_entries(file).values(), source=file)
            counted = await client.call_tool("kept__count", {})
            assert (text_of(counted), counted.is_error) == ("1", False)
            assert (await gateway.control.episode(created.id)).status is EpisodeStatus.OPEN

            refused = await client.call_tool("gone__count", {})

            assert refused.is_error
            assert "its entry was removed" in text_of(refused)
        assert (await gateway.control.episode(created.id)).status is EpisodeStatus.FAILED
