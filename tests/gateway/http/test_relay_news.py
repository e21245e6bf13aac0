"""What changes at a server reaches the clients that it concerns, in both eras, and nobody else."""

import sys
from pathlib import Path

import anyio
import httpx
import pytest

from servers.deployed.config import read_entries

from deployed_workshop import write_config
from heard_news import WAIT_SECONDS, hearing
from relayed_servers import LEGACY, Desk, open_relay_gateway, ways

speech = pytest.mark.parametrize("speaks", ["handshake", "modern"])
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@ways
async def test_a_changed_list_of_tools_is_told_at_its_endpoint_and_at_that_of_all(
    tmp_path: Path, mode: str
) -> None:
    async with (
        open_relay_gateway(tmp_path, Desk("apple"), Desk("berry")) as gateway,
        hearing(f"{gateway.url}/servers/apple/mcp", mode) as (_, at_apple),
        hearing(f"{gateway.url}/servers/berry/mcp", mode) as (berry, at_berry),
        hearing(f"{gateway.url}/mcp", mode) as (_, at_all),
        gateway.client("/servers/apple/mcp", LEGACY) as changing,
    ):
        await changing.list_tools()
        await changing.call_tool("grow", {})
        await at_apple.wait_for("tools")
        await at_all.wait_for("tools")
        names = [t.name for t in (await changing.list_tools()).tools]
        assert names[-1] == "grown"
        # A later piece of news shows that nothing came before it.
        await berry.list_tools()
        await berry.call_tool("grow", {})
        await at_berry.wait_for("tools")
        assert at_berry.news.count("tools") == 1
        assert at_apple.news.count("tools") == 1


@ways
async def test_a_server_that_is_added_is_told_at_the_endpoint_of_all(
    tmp_path: Path, mode: str
) -> None:
    late = Desk("late")
    async with (
        open_relay_gateway(tmp_path, Desk("apple")) as gateway,
        hearing(f"{gateway.url}/servers/apple/mcp", mode) as (_, at_apple),
        hearing(f"{gateway.url}/mcp", mode) as (client, at_all),
    ):
        gateway.deployed.mount("late", late.make)
        await at_all.wait_for("tools")
        names = [t.name for t in (await client.list_tools()).tools]
        assert "late__say" in names
        assert at_apple.news == []


@speech
@ways
async def test_an_updated_resource_is_told_to_those_who_subscribed_in_this_state(
    tmp_path: Path, speaks: str, mode: str
) -> None:
    desk = Desk("desk", speaks=speaks)
    path, mine, others = "/servers/desk/mcp", "?caller=me", "?caller=other"
    async with (
        open_relay_gateway(tmp_path, desk) as gateway,
        hearing(f"{gateway.url}{path}{mine}", mode, "desk://item/1") as (client, heard),
        hearing(f"{gateway.url}{path}{others}", mode, "desk://item/2") as (_, other),
    ):
        await client.call_tool("touch", {"uri": "desk://item/1"})
        await heard.wait_for("desk://item/1")
        assert "desk://item/1" not in other.news


@ways
async def test_a_listener_subscribes_at_a_server_of_the_other_era_and_leaves_it(
    tmp_path: Path, mode: str
) -> None:
    desk = Desk("desk", speaks="handshake")
    async with open_relay_gateway(tmp_path, desk) as gateway:
        async with hearing(f"{gateway.url}/servers/desk/mcp", mode, "desk://item/1") as (client, _):
            assert desk.subscribed == ["desk://item/1"]
            if mode == LEGACY:
                await client.unsubscribe_resource(  # pyright: ignore[reportDeprecated] - still spoken
                    "desk://item/1"
                )
        with anyio.fail_after(WAIT_SECONDS):
            await desk.unsubscribed.wait()
        assert desk.subscribed == []


@ways
async def test_a_merged_endpoint_tells_of_a_resource_of_one_of_its_servers(
    tmp_path: Path, mode: str
) -> None:
    desks = [Desk("apple"), Desk("berry", speaks="handshake")]
    async with (
        open_relay_gateway(tmp_path, *desks) as gateway,
        hearing(f"{gateway.url}/mcp", mode, "berry://item/1") as (client, heard),
    ):
        await client.call_tool("berry__touch", {"uri": "berry://item/1"})
        await heard.wait_for("berry://item/1")
        await heard.wait_for("prompts")


async def test_a_get_without_a_session_is_405(tmp_path: Path) -> None:
    async with (
        open_relay_gateway(tmp_path, Desk("desk")) as gateway,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        for path in ("/mcp", "/servers/desk/mcp"):
            answer = await http.get(f"{gateway.url}{path}", headers={"Accept": "text/event-stream"})
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST, DELETE")


GREETER = """
from mcp.server import MCPServer

server = MCPServer("greeter")


@server.tool()
def wave() -> str:
    return "waved"


@server.prompt()
def greet(whom: str) -> str:
    return f"Hello {whom}"


server.run()
"""


async def test_clients_hear_that_a_server_with_prompts_was_added_and_removed(
    tmp_path: Path,
) -> None:
    (tmp_path / "greeter.py").write_text(GREETER)
    entry = {"command": sys.executable, "args": ["-P", str(tmp_path / "greeter.py")]}
    file = write_config(tmp_path)
    async with (
        open_relay_gateway(tmp_path / "home", Desk("apple"), file=file) as gateway,
        hearing(f"{gateway.url}/mcp", LEGACY) as (client, heard),
    ):
        for servers in ({"greeter": entry}, {}):
            write_config(tmp_path, **servers)
            gateway.deployed.publish(read_entries(file).values(), source=file)
            await client.list_prompts()  # the server is looked at
            await heard.wait_for("prompts")
            heard.news.clear()
