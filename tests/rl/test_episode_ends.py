"""How an episode of a policy ends: at its limits, when all is solved, and when it cannot be shown."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question, open_test_gateway
from astra_mcp.trajectory import Message, RolloutBoundary, StopReason, ToolMessage
from astra_mcp.types import JobItem, ServerKind
from gateway.api.client import GatewayClient
from gateway.api.wire import EpisodeState
from training.evaluation.figures import figures_of
from training.render import Rendered, Renderer, RenderError
from training.rl.core.playing import PolicyTrajectory, play_policy
from training.rl.core.policy import PolicyLimits

from policy_episodes import play, rollouts, turns
from scripted_policy import END, CharacterTokenizer, ScriptedPolicy, call, tiny_renderer

QUAY = "quay"


def look() -> str:
    """Solve the first sub-task."""
    return "a ship of 300 tons"


def race() -> str:
    """Solve the second one."""
    return "it makes 12 knots"


def loose() -> str:
    """Fail."""
    raise ValueError("the rope is wet")


class TwoSubTasks(InMemoryCatalog):
    """Its environment asks for two things."""

    def job(self, environment: str, question: str | None = None) -> tuple[JobItem, ...]:
        """Give both."""
        self.question(environment, question)
        asked = ((1, "300 tons", "look"), (2, "12 knots", "race"))
        return tuple(JobItem(id=id, answer=answer, tools=(tool,)) for id, answer, tool in asked)


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncGenerator[GatewayClient]:
    server = InMemoryServer(QUAY, look, race, loose, kind=ServerKind.ENVIRONMENT)
    asked = Question("How heavy and fast is the ship?", "300 tons", gold=[("look", {})])
    async with open_test_gateway(TwoSubTasks(server, questions={QUAY: asked}), tmp_path) as opened:
        yield opened.control


async def play_one(
    gateway: GatewayClient, policy: ScriptedPolicy, **options: Any
) -> PolicyTrajectory:
    (played,) = await play(gateway, policy, rollouts(1, QUAY), **options)
    return played


def test_by_default_an_episode_has_the_limits_of_the_paper() -> None:
    limits = PolicyLimits()
    assert (limits.prompt_tokens, limits.response_tokens) == (25_600, 49_152)
    assert (limits.turns, limits.user_turns) == (32, 32)
    assert limits.context_tokens == 25_600 + 49_152
    assert (limits.of_play.turns, limits.of_play.user_turns) == (32, 32)


@pytest.mark.parametrize("margin", [-1, 0])
async def test_a_prompt_beyond_its_limit_is_attributed_and_is_no_reward_of_zero(
    gateway: GatewayClient, margin: int
) -> None:
    script = turns(f"300 tons.{END}")
    shown = (await play_one(gateway, ScriptedPolicy(script))).num_prompt
    policy = ScriptedPolicy(script, PolicyLimits(prompt_tokens=shown + margin))
    played = await play_one(gateway, policy)
    if margin == 0:
        assert (played.trajectory.stop, played.reward) == (StopReason.ANSWER, 0.0)
        return
    failure = played.trajectory.failure
    assert failure is not None
    assert failure.boundary is RolloutBoundary.AGENT
    assert failure.message == f"the prompt has {shown} tokens, and may have {shown - 1}"
    assert (played.reward, policy.batches) == (None, [])
    assert figures_of([played]).no_room == 1


@pytest.mark.parametrize(("margin", "num_turns"), [(-1, 2), (0, 3)])
async def test_a_response_ends_where_a_further_turn_might_go_beyond_its_limit(
    gateway: GatewayClient, margin: int, num_turns: int
) -> None:
    again = call("look")
    longest = len(CharacterTokenizer().encode(again))
    usual = await play_one(gateway, ScriptedPolicy(lambda _: again, PolicyLimits(turns=3)))
    assert usual.turns[-1].end == len(usual.ids)
    room = len(usual.ids) - usual.num_prompt + margin
    limits = PolicyLimits(response_tokens=room, turn_tokens=longest)
    played = await play_one(gateway, ScriptedPolicy(lambda _: again, limits))
    assert (played.trajectory.stop, len(played.turns)) == (StopReason.TOKENS, num_turns)
    assert played.reward == pytest.approx(2 * 0.5 / num_turns / (0.5 + 1 / num_turns), abs=1e-5)


async def test_what_no_turn_follows_is_in_the_trajectory_and_not_in_the_tokens(
    gateway: GatewayClient,
) -> None:
    limits = PolicyLimits(response_tokens=150, turn_tokens=100)
    played = await play_one(gateway, ScriptedPolicy(lambda _: call("look"), limits))
    assert isinstance(played.trajectory.messages[-1], ToolMessage)
    assert len(played.ids) - played.num_prompt <= 150
    assert played.turns[-1].end == len(played.ids)


async def test_an_episode_ends_when_all_is_solved_where_that_is_asked_for(
    gateway: GatewayClient,
) -> None:
    script = turns(call("look"), call("look"), call("race"), f"300 tons, 12 knots.{END}")
    usual = await play_one(gateway, ScriptedPolicy(script))
    assert (usual.trajectory.stop, len(usual.turns)) == (StopReason.ANSWER, 4)
    assert usual.solved_by_turn == (1, 0, 1, 0)
    ended = await play_one(gateway, ScriptedPolicy(script, PolicyLimits(end_when_solved=True)))
    assert (ended.trajectory.stop, len(ended.turns)) == (StopReason.SOLVED, 3)
    assert ended.solved_by_turn == (1, 0, 1)
    assert ended.reward == usual.reward == pytest.approx(0.8, abs=1e-5)
    assert ended.ids == usual.ids[: len(ended.ids)]
    figures = figures_of([usual, ended])
    assert (figures.solved, figures.solved_per_turn) == (2.0, pytest.approx(4 / 7))
    assert figures.stops == {"answer": 1, "solved": 1}
    assert figures.response_tokens == sum(len(p.ids) - p.num_prompt for p in (usual, ended)) / 2


async def test_whether_all_is_solved_is_asked_of_the_record_after_results_alone(
    gateway: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    state = gateway.episode

    async def episode(id: Any) -> EpisodeState:
        asked.append(id)
        return await state(id)

    monkeypatch.setattr(gateway, "episode", episode)
    limits = PolicyLimits(end_when_solved=True)
    both = call("look")[: -len(END)] + call("race")
    policy = ScriptedPolicy(turns(call("fly"), call("loose"), call("look"), both), limits)
    played = await play_one(gateway, policy)
    assert played.solved_by_turn == (0, 0, 1, 1)
    assert (played.trajectory.stop, len(asked)) == (StopReason.SOLVED, 2)


class ForgetfulRenderer(Renderer):
    """Cannot show what the rope says, as a template may refuse what a result spells."""

    def shown_after(self, messages: Sequence[Message], new: Sequence[Message]) -> Rendered:
        """Refuse it."""
        if any("rope" in (message.content or "") for message in new):
            raise RenderError("the chat template looks for a rope")
        return super().shown_after(messages, new)


async def test_an_episode_that_cannot_be_shown_fails_alone(gateway: GatewayClient) -> None:
    def script(context: str) -> str:
        # The first player of the first batch pulls the rope.
        pulls = len(policy.batches) == 1 and policy.batches[0].index(context) == 0 and not done
        done.append(context)
        return call("loose") if pulls else turns(call("look"), f"300 tons.{END}")(context)

    done: list[str] = []
    policy = ScriptedPolicy(script)
    usual = tiny_renderer()
    renderer = ForgetfulRenderer.__new__(ForgetfulRenderer)
    renderer.__dict__.update(usual.__dict__)
    failed, played = await play_policy(
        gateway,
        policy,
        renderer,
        CharacterTokenizer(),
        rollouts(2, QUAY),
        temperature=1.0,
        concurrency=2,
    )
    failure = failed.trajectory.failure
    assert failure is not None
    assert (failed.reward, failure.boundary) == (None, RolloutBoundary.AGENT)
    assert "cannot be shown to the policy: the chat template looks for a rope" in failure.message
    assert played.reward is not None
    assert played.reward > 0
    assert figures_of([failed, played]).metrics("")["failed/agent"] == 1.0


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
async def test_a_temperature_that_is_none_is_refused_before_anything_is_opened(
    gateway: GatewayClient, temperature: float
) -> None:
    with pytest.raises(ValueError, match="a finite number from 0"):
        await play_one(gateway, ScriptedPolicy(turns(END)), temperature=temperature)
