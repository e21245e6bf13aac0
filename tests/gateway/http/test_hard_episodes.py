"""Distractors and failures over a real socket: what orchestrators read of them, and what agents do not."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from astra_mcp.call_record import FailureKind
from astra_mcp.testing import open_test_gateway
from astra_mcp.types import EmulatorKind, JsonValue, Origin, ServerKind
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.seams import Distractor
from gateway.api.wire import EpisodeRequest

from counted_servers import CountedCatalog, CountedServer, FakeDistractorIndex, tool
from metric_samples import samples_of

KEY = "a control key for these tests"
CHOSEN = (Distractor("lamps", "shine", "high"), Distractor("birds", "sing", None))


class TalkativeServer(CountedServer):
    """Says that it has more than tools."""

    @property
    def relays(self) -> bool:
        return True

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        return {"tools": {}, "resources": {}, "prompts": {}}


@dataclass(frozen=True)
class Hard:
    """A gateway with distractors."""

    client: GatewayClient
    servers: dict[str, CountedServer]


@pytest.fixture
async def hard(tmp_path: Path) -> AsyncIterator[Hard]:
    """An emulated server to play, and two that have distractors."""
    ships = CountedServer("ships", (tool("look"), tool("load")), kind=ServerKind.EMULATOR)
    lamps = TalkativeServer("lamps", (tool("shine"), tool("dim")))
    birds = CountedServer("birds", (tool("sing"),), kind=ServerKind.EMULATOR)
    catalog = CountedCatalog(ships, lamps, birds)
    index = FakeDistractorIndex(CHOSEN, {"low": 2})
    async with open_test_gateway(catalog, tmp_path, distractors=index) as opened:
        yield Hard(opened.control, catalog.servers)


def asking(**fields: Any) -> EpisodeRequest:
    source = {"kind": "servers", "names": ["ships"], "prompt": "Look."}
    return EpisodeRequest.model_validate(
        {"source": source, "distractors": {"mode": "banded"}, **fields}
    )


async def test_an_orchestrator_reads_how_an_episode_was_made_hard(hard: Hard) -> None:
    created = await hard.client.create_episode(asking(seed=5))
    agent = EpisodeClient(created.mcp_url, hard.client.http)
    assert await agent.list_tools() == created.tools
    assert {t.name for t in created.tools} == {"look", "load", "shine", "sing"}
    for name in ("look", "shine", "sing", "look", "look", "look", "look", "look"):
        await agent.call(name, {})
    record = await hard.client.record(created.id)
    assert record.state.failures.rate == 0.2
    assert sum(record.state.failures.kinds.values()) == pytest.approx(1)
    assert [t.shown for t in record.tools] == [t.name for t in created.tools]
    assert {t.shown: t.band for t in record.tools if t.distractor} == {
        "shine": "high",
        "sing": None,
    }
    assert record.distractors is not None
    assert (record.distractors.mode, record.distractors.k) == ("banded", 3)
    assert record.distractors.shortfall == {"low": 2}
    assert record.emulators == {"ships": EmulatorKind.OFFLINE, "birds": EmulatorKind.OFFLINE}
    assert [c.is_distractor for c in record.calls[:4]] == [False, True, True, False]
    assert [c.emulator for c in record.calls[:3]] == [
        EmulatorKind.OFFLINE,
        None,
        EmulatorKind.OFFLINE,
    ]


async def test_an_agent_reads_nothing_of_it(hard: Hard, sdk: Callable[..., Any], era: str) -> None:
    created = await hard.client.create_episode(asking(failures={"rate": 0.5}))
    client: Client
    async with sdk(created.mcp_url, era) as client:
        with pytest.raises(MCPError, match="Method not found"):
            await client.list_resources()
        listed = await client.list_tools()
        answers = [await client.call_tool(t.name, {}) for t in listed.tools for _ in range(20)]
    for shown in listed.tools:
        told = shown.model_dump(exclude_none=True)
        assert set(told) <= {"name", "description", "input_schema"}
        assert told["description"] == f"The tool {shown.name}."
    failed = [a for a in answers if a.is_error]
    assert 20 < len(failed) < 60
    for answer in answers:
        assert not {"dev.astra-mcp/emulator"} & set(answer.meta or {})
        text = answer.model_dump_json()
        assert not any(word in text for word in ("injected", "distractor", "lamps", "birds"))
    calls = (await hard.client.record(created.id)).calls
    assert [c.origin is Origin.INJECTED for c in calls] == [a.is_error for a in answers]
    reached = sum(sum(s.reached.values()) for s in hard.servers.values())
    assert reached == len(answers) - len(failed)


async def test_failures_on_purpose_are_counted_for_monitoring(hard: Hard) -> None:
    created = await hard.client.create_episode(
        asking(failures={"rate": 1, "kinds": {"unreachable": 1}})
    )
    agent = EpisodeClient(created.mcp_url, hard.client.http)
    for _ in range(3):
        assert (await agent.call("look", {})).is_error
    samples = samples_of(await hard.client.metrics())
    counted = {key: n for key, n in samples.items() if "injected_failures_total" in key[0]}
    assert counted == {("astra_mcp_injected_failures_total", FailureKind.UNREACHABLE): 3}


async def test_a_batch_may_ask_for_different_things(hard: Hard) -> None:
    first, second = await hard.client.create_episodes(
        [asking(failures={"rate": 1, "delay": False}), asking(distractors=None)]
    )
    assert (len(first.tools), [t.name for t in second.tools]) == (4, ["look", "load"])
    assert (await hard.client.episode(first.id)).failures.rate == 1


@pytest.mark.system
async def test_the_options_of_serve_reach_every_worker(
    start_serve: Callable[..., Any], tmp_path: Path
) -> None:
    process = start_serve(
        tmp_path / "home", "--workers", "2", "--failure-rate", "1", "--failure-scope", "all"
    )
    source = {"kind": "environment", "name": "drone-show-winds"}
    async with GatewayClient(process.url, process.key) as client:
        usual = EpisodeRequest.model_validate({"source": source})
        gold = EpisodeRequest.model_validate({"source": source, "failures": {"rate": 0}})
        created = await client.create_episodes([usual, usual, gold, gold])
        rates = [(await client.episode(c.id)).failures.rate for c in created]
        assert rates == [1, 1, 0, 0]
        agent = EpisodeClient(created[0].mcp_url, client.http)
        assert (await agent.call(created[0].tools[0].name, {})).is_error
        (call,) = (await client.record(created[0].id)).calls
        assert call.origin is Origin.INJECTED
