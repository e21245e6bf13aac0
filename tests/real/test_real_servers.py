"""Published servers are listed, called and kept apart: alone, all in one, and in episodes."""

import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.types import Origin
from gateway.api.client import GatewayClient

from relayed_servers import open_episode, text_of

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]  # the first run installs the servers


@dataclass(frozen=True)
class Known:
    """What is known of a server: some of its tools, one call, and words of the answer."""

    name: str
    tools: frozenset[str]
    tool: str
    arguments: dict[str, Any]
    says: str


TOKYO = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"}
ADA = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}
KNOWN = (
    Known("everything", frozenset({"echo", "get-sum"}), "get-sum", {"a": 19, "b": 23}, "is 42"),
    Known(
        "filesystem",
        frozenset({"read_text_file", "write_file"}),
        "list_allowed_directories",
        {},
        "Allowed directories:\n/",
    ),
    Known("memory", frozenset({"read_graph", "create_entities"}), "create_entities", ADA, "Ada"),
    Known("time", frozenset({"get_current_time", "convert_time"}), "convert_time", TOKYO, "-9.0h"),
    Known(
        "sqlite",
        frozenset({"create_table", "read_query", "write_query"}),
        "read_query",
        {"query": "SELECT 6 * 7 AS n"},
        "[{'n': 42}]",
    ),
)


@pytest.fixture(params=KNOWN, ids=lambda known: known.name)
def known(request: pytest.FixtureRequest) -> Known:
    """One of the servers."""
    return request.param


async def names_of(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


async def test_a_server_is_listed_and_called_at_its_own_endpoint(
    known: Known, gateway: Any, sdk: Any, era: str
) -> None:
    async with sdk(gateway.server_url(known.name), era) as client:
        names = await names_of(client)
        result = await client.call_tool(known.tool, known.arguments)
    assert known.tools <= names
    assert not result.is_error
    assert known.says in text_of(result)


async def test_all_servers_are_found_and_called_at_one_endpoint(
    gateway: Any, sdk: Any, era: str
) -> None:
    async with sdk(f"{gateway.url}/mcp?caller={uuid.uuid4().hex}", era) as client:
        assert await names_of(client) == {"search_tools", "call_tool"}
        for known in KNOWN:
            shown = f"{known.name}__{known.tool}"
            query = f"{known.name} {known.tool}"
            found = await client.call_tool("search_tools", {"query": query})
            assert shown in text_of(found)
            result = await client.call_tool(
                "call_tool", {"name": shown, "arguments": known.arguments}
            )
            assert known.says in text_of(result)


async def test_an_episode_has_a_servers_tools_and_records_their_answers(
    known: Known, gateway: Any, control: GatewayClient, sdk: Any, era: str
) -> None:
    episode = await open_episode(control, known.name)
    async with sdk(episode.mcp_url, era) as client:
        names = await names_of(client)
        result = await client.call_tool(known.tool, known.arguments)
        await client.call_tool(known.tool, {"query": 1, "a": []})
    record = await control.record(episode.id)
    state = await control.close_episode(episode.id)
    assert known.tools <= names == {tool.name for tool in episode.tools}
    first, second = record.calls
    assert first.result is not None
    assert known.says in text_of(result)
    assert first.result.text == text_of(result)
    assert (first.server, first.tool, first.origin) == (known.name, known.tool, Origin.TOOL)
    assert second.origin is Origin.TOOL  # a refusal of arguments is the server's own answer
    assert (state.status, state.reward, state.failure) == (EpisodeStatus.CLOSED, None, None)


@pytest.mark.smoke
async def test_one_episode_holds_all_servers(control: GatewayClient, sdk: Any) -> None:
    episode = await open_episode(control, *(known.name for known in KNOWN))
    async with sdk(episode.mcp_url, "2026-07-28") as client:
        assert len(await names_of(client)) == len(episode.tools)
        for known in KNOWN:
            result = await client.call_tool(known.tool, known.arguments)
            assert known.says in text_of(result)
    record = await control.record(episode.id)
    await control.close_episode(episode.id)
    assert [call.server for call in record.calls] == [known.name for known in KNOWN]
    assert set(record.servers) == {known.name for known in KNOWN}


async def write(client: Client, name: str, word: str) -> None:
    """Leave a word behind in a server that has a state."""
    calls: list[tuple[str, dict[str, Any]]] = []
    if name == "memory":
        entity: dict[str, Any] = {"name": word, "entityType": "tree", "observations": []}
        calls.append(("create_entities", {"entities": [entity]}))
    elif name == "sqlite":
        row = "INSERT INTO seen VALUES ('WORD')".replace("WORD", word)
        calls.append(("create_table", {"query": "CREATE TABLE IF NOT EXISTS seen (word TEXT)"}))
        calls.append(("write_query", {"query": row}))
    else:
        path = f"{await home_of(client)}/{word}.txt"
        calls.append(("write_file", {"path": path, "content": word}))
    for tool, arguments in calls:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)


async def read(client: Client, name: str) -> str:
    """Tell everything that a server with a state holds."""
    if name == "memory":
        return text_of(await client.call_tool("read_graph", {}))
    if name == "sqlite":
        return text_of(await client.call_tool("read_query", {"query": "SELECT * FROM seen"}))
    folder = await home_of(client)
    return text_of(await client.call_tool("directory_tree", {"path": folder}))


async def home_of(client: Client) -> str:
    """Name the folder that the filesystem server works in."""
    return text_of(await client.call_tool("list_allowed_directories", {})).splitlines()[-1]


STATEFUL = ("memory", "filesystem", "sqlite")


@pytest.mark.parametrize("name", STATEFUL)
async def test_two_episodes_never_see_each_others_state(
    name: str, control: GatewayClient, sdk: Any, era: str
) -> None:
    first, second = await open_episode(control, name), await open_episode(control, name)
    async with sdk(first.mcp_url, era) as one, sdk(second.mcp_url, era) as two:
        await write(one, name, "willow")
        await write(two, name, "juniper")
        seen_by_one, seen_by_two = await read(one, name), await read(two, name)
    await control.close_episode(first.id)
    await control.close_episode(second.id)
    third = await open_episode(control, name)
    async with sdk(third.mcp_url, era) as three:
        seen_later = await read(three, name)
    await control.close_episode(third.id)
    assert ("willow" in seen_by_one, "juniper" in seen_by_one) == (True, False)
    assert ("willow" in seen_by_two, "juniper" in seen_by_two) == (False, True)
    assert "willow" not in seen_later
    assert "juniper" not in seen_later


@pytest.mark.parametrize("name", ["memory", "filesystem"])
async def test_callers_of_an_endpoint_keep_their_own_state(
    name: str, gateway: Any, sdk: Any, era: str
) -> None:
    mine, other = (gateway.server_url(name) for _ in range(2))
    async with sdk(mine, era) as one, sdk(other, era) as two:
        await write(one, name, "willow")
        await write(two, name, "juniper")
        await write(one, name, "alder")
        seen_by_one, seen_by_two = await read(one, name), await read(two, name)
    assert [word in seen_by_one for word in ("willow", "alder", "juniper")] == [True, True, False]
    assert [word in seen_by_two for word in ("willow", "alder", "juniper")] == [False, False, True]
