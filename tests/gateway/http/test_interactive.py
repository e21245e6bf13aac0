"""What interactive endpoints do not show is reached by episodes alone, in both eras and after a restart."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp import MCPError

from by_hand import ACCEPT, hello, modern_request
from relayed_servers import text_of

COINS, ALL = "/servers/coins/mcp", "/mcp"


@dataclass(frozen=True)
class Listed:
    """A line of a directory, for a server of the gateway."""

    served_as: str
    version: str = "1.0.0"
    published_at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    updated_at: datetime = published_at
    is_crawled: bool = False

    @property
    def name(self) -> str:
        return f"dev.example/{self.served_as}"

    key = name


class FakeDirectory:
    """Lists both servers of the gateway."""

    def listing(self) -> Any:
        return (Listed("coins"), Listed("notes"))

    async def documents(self, keys: Any) -> Any:
        return {key: {"name": key} for key in keys}


async def test_a_server_that_is_not_shown_is_404_and_says_which_option_shows_it(
    open_gateway: Any, era: str
) -> None:
    modern = modern_request("tools/call", {"name": "add", "arguments": {}})
    request = modern if era != "legacy" else {"json": hello(), "headers": ACCEPT}
    async with open_gateway(interactive=("notes",)) as gateway:
        answer = await gateway.stranger.post(COINS, **request)
        assert (await gateway.stranger.post("/servers/notes/mcp", **request)).status_code == 200
    assert answer.status_code == 404
    said = answer.json()["error"]["message"]
    assert "coins is open to episodes alone" in said
    assert "--interactive" in said


async def test_among_all_servers_those_that_are_not_shown_are_missing(
    open_gateway: Any, sdk: Any, era: str
) -> None:
    async with (
        open_gateway(interactive=("notes",)) as gateway,
        sdk(f"{gateway.url}{ALL}", era) as client,
    ):
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["notes__add", "notes__echo", "notes__wait"]
        with pytest.raises(MCPError, match="coins__add"):
            await client.call_tool("coins__add", {})


async def test_closed_endpoints_leave_episodes_as_they_are(
    open_gateway: Any, sdk: Any, era: str
) -> None:
    async with open_gateway(interactive=()) as gateway:
        created = await gateway.episode()
        async with sdk(created["mcp_url"], era) as client:
            assert text_of(await client.call_tool("add", {"amount": 3})) == "total 3"
        state = (await gateway.control.get(f"/v1/episodes/{created['id']}")).json()
        assert state["reward"]["recall"] == 1.0


async def test_a_state_from_before_the_endpoints_were_closed_is_not_reached(
    open_gateway: Any, sdk: Any
) -> None:
    for address, tool in ((f"{COINS}?caller=a", "add"), (f"{ALL}?caller=a", "coins__add")):
        async with (
            open_gateway() as gateway,
            sdk(f"{gateway.url}{address}", "2026-07-28") as client,
        ):
            assert text_of(await client.call_tool(tool, {})) == "total 1"
        call = modern_request("tools/call", {"name": tool, "arguments": {}})
        async with open_gateway(interactive=()) as gateway:
            answer = await gateway.stranger.post(address, **call)
            assert "open to episodes alone" in answer.json()["error"]["message"]
            assert not gateway.servers["coins"].keys


async def test_lists_of_servers_say_which_are_shown(open_gateway: Any) -> None:
    async with open_gateway(interactive=("notes",), directories=[FakeDirectory()]) as gateway:
        listed = (await gateway.stranger.get("/v0.1/servers")).json()["servers"]
        told = [(await gateway.control.get(f"/v1/{kind}")).json() for kind in LISTS]
    assert [entry["server"]["name"] for entry in listed] == ["dev.example/notes"]
    for rows in told:
        assert {row["name"]: row["interactive"] for row in rows} == {"coins": False, "notes": True}


LISTS = ("servers", "environments")
