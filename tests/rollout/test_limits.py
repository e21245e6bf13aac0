"""Limits of an episode: where an agent stops, and that what it leaves is whole."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.completions import Reply
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import open_model
from astra_mcp.llm.usage import Meter, Usage
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, open_test_gateway
from astra_mcp.trajectory import (
    AgentInfo,
    AssistantMessage,
    RolloutBoundary,
    StopReason,
    ToolMessage,
    Trajectory,
)
from astra_mcp.types import JsonValue, Origin, ToolResult
from gateway.api.client import CallRefusedError
from gateway.api.wire import SourceEnvironment, SourceServers, SourceTask
from training.rollout.agent import CallRequest, EpisodeView
from training.rollout.agents.model_agent import ModelAgent
from training.rollout.episode import TIME_IS_OVER
from training.rollout.limits import Allowance, LimitReachedError, PlayLimits, UntoldTokensError
from training.rollout.plan import Rollout
from training.rollout.run import run_rollout
from training.rollout.settings import RolloutSettings

from completions_server import Body, CompletionsServer, asks, sends
from in_memory_tools import CITY, InMemoryTools
from small_gateway import NAME, SmallGateway, open_small_gateway

HARBOUR = SourceEnvironment(kind="environment", name=NAME)
ROLLOUT = Rollout(source=HARBOUR, version="v1", root_seed=7, index=0)
LOOK = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.fixture
async def gateway(anyio_backend: str, tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    """The small gateway, on a socket."""
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


async def played(
    gateway: SmallGateway, completions: CompletionsServer, limits: PlayLimits
) -> Trajectory:
    """What a scripted model leaves, as it is read from a file again."""
    async with open_model(Role.AGENT, completions.config()) as chat:
        agent = ModelAgent("scripted", chat)
        trajectory = await run_rollout(gateway.client, agent, ROLLOUT, limits=limits)
    line = json.loads(json.dumps(trajectory.as_line()))
    assert Trajectory.from_line(line) == trajectory
    assert gateway.episodes.count_open() == 0
    return trajectory


def looking(**usage: int) -> Mapping[str, object]:
    """A turn with a call, and what the endpoint counts for it."""
    message = {"content": None, "tool_calls": [LOOK]}
    return {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}


def whole(trajectory: Trajectory) -> tuple[EpisodeStatus, StopReason, float | None, int]:
    """Its end, what it earned, and how many calls are answered."""
    return (
        trajectory.status,
        trajectory.stop,
        trajectory.reward and trajectory.reward.recall,
        len(trajectory.calls),
    )


@pytest.mark.claim("P71")
@pytest.mark.claim("P75")
@pytest.mark.parametrize(
    ("limits", "stop", "turns"),
    [
        (PlayLimits(turns=3), StopReason.TURNS, 3),
        (PlayLimits(completion_tokens=20), StopReason.TOKENS, 2),
        (PlayLimits(prompt_tokens=90), StopReason.TOKENS, 1),
        (PlayLimits(prompt_tokens=91, completion_tokens=31), StopReason.TOKENS, 4),
    ],
)
async def test_an_agent_stops_at_its_limit_with_every_call_answered_and_its_reward(
    gateway: SmallGateway,
    completions: CompletionsServer,
    limits: PlayLimits,
    stop: StopReason,
    turns: int,
) -> None:
    completions.always = lambda _: sends(looking(prompt_tokens=90, completion_tokens=10))

    trajectory = await played(gateway, completions, limits)

    assert whole(trajectory) == (EpisodeStatus.CLOSED, stop, 1.0, turns)
    assert len(completions.requests) == turns
    assert trajectory.failure is None


async def test_a_limit_of_tokens_is_not_kept_by_guessing(
    gateway: SmallGateway, completions: CompletionsServer
) -> None:
    completions.always = lambda _: sends(looking())

    trajectory = await played(gateway, completions, PlayLimits(completion_tokens=20))

    assert trajectory.failure is not None
    assert trajectory.failure.boundary is RolloutBoundary.MODEL
    assert "does not say how many tokens" in trajectory.failure.message
    assert len(trajectory.calls) == 1


async def test_calls_that_could_reach_no_tool_end_the_episode_only_in_a_row(
    gateway: SmallGateway, completions: CompletionsServer
) -> None:
    wrong, malformed, right = ("a", "fly", "{}"), ("b", "look", "{"), ("c", "look", "{}")
    completions.script.extend([asks(wrong, malformed, right), asks(malformed)])
    completions.always = lambda _: asks(wrong, right)

    trajectory = await played(gateway, completions, PlayLimits(invalid_calls=3, turns=9))
    assert whole(trajectory)[1:] == (StopReason.TURNS, 1.0, 18)

    completions.script.extend([asks(right), asks(wrong), asks(malformed), asks(wrong, right)])
    trajectory = await played(gateway, completions, PlayLimits(invalid_calls=3))
    assert whole(trajectory) == (EpisodeStatus.CLOSED, StopReason.INVALID_CALLS, 1.0, 5)


async def test_a_model_that_does_not_answer_in_time_leaves_what_was_played(
    gateway: SmallGateway, completions: CompletionsServer
) -> None:
    turns = iter([asks(("a", "look", "{}"))])

    async def later(body: Body) -> Reply:
        for turn in turns:
            return turn
        return await completions.hang(body)

    completions.later = later
    trajectory = await played(gateway, completions, PlayLimits(seconds=1))

    assert whole(trajectory) == (EpisodeStatus.CLOSED, StopReason.TIME, 1.0, 1)


async def test_a_call_under_way_when_time_is_over_is_answered_by_that_word() -> None:
    async def hang(_: Mapping[str, JsonValue]) -> ToolResult:
        await anyio.sleep_forever()
        raise AssertionError

    episode = InMemoryTools({"hang": hang}).open_episode(CITY)
    calls = [CallRequest.of("weather", {"city": "Oslo"}), CallRequest.of("hang", {})]
    with (
        anyio.fail_after(20),
        pytest.raises(LimitReachedError),
        episode.bounded(PlayLimits(seconds=0.1)),
    ):
        await episode.take_turn(calls)

    assert episode.reached is StopReason.TIME
    texts = [m.content for m in episode.messages if isinstance(m, ToolMessage)]
    assert texts == ['{"city": "Oslo"}', TIME_IS_OVER]
    assert [note.is_error for note in episode.notes] == [False, True]


class Stubborn:
    """Takes no limit for an answer."""

    info = AgentInfo(name="stubborn")
    tries = 0

    async def play(self, episode: EpisodeView) -> StopReason:
        """Go on all the same."""
        while self.tries < 9:
            self.tries += 1
            try:
                await episode.take_turn([CallRequest.of("look", {})])
            except LimitReachedError:
                continue
        return StopReason.ANSWER


async def test_an_agent_that_does_not_stop_plays_no_further_turn(gateway: SmallGateway) -> None:
    agent = Stubborn()

    trajectory = await run_rollout(gateway.client, agent, ROLLOUT, limits=PlayLimits(turns=2))

    assert agent.tries == 9
    assert whole(trajectory) == (EpisodeStatus.CLOSED, StopReason.TURNS, 1.0, 2)


async def test_what_is_said_and_thought_stand_apart_whoever_the_agent_is() -> None:
    episode = InMemoryTools().open_episode(CITY)

    await episode.take_turn(
        [CallRequest.of("weather", {"city": "Oslo"})], content="<think>Oslo?</think>"
    )
    episode.answer("It rains.<think>Or", reasoning="Well.")

    said = [m for m in episode.messages if isinstance(m, AssistantMessage)]
    assert [(m.content, m.reasoning_content) for m in said] == [
        (None, "Oslo?"),
        ("It rains.", "Well.\n\nOr"),
    ]


@given(turns=st.lists(st.lists(st.booleans(), max_size=4), max_size=8), limit=st.integers(1, 4))
async def test_the_streak_of_invalid_calls_is_counted_over_turns(
    turns: Sequence[Sequence[bool]], limit: int
) -> None:
    allowance = Allowance(PlayLimits(invalid_calls=limit))
    so_far: list[bool] = []
    for turn in turns:
        allowance.count_turn(turn)
        so_far += turn
        longest = max(map(len, "".join("x" if i else " " for i in so_far).split()), default=0)
        if longest >= limit:
            with pytest.raises(LimitReachedError) as reached:
                allowance.check()
            assert reached.value.stop is StopReason.INVALID_CALLS
            return
        allowance.check()


async def test_tokens_are_read_off_the_meter() -> None:
    meter = Meter()
    allowance = Allowance(PlayLimits(prompt_tokens=10), meter)
    for _ in range(5):
        meter.usage += Usage(calls=1, prompt_tokens=9)
        allowance.count_turn()
        allowance.check()
    meter.usage += Usage(calls=1, untold=1)
    with pytest.raises(UntoldTokensError):
        allowance.check()


@pytest.mark.claim("P72")
def test_agent_and_user_have_32_turns_at_most_by_the_settings() -> None:
    assert RolloutSettings().limits == PlayLimits(
        turns=32, seconds=240.0, invalid_calls=5, user_turns=8
    )
    assert RolloutSettings(max_user_turns=32).limits.user_turns == 32
    for name in ("max_turns", "max_user_turns"):
        with pytest.raises(ValueError, match="less than or equal to 32"):
            RolloutSettings.model_validate({name: 33})


async def test_a_refusal_for_the_place_of_a_call_is_no_invalid_call() -> None:
    async def refuse(_: Mapping[str, JsonValue]) -> ToolResult:
        raise CallRefusedError(-32602, "Unknown tool: fly")

    episode = InMemoryTools({"fly": refuse}).open_episode(CITY)
    with episode.bounded(PlayLimits(invalid_calls=1)), pytest.raises(LimitReachedError):
        await episode.take_turn([CallRequest.of("fly", {})])
    other = InMemoryTools().open_episode(CITY)
    with other.bounded(PlayLimits(invalid_calls=1)):
        await other.take_turn([CallRequest.of("fly", {})])


def test_a_task_is_a_source_with_a_seed_of_its_own() -> None:
    task = SourceTask(kind="task", id="task-0123456789abcdef")
    rollout = Rollout(source=task, root_seed=7, index=0)
    others = [
        Rollout(source=SourceEnvironment(kind="environment", name=name, question=q), root_seed=7, index=0)
        for name, q in (("task", task.id), (task.id, None))
    ]  # fmt: skip

    assert rollout.request.source == task
    assert (rollout.environment, rollout.question) == (None, None)
    assert rollout.source.model_dump() == {"kind": "task", "id": task.id}
    assert len({r.seed for r in (rollout, *others)}) == 3


async def test_a_call_that_is_cut_off_at_a_server_is_on_the_record_and_the_episode_is_closed(
    tmp_path: Path,
) -> None:
    is_stopped = anyio.Event()

    async def hang() -> str:
        """Answer when nobody waits any more."""
        await is_stopped.wait()
        return "300 tons"

    class Waits:
        info = AgentInfo(name="waits")

        async def play(self, episode: EpisodeView) -> StopReason:
            try:
                await episode.take_turn([CallRequest.of("hang", {})])
            finally:
                is_stopped.set()
            raise AssertionError

    catalog = InMemoryCatalog(InMemoryServer("quay", hang))
    source = SourceServers(kind="servers", names=("quay",), prompt="Wait.")
    async with open_test_gateway(catalog, tmp_path / "home") as gateway:
        with anyio.fail_after(60):
            rollout = Rollout(source=source, root_seed=7, index=0)
            trajectory = await run_rollout(
                gateway.control, Waits(), rollout, limits=PlayLimits(seconds=1)
            )
        assert gateway.episodes.count_open() == 0

    assert (trajectory.status, trajectory.stop) == (EpisodeStatus.CLOSED, StopReason.TIME)
    assert trajectory.messages[-1].content == TIME_IS_OVER
    notes = [(note.tool, note.origin, note.is_error) for note in trajectory.calls]
    assert notes == [("hang", Origin.TOOL, True)]
