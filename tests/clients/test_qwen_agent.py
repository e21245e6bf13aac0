"""Unmodified Qwen-Agent reaches environments through the gateway, with a model that knows the gold."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astra_mcp.answers import contains_answer
from astra_mcp.call_record import EpisodeStatus
from astra_mcp.environments.loading import load_bundle
from astra_mcp.types import ToolResult
from gateway.api.client import GatewayClient
from gateway.api.wire import EpisodeRequest, SourceEnvironment
from gateway.edge.keys import read_control_key
from servers.bundled import bundled_folder

from completions_server import CompletionsServer
from qwen_agent_runs import LAST_WORDS, Oracle, install_qwen_agent, run_qwen_agent

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]  # the first run installs Qwen-Agent


@pytest.fixture(scope="session")
def qwen_agent() -> Path:
    """The interpreter that has Qwen-Agent."""
    return install_qwen_agent()


@pytest.fixture
async def gateway(gateway_url: str, tmp_path: Path) -> AsyncGenerator[GatewayClient]:
    """The control plane of the gateway with everything that is bundled."""
    async with GatewayClient(gateway_url, read_control_key(tmp_path / "served")) as client:
        yield client


@pytest.mark.parametrize(
    ("environment", "is_raw"),
    [
        ("suzhou-resale-home-purchase", False),
        ("drone-show-winds", True),
    ],
)
async def test_qwen_agent_completes_an_episode(
    environment: str,
    is_raw: bool,
    qwen_agent: Path,
    completions: CompletionsServer,
    gateway: GatewayClient,
) -> None:
    gold = await gateway.gold(environment)
    source = SourceEnvironment(kind="environment", name=environment)
    episode = await gateway.create_episode(EpisodeRequest(source=source))
    assert episode.prompt
    oracle = Oracle(gold, is_raw)
    said = await run_qwen_agent(
        qwen_agent, completions, oracle, episode.prompt, ("--url", episode.mcp_url)
    )
    record = await gateway.record(episode.id)
    state = await gateway.close_episode(episode.id)
    assert said["messages"][-1]["content"] == LAST_WORDS
    assert said["tools"] == [f"astra-mcp-{tool.name}" for tool in episode.tools]
    assert [(c.tool, c.arguments) for c in record.calls] == [(g.tool, g.arguments) for g in gold]
    assert oracle.seen == [_text(c.result) for c in record.calls]
    assert state.status is EpisodeStatus.CLOSED
    assert state.reward is not None
    assert state.reward.reward >= 0.999


@pytest.mark.smoke
async def test_qwen_agent_solves_the_same_without_an_episode(
    qwen_agent: Path, completions: CompletionsServer, gateway: GatewayClient, gateway_url: str
) -> None:
    environment = "port-omission-transfer"
    bundle = load_bundle(bundled_folder() / environment)
    gold = await gateway.gold(environment)
    oracle = Oracle(gold, is_raw=True, server=environment)
    connected = ("--url", gateway_url, "--server", environment)
    said = await run_qwen_agent(
        qwen_agent, completions, oracle, bundle.document.question, connected
    )
    answers = {item.id: item.answer for item in bundle.job}
    solved = [answers[i] for call in gold for i in call.solves]
    assert said["messages"][-1]["content"] == LAST_WORDS
    assert set(solved) == set(answers.values())
    assert all(any(contains_answer(text, answer) for text in oracle.seen) for answer in solved)


def _text(result: ToolResult | None) -> str:
    """What Qwen-Agent keeps of a result."""
    assert result is not None
    return "\n\n".join(str(block["text"]) for block in result.content if block["type"] == "text")
