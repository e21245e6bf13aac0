"""Qwen-Agent's loop and our own, at one scripted endpoint: the same calls, the same trajectories."""

import importlib.util
import json
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from astra_mcp.errors import ModelError
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import open_model
from astra_mcp.llm.usage import metered
from astra_mcp.schemas import compile_validator
from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.trajectory import (
    AssistantMessage,
    StopReason,
    ToolMessage,
    Trajectory,
    UserMessage,
    trajectory_schema,
)
from astra_mcp.types import JsonValue, ToolResult
from gateway.api.wire import SourceEnvironment
from training.rollout.agent import Agent
from training.rollout.agents.model_agent import ModelAgent
from training.rollout.episode import TIME_IS_OVER, LiveEpisode
from training.rollout.limits import LimitReachedError, PlayLimits
from training.rollout.plan import Rollout
from training.rollout.run import run_rollout
from training.rollout.settings import RolloutSettings
from training.rollout.users.user import Spoken, UserStop

from command_line import Cli
from completions_server import CompletionsServer, Entry, asks, refuses, says
from emulated_tasks import make_tasks
from in_memory_tools import CITY, InMemoryTools, spec
from qwen_agent_runs import install_qwen_agent
from small_gateway import NAME, open_small_gateway
from trajectory_model import answer

pytestmark = [
    pytest.mark.foreign,
    pytest.mark.timeout(600),  # the first run installs it
    # What it imports warns of its own age.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def beside_the_product() -> Generator[None]:
    """Let Qwen-Agent be found: in this environment, or in the one that tests install it into."""
    if importlib.util.find_spec("qwen_agent") is not None:
        yield
        return
    (packages,) = (install_qwen_agent().parents[1] / "lib").glob("*/site-packages")
    sys.path.append(str(packages))
    yield
    sys.path.remove(str(packages))


OWN = ("agent", "created_at", "episode_id")
"""What is each run's own."""
SHIP = spec("ship", {"name": {"type": "string"}, "deck": {"type": ["integer", "null"]}}, ["name"])
EPISODES: Mapping[str, Sequence[Entry]] = {
    "an answer at once": [says("It rains.")],
    "thoughts in the content": [
        asks(("a", "weather", {"city": "Oslo"}), content="<think>Oslo?</think>I look."),
        says("<think>It rains.</think>Take an umbrella."),
    ],
    "thoughts that the endpoint keeps apart": [
        asks(("a", "weather", {"city": "奥斯陆"})).model_copy(
            update={"reasoning_content": "先查。"}
        ),
        says("下雨。", reasoning_content="好。"),
    ],
    "calls at once, and ids that are repeated or empty": [
        asks(("a", "weather", {"city": "Oslo"}), ("a", "ship", {"name": "Alma", "deck": None})),
        asks(("", "weather", {"city": "Rome"}), ("a", "weather", {"city": "Bern"})),
        says("Done."),
    ],
    "a tool that there is not, and arguments that are none": [
        asks(("a", "fly", {}), ("b", "weather", '{"city": '), ("c", "weather", "[1]")),
        asks(("d", "weather", {"city": "Oslo"})),
        says("Done."),
    ],
    "no words": [asks(("a", "weather", {"city": "Oslo"})), says(None)],
    "an answer that was cut": [says("It rai", finish_reason="length")],
}


@asynccontextmanager
async def agents(completions: CompletionsServer) -> AsyncGenerator[tuple[Agent, Agent]]:
    """Our own and Qwen-Agent's, of one model."""
    from training.rollout.agents.qwen_agent import QwenAgent  # noqa: PLC0415 - an extra

    async with open_model(Role.AGENT, completions.config()) as chat:
        yield ModelAgent("scripted", chat), QwenAgent("scripted", chat)


def opened(tools: InMemoryTools) -> LiveEpisode:
    return LiveEpisode(
        environment=None,
        seed=0,
        prompt="Will it rain?",
        system_prompt="Be brief.",
        tools=(CITY, SHIP),
        caller=tools,
    )


@pytest.mark.claim("P70")
@pytest.mark.parametrize("script", EPISODES.values(), ids=EPISODES)
async def test_both_loops_make_the_same_calls_and_leave_the_same_messages(
    completions: CompletionsServer, script: Sequence[Entry]
) -> None:
    played: list[tuple[object, ...]] = []
    async with agents(completions) as both:
        for agent in both:
            completions.requests.clear()
            completions.script.extend(script)
            tools = InMemoryTools()
            episode = opened(tools)
            with metered() as meter:
                stop = await agent.play(episode)
            asked = [(body["messages"], body.get("tools")) for body in completions.requests]
            notes, usage = episode.notes, meter.usage.calls
            played.append((stop, tools.received, episode.messages, notes, asked, usage))

    own, foreign = played
    assert foreign[:4] == own[:4]
    assert foreign[4] == own[4]
    assert foreign[5] == own[5] == len(script)


async def test_trajectories_of_both_differ_in_the_agent_s_name_alone(
    completions: CompletionsServer, tmp_path: Path
) -> None:
    look, fly = ("a", "look", "{}"), ("b", "fly", "{")
    source = SourceEnvironment(kind="environment", name=NAME)
    rollouts = [Rollout(source=source, version="v1", root_seed=7, index=n) for n in range(3)]
    told: list[list[dict[str, Any]]] = []
    async with open_small_gateway(tmp_path / "home") as gateway, agents(completions) as both:
        for agent in both:
            lines: list[dict[str, Any]] = []
            for rollout in rollouts:
                completions.script.extend([asks(look, fly), asks(look), says("300 tons.")])
                played = await run_rollout(
                    gateway.client, agent, rollout, limits=RolloutSettings().limits
                )
                line = {**played.as_line()}
                assert Trajectory.from_line(line) == played
                lines.append(
                    {k: v for k, v in line.items() if k not in ("episode_id", "created_at")}
                )
            told.append(lines)

    own, foreign = told
    assert {line.pop("agent") for line in own} == {'{"name":"model","model":"scripted"}'}
    assert {line.pop("agent") for line in foreign} == {'{"name":"qwen-agent","model":"scripted"}'}
    assert own == foreign
    assert json.loads(own[0]["reward"])["recall"] == 1.0


@pytest.mark.claim("P70")
def test_both_loops_play_twenty_tasks_alike(endpoint: CompletionsServer, tmp_path: Path) -> None:
    endpoint.always = lambda body: answer(body["messages"], body["tools"])
    home = tmp_path / "home"
    home.mkdir()
    ids = anyio.run(partial(make_tasks, home, 20, servers=5))
    schema = compile_validator(trajectory_schema())
    told: list[list[dict[str, Any]]] = []
    for name, agent in (("small", "model"), ("qwen-agent:small", "qwen-agent")):
        file = tmp_path / f"{len(told)}.jsonl"
        model = ("--agent", name, "--base-url", endpoint.base_url, "--failure-rate", "0.2")
        done = Cli(home).run("rollout", *model, "--tasks", "all", "--out", str(file), "--json")
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert {json.loads(line["agent"])["name"] for line in lines} == {agent}
        assert all(schema.is_valid(line) for line in lines)
        told.append([{k: v for k, v in line.items() if k not in OWN} for line in lines])

    own, foreign = told
    assert [json.loads(line["source"])["id"] for line in own] == ids
    assert {line["status"] for line in own} == {"closed"}
    origins = {note["origin"] for line in own for note in json.loads(line["calls"])}
    assert origins == {"tool", "injected"}
    assert foreign == own


def test_the_command_lets_it_play(endpoint: CompletionsServer, tmp_path: Path) -> None:
    endpoint.script.extend([asks(("a", "look", "{}")), says("300 tons.")])
    file = tmp_path / "t.jsonl"
    opening = open_small_gateway(tmp_path / "gateway")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as gateway:
        model = ("--agent", "qwen-agent:small", "--base-url", endpoint.base_url)
        where = ("--gateway", gateway.url, "--out", str(file), "--json")
        key = {"ASTRA_MCP_CONTROL_KEY": CONTROL_KEY}
        done = Cli(tmp_path / "home").run("rollout", *model, NAME, *where, **key)

    assert done.returncode == 0, done.stderr
    assert (done.told["agent"], done.told["model"]) == ("qwen-agent", "small")
    (episode,) = done.told["episodes"]
    assert (episode["stop"], episode["recall"], episode["usage"]["calls"]) == ("answer", 1.0, 2)
    assert endpoint.requests[0]["model"] == "small"


class TwoTurnUser:
    """Says two things, and is done."""

    name, model, persona = "scripted", None, None

    async def next(self, messages: Sequence[Spoken]) -> str | UserStop:
        """Say the next one."""
        said = sum(isinstance(m, UserMessage) for m in messages)
        return ["Will it rain?", "And in Rome?"][said] if said < 2 else UserStop(reason="all said")


async def test_the_loop_goes_on_with_what_the_user_says(completions: CompletionsServer) -> None:
    script = [
        asks(("a", "weather", {"city": "Oslo"})),
        says("It rains."),
        asks(("a", "weather", {"city": "Rome"})),
        says("There, too."),
    ]
    played: list[object] = []
    async with agents(completions) as both:
        for agent in both:
            completions.script.extend(script)
            tools = InMemoryTools()
            episode = tools.open_episode(CITY, user=TwoTurnUser())
            await episode.begin()
            assert await agent.play(episode) is StopReason.ANSWER
            played.append((episode.messages, tools.received, completions.requests[-1]["messages"]))
    assert played[0] == played[1]


async def test_a_limit_and_a_model_that_fails_end_the_loop_with_its_thread(
    completions: CompletionsServer,
) -> None:
    async with agents(completions) as (_, agent):
        completions.always = lambda _: asks(("a", "weather", {"city": "Oslo"}))
        bounded = InMemoryTools().open_episode(CITY)
        with pytest.raises(LimitReachedError), bounded.bounded(PlayLimits(turns=3)):
            await agent.play(bounded)
        assert sum(isinstance(m, ToolMessage) for m in bounded.messages) == 3

        completions.always = lambda _: refuses(400)
        failing = InMemoryTools().open_episode(CITY)
        with pytest.raises(ModelError, match="400"):
            await agent.play(failing)
        assert [m.role for m in failing.messages] == ["user"]


@pytest.mark.parametrize("is_model", [True, False])
async def test_time_that_is_over_ends_the_loop_where_it_waits(
    completions: CompletionsServer, is_model: bool
) -> None:
    async def hang(_: Mapping[str, JsonValue]) -> ToolResult:
        await anyio.sleep_forever()
        raise AssertionError

    completions.script.append(asks(("a", "weather", {"city": "Oslo"})))
    if is_model:
        completions.later = completions.hang
    async with agents(completions) as (_, agent):
        episode = InMemoryTools({"weather": hang}).open_episode(CITY)
        limits = PlayLimits(seconds=0.3)
        with anyio.fail_after(60), suppress(LimitReachedError), episode.bounded(limits):
            await agent.play(episode)
    assert episode.reached is StopReason.TIME
    roles = [m.role for m in episode.messages]
    assert roles == (["user"] if is_model else ["user", "assistant", "tool"])
    assert is_model or episode.messages[-1].content == TIME_IS_OVER


async def test_a_run_that_is_cancelled_ends_the_thread_too(completions: CompletionsServer) -> None:
    started = anyio.Event()

    async def hang(_: Mapping[str, JsonValue]) -> ToolResult:
        started.set()
        await anyio.sleep_forever()
        raise AssertionError

    completions.script.append(asks(("a", "weather", {"city": "Oslo"})))
    async with agents(completions) as (_, agent):
        episode = InMemoryTools({"weather": hang}).open_episode(CITY)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(agent.play, episode)
                await started.wait()
                group.cancel_scope.cancel()
    assert isinstance(episode.messages[-1], AssistantMessage)
