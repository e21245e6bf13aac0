"""Chains behind a real gateway in this process: names, results, failures, and that episodes are closed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from astra_mcp.call_record import EpisodeId, EpisodeStatus
from astra_mcp.errors import (
    EpisodeEndedError,
    TransportError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.synthesis.trajectories.chain import ChainRunner, PlannedCall, ToolRef
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, RunningGateway, open_test_gateway
from gateway.api.client import GatewayClient
from training.rollout.chain_runner import GatewayChainRunner


def find(text: str) -> dict[str, list[dict[str, str]]]:
    """Find rows."""
    return {"rows": [{"id": f"R-{text}"}]}


def sink() -> str:
    """Fail the server."""
    raise UpstreamError("the harbour is flooded")


def refuse() -> str:
    """Say an error."""
    raise ValueError("no such row")


def dig() -> dict[str, object]:
    """Answer with what lies very deep."""
    deep: dict[str, object] = {}
    for _ in range(150):
        deep = {"in": deep}
    return deep


def count() -> str:
    """Count."""
    return "17"


@asynccontextmanager
async def opened(home: Path) -> AsyncGenerator[tuple[RunningGateway, ChainRunner]]:
    """A gateway over two servers that both have ``find``, and a runner on it."""
    first = InMemoryServer("first", find, sink, refuse, dig)
    second = InMemoryServer("second", find, count)
    async with open_test_gateway(InMemoryCatalog(first, second), home) as gateway:
        yield gateway, GatewayChainRunner(gateway.control, "r1")


def planned(server: str, tool: str, **arguments: str) -> PlannedCall:
    return PlannedCall(step=ToolRef(server=server, tool=tool), arguments={**arguments})


async def still_open(gateway: RunningGateway) -> list[EpisodeId]:
    return [state.id for state in await gateway.control.open_episodes()]


@pytest.mark.claim("P63")
async def test_calls_of_several_servers_reach_their_own_tools_and_tell_the_rest(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (gateway, runner):
        run = await runner.open(["first", "second"], seed=5)
        (episode,) = await still_open(gateway)
        record = await gateway.control.record(episode)
        one = await run.call(planned("first", "find", text="a"))
        two = await run.call(planned("second", "find", text="b"))
        three = await run.call(planned("second", "count"))
        await run.aclose()
        await run.aclose()
        calls = (await gateway.control.record(episode)).calls
        state = await gateway.control.episode(episode)
    assert {t.shown for t in record.tools} >= {"first__find", "second__find", "count"}
    assert [(c.server, c.tool) for c in calls] == [
        ("first", "find"), ("second", "find"), ("second", "count"),
    ]  # fmt: skip
    assert one.structured == {"rows": [{"id": "R-a"}]}
    assert (two.result, two.is_error) == ('{"rows": [{"id": "R-b"}]}', False)
    assert (three.result, three.structured) == ("17", None)
    assert state.status is EpisodeStatus.CLOSED


@pytest.mark.claim("P63")
async def test_nothing_fails_on_purpose_nothing_is_mixed_in_and_the_run_is_named(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (gateway, runner):
        run = await runner.open(["second"], seed=5)
        (episode,) = await still_open(gateway)
        state = await gateway.control.episode(episode)
        record = await gateway.control.record(episode)
        await run.aclose()
    assert state.failures.rate == 0
    assert (state.seed, state.labels) == (5, {"run": "r1", "purpose": "chain"})
    assert not any(tool.distractor for tool in record.tools)


@pytest.mark.claim("P63")
async def test_an_error_of_a_tool_is_its_result_and_one_of_a_server_raises(tmp_path: Path) -> None:
    async with opened(tmp_path) as (gateway, runner):
        run = await runner.open(["first"], seed=0)
        refused = await run.call(planned("first", "refuse"))
        assert (refused.is_error, refused.result) == (True, "no such row")
        with pytest.raises(UpstreamError, match="the harbour is flooded"):
            await run.call(planned("first", "sink"))
        with pytest.raises(UpstreamError, match="the harbour is flooded"):
            await run.call(planned("first", "find", text="a"))
        await run.aclose()
        assert await still_open(gateway) == []


async def test_a_result_that_cannot_be_kept_as_json_is_its_text_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, runner):
        run = await runner.open(["first"], seed=0)
        found = await run.call(planned("first", "dig"))
        await run.aclose()
    assert found.structured is None
    assert found.result.count("in") == 150


async def test_an_unknown_server_or_tool_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as (gateway, runner):
        with pytest.raises(UnknownNameError, match=r"'frist'.*did you mean first"):
            await runner.open(["frist"], seed=0)
        run = await runner.open(["first"], seed=0)
        with pytest.raises(UnknownNameError, match=r"tool of first .*'fnid'.*did you mean find"):
            await run.call(planned("first", "fnid"))
        await run.aclose()
        assert await still_open(gateway) == []


async def test_an_episode_that_was_closed_by_others_is_no_result(tmp_path: Path) -> None:
    async with opened(tmp_path) as (gateway, runner):
        run = await runner.open(["first"], seed=0)
        await gateway.control.close_episodes([*await still_open(gateway)])
        with pytest.raises(TransportError, match="ended before its last call") as raised:
            await run.call(planned("first", "find", text="a"))
        assert not isinstance(raised.value, EpisodeEndedError)
        await run.aclose()


async def test_a_gateway_that_is_not_there_is_named() -> None:
    async with GatewayClient("http://127.0.0.1:9", "key") as client:
        with pytest.raises(TransportError, match="no answer from the gateway"):
            await GatewayChainRunner(client, "r").open(["first"], seed=0)


def num_records(home: Path) -> int:
    return len([*home.glob("**/*.jsonl")])


class SlowServer(InMemoryServer):
    """It is prepared when a test lets it be."""

    def __init__(self) -> None:
        super().__init__("slow", count)
        self.began, self.may_end, self.is_ready = anyio.Event(), anyio.Event(), anyio.Event()

    async def prepare(self) -> None:
        """Wait."""
        self.began.set()
        await self.may_end.wait()
        self.is_ready.set()


@pytest.mark.claim("P63")
async def test_who_is_cancelled_while_an_episode_opens_leaves_none_behind(tmp_path: Path) -> None:
    slow = SlowServer()
    async with open_test_gateway(InMemoryCatalog(slow), tmp_path) as gateway:
        runner = GatewayChainRunner(gateway.control, "r1")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runner.open(["slow"], seed=0))
            await slow.began.wait()
            group.cancel_scope.cancel()
            slow.may_end.set()
        await slow.is_ready.wait()
        assert await still_open(gateway) == []
        assert num_records(tmp_path) == 1  # it was there, and is closed
