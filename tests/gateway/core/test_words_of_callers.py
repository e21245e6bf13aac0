"""What a caller wrote comes back in messages without anything that steers a terminal."""

import pytest

from astra_mcp.schemas import compile_schema
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, open_test_gateway
from gateway.api.client import CallRefusedError, EpisodeClient
from gateway.api.wire import EpisodeRequest, SourceServers

STEERING = "\x1b[31m\u202e\n"
SHOWN = "\\x1b[31m\\u202e "


def weigh(ship: str) -> str:
    """Say how heavy a ship is."""
    return f"The {ship} weighs 300 tons."


async def test_the_name_of_a_tool_that_there_is_not_is_shown_in_one_line() -> None:
    source = SourceServers(kind="servers", names=("harbour",), prompt="Weigh it.")
    async with open_test_gateway(InMemoryCatalog(InMemoryServer("harbour", weigh))) as gateway:
        episode = await gateway.control.create_episode(EpisodeRequest(source=source))
        agent = EpisodeClient(episode.mcp_url, gateway.control.http)
        with pytest.raises(CallRefusedError) as refused:
            await agent.call(STEERING, {})
    assert f"Unknown tool: {SHOWN}. The tools are: weigh" in str(refused.value)


def test_faults_of_arguments_show_their_values_in_one_line() -> None:
    schema = compile_schema({"type": "object", "properties": {"n": {"type": "integer"}}})
    (of_value,) = schema.faults({"n": STEERING})
    (of_name,) = schema.faults({STEERING: 1})
    assert "\\u202e" in of_value
    assert (of_value + of_name).isprintable()
