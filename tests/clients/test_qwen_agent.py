"""Unmodified Qwen-Agent reaches environments through the gateway, with a model that knows the gold."""

import json
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.responses import Response

from astra_mcp.answers import contains_answer
from astra_mcp.environments.loading import load_bundle
from astra_mcp.types import ToolResult
from gateway.client import GatewayClient
from gateway.keys import read_control_key
from gateway.protocol import EpisodeRequest, EpisodeStatus, GoldCall, SourceEnvironment
from servers.bundled import bundled_folder

from completions_server import Body, CompletionsServer, open_completions_server, streams
from installed_programs import python_of

ASTRA_MCP = (sys.executable, "-P", "-m", "astra_mcp")
PROGRAM = Path(__file__).with_name("qwen_agent_program.py")
VERSION = "0.0.34"
REQUIREMENTS = (
    f"qwen-agent[mcp]=={VERSION}",
    "mcp==1.30.0",  # later majors lack what Qwen-Agent imports
    # Imported by Qwen-Agent, and not declared.
    "numpy",
    "soundfile",
    "tqdm",
    "python-dateutil",
)
DEADLINE_SECONDS = 90
PREFIX = "astra-mcp-"
"""Qwen-Agent calls a tool by the name of its server, a hyphen, and its own name."""
LAST_WORDS = "That is all I needed."

pytestmark = pytest.mark.timeout(400)  # the first run installs Qwen-Agent


@dataclass
class Oracle:
    """A model that makes the gold calls one by one, each after it has seen the last one's result."""

    gold: Sequence[GoldCall]
    is_raw: bool
    """Answer with calls of the API; else in text, as Qwen-Agent's own prompt tells the model to."""
    prefix: str = PREFIX
    made: int = 0
    seen: list[str] = field(default_factory=list[str])
    """What the requests held as results, newest request last."""

    def answer(self, body: Body) -> Response:
        """Make the next call, or say the last words."""
        self.seen = _results(body)
        assert len(self.seen) == self.made
        if self.made == len(self.gold):
            return streams(LAST_WORDS)
        call = self.gold[self.made]
        name = self.prefix + call.tool
        assert name in _offered(body)
        self.made += 1
        if self.is_raw:
            return streams(None, (f"call_{self.made}", name, call.arguments))
        asked = json.dumps({"name": name, "arguments": call.arguments}, ensure_ascii=False)
        return streams(f"<tool_call>\n{asked}\n</tool_call>")


@pytest.fixture(scope="session")
def qwen_agent() -> Path:
    """The interpreter that has Qwen-Agent."""
    return python_of(f"qwen-agent-{VERSION}", *REQUIREMENTS)


@pytest.fixture
async def completions(anyio_backend: str) -> AsyncGenerator[CompletionsServer]:
    """The endpoint of the agent's model."""
    async with open_completions_server() as server:
        yield server


@pytest.fixture
async def gateway(gateway_url: str, tmp_path: Path) -> AsyncGenerator[GatewayClient]:
    """The control plane of the gateway with everything that is bundled."""
    async with GatewayClient(gateway_url, read_control_key(tmp_path / "served")) as client:
        yield client


async def run_agent(
    qwen_agent: Path,
    completions: CompletionsServer,
    oracle: Oracle,
    question: str,
    connected: Sequence[str],
) -> dict[str, Any]:
    """Run the Assistant on what ``astra-mcp connect qwen-agent`` answers, in a process of its own."""
    completions.always = oracle.answer
    connect = [*ASTRA_MCP, "connect", "qwen-agent", *connected, "--json"]
    answer = await anyio.run_process(connect)
    model = {
        "model": "scripted",
        "model_type": "oai",
        "model_server": completions.base_url,
        "api_key": "none",
        "generate_cfg": {"use_raw_api": oracle.is_raw, "max_retries": 0},
    }
    task = {"tools": [json.loads(answer.stdout)["config"]], "model": model, "question": question}
    with anyio.fail_after(DEADLINE_SECONDS):
        done = await anyio.run_process(
            [str(qwen_agent), str(PROGRAM)],
            input=json.dumps(task).encode(),
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout.decode().splitlines()[-1])


@pytest.mark.parametrize(
    ("environment", "is_raw"),
    [
        ("drone-show-winds", False),
        ("suzhou-resale-home-purchase", False),
        ("hospital-appointments-linjiang", True),
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
    said = await run_agent(
        qwen_agent, completions, oracle, episode.prompt, ("--url", episode.mcp_url)
    )
    record = await gateway.record(episode.id)
    state = await gateway.close_episode(episode.id)
    assert said["messages"][-1]["content"] == LAST_WORDS
    assert said["tools"] == [PREFIX + tool.name for tool in episode.tools]
    assert [(c.tool, c.arguments) for c in record.calls] == [(g.tool, g.arguments) for g in gold]
    assert oracle.seen == [_text(c.result) for c in record.calls]
    assert state.status is EpisodeStatus.CLOSED
    assert state.reward is not None
    assert state.reward.reward >= 0.999


async def test_qwen_agent_solves_the_same_without_an_episode(
    qwen_agent: Path, completions: CompletionsServer, gateway: GatewayClient, gateway_url: str
) -> None:
    environment = "port-omission-transfer"
    bundle = load_bundle(bundled_folder() / environment)
    gold = await gateway.gold(environment)
    oracle = Oracle(gold, is_raw=True, prefix=f"{environment}-")
    connected = ("--url", gateway_url, "--server", environment)
    said = await run_agent(qwen_agent, completions, oracle, bundle.document.question, connected)
    answers = {item.id: item.answer for item in bundle.job}
    solved = [answers[i] for call in gold for i in call.solves]
    assert said["messages"][-1]["content"] == LAST_WORDS
    assert set(solved) == set(answers.values())
    assert all(any(contains_answer(text, answer) for text in oracle.seen) for answer in solved)


def _offered(body: Body) -> list[str]:
    """Names of the tools that the model is told of: in the request, or in Qwen-Agent's own prompt."""
    if "tools" in body:
        return [tool["function"]["name"] for tool in body["tools"]]
    _, _, told = _text_of(body["messages"][0]).partition("\n<tools>\n")
    lines = told.partition("\n</tools>")[0].splitlines()
    return [json.loads(line)["function"]["name"] for line in lines]


def _results(body: Body) -> list[str]:
    """What the tools answered so far, as the model reads it."""
    own = [_text_of(m) for m in body["messages"] if m["role"] == "tool"]
    users = [_text_of(m) for m in body["messages"] if m["role"] == "user"]
    told = [
        part.partition("\n</tool_response>")[0]
        for text in users
        for part in text.split("<tool_response>\n")[1:]
    ]
    return own + told


def _text_of(message: dict[str, Any]) -> str:
    content: str | list[dict[str, str]] = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _text(result: ToolResult | None) -> str:
    """What Qwen-Agent keeps of a result."""
    assert result is not None
    return "\n\n".join(str(block["text"]) for block in result.content if block["type"] == "text")
