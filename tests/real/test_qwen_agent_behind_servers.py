"""Unmodified Qwen-Agent uses published servers through the gateway, resources included."""

from typing import Any

import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.types import Origin
from gateway.api.client import GatewayClient
from gateway.api.seams import GoldCall
from gateway.api.wire import EpisodeRequest, SourceServers

from completions_server import CompletionsServer
from qwen_agent_runs import LAST_WORDS, Oracle, install_qwen_agent, run_qwen_agent

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]  # the first run installs both

QUESTION = "Use the tools."


def call(tool: str, **arguments: Any) -> GoldCall:
    return GoldCall(tool=tool, arguments=arguments, solves=())


async def test_qwen_agent_calls_tools_and_reads_resources_of_one_server(
    gateway: Any, completions: CompletionsServer
) -> None:
    calls = [
        call("get-sum", a=19, b=23),
        call("read_resource", uri="demo://resource/dynamic/text/7"),
    ]
    oracle = Oracle(calls, is_raw=True, server="everything")
    connected = ("--url", gateway.url, "--server", "everything")
    said = await run_qwen_agent(install_qwen_agent(), completions, oracle, QUESTION, connected)
    assert said["messages"][-1]["content"] == LAST_WORDS
    total, note = oracle.seen
    assert total == "The sum of 19 and 23 is 42."
    assert "Resource 7" in note


async def test_qwen_agent_keeps_a_state_in_an_episode_of_several_servers(
    control: GatewayClient, completions: CompletionsServer
) -> None:
    source = SourceServers(kind="servers", names=("memory", "sqlite", "time"), prompt=QUESTION)
    episode = await control.create_episode(EpisodeRequest(source=source))
    ada = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
    noon = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"}
    calls = [
        call("create_entities", entities=[ada]),
        call("create_table", query="CREATE TABLE seen (word TEXT)"),
        call("convert_time", **noon),
        call("read_graph"),
        call("list_tables"),
    ]
    oracle = Oracle(calls, is_raw=False)
    said = await run_qwen_agent(
        install_qwen_agent(), completions, oracle, QUESTION, ("--url", episode.mcp_url)
    )
    record = await control.record(episode.id)
    state = await control.close_episode(episode.id)
    assert said["messages"][-1]["content"] == LAST_WORDS
    assert [c.server for c in record.calls] == ["memory", "sqlite", "time", "memory", "sqlite"]
    assert {c.origin for c in record.calls} == {Origin.TOOL}
    assert '"Ada"' in oracle.seen[3]
    assert "seen" in oracle.seen[4]
    assert (state.status, state.reward) == (EpisodeStatus.CLOSED, None)
