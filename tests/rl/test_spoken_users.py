"""Users who go on speaking to a policy: what they say is shown and masked, counted and bounded."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from astra_mcp.trajectory import RolloutBoundary, StopReason, UserEnd, UserMessage
from training.evaluation.evaluating import evaluate
from training.evaluation.figures import figures_of
from training.render import encode
from training.rl.core.policy import PolicyLimits

from policy_episodes import ScriptedUsers, play, rollouts, turns
from scripted_policy import END, CharacterTokenizer, ScriptedPolicy, call, tiny_renderer
from small_gateway import NAME, QUESTION, SmallGateway, open_small_gateway

SCRIPT = turns(call("look"), f"300 tons.{END}", f"A brig.{END}", f"Goodbye.{END}")


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path) as opened:
        yield opened


async def test_what_a_user_says_is_shown_and_masked_and_the_episode_goes_on(
    harbour: SmallGateway,
) -> None:
    users = ScriptedUsers("And what kind is it?", "Thank you.")
    (played,) = await play(harbour.client, ScriptedPolicy(SCRIPT), rollouts(1, NAME), users=users)
    trajectory = played.trajectory
    said = [m.content for m in trajectory.messages if isinstance(m, UserMessage)]
    assert said == [QUESTION.text, "And what kind is it?", "Thank you."]
    assert (trajectory.stop, len(played.turns)) == (StopReason.ANSWER, 4)
    assert trajectory.user is not None
    assert (trajectory.user.turns, trajectory.user.end) == (3, UserEnd.DONE)
    rendered = tiny_renderer().conversation(trajectory.messages, trajectory.tools)
    trained = encode(rendered, CharacterTokenizer())
    assert (played.ids, played.mask) == (trained.ids, trained.mask)
    written = CharacterTokenizer().decode(
        [id for id, is_own in zip(played.ids, played.mask, strict=True) if is_own]
    )
    assert "And what kind" not in written
    assert "A brig." in written
    assert figures_of([played]).user_turns == 3


async def test_without_a_user_an_episode_ends_when_the_policy_calls_no_tool(
    harbour: SmallGateway,
) -> None:
    (played,) = await play(harbour.client, ScriptedPolicy(SCRIPT), rollouts(1, NAME))
    assert (played.trajectory.stop, len(played.turns)) == (StopReason.ANSWER, 2)
    assert figures_of([played]).user_turns == 1


async def test_a_user_who_never_ends_has_so_many_turns_and_the_episode_its_reward(
    harbour: SmallGateway,
) -> None:
    users = ScriptedUsers(*["And then?"] * 40)
    policy = ScriptedPolicy(lambda context: call("look") if "tons" not in context else f"So.{END}")
    (played,) = await play(harbour.client, policy, rollouts(1, NAME), users=users)
    assert (played.trajectory.stop, len(played.turns)) == (StopReason.TURNS, 32)
    limits = PolicyLimits(user_turns=3)
    (bounded,) = await play(harbour.client, policy, rollouts(1, NAME), users=users, limits=limits)
    assert bounded.trajectory.stop is StopReason.USER_TURNS
    assert figures_of([bounded]).user_turns == 3
    assert bounded.reward == pytest.approx(1.0, abs=1e-5)


async def test_a_user_that_fails_is_attributed_and_is_no_reward(harbour: SmallGateway) -> None:
    users = ScriptedUsers(fails=True)
    played = await play(harbour.client, ScriptedPolicy(SCRIPT), rollouts(2, NAME), users=users)
    failures = [one.trajectory.failure for one in played]
    assert [f and f.boundary for f in failures] == [RolloutBoundary.USER] * 2
    assert [one.reward for one in played] == [None, None]
    assert figures_of(played).metrics("")["failed/user"] == 2.0


async def test_a_user_follows_from_the_seed_of_the_episode_and_its_sample(
    harbour: SmallGateway,
) -> None:
    (one,) = rollouts(1, NAME)
    group = [one, replace(one, sample=1)]
    seeds: list[list[int]] = []
    for _ in range(2):
        users = ScriptedUsers()
        await play(harbour.client, ScriptedPolicy(SCRIPT), group, users=users)
        seeds.append(sorted(seed for _, seed in users.met))
    assert seeds[0] == seeds[1] == sorted(each.agent_seed for each in group)
    assert len({*seeds[0]}) == 2


async def test_an_evaluation_lets_users_speak_too(harbour: SmallGateway) -> None:
    found = await evaluate(
        harbour.client,
        ScriptedPolicy(SCRIPT),
        tiny_renderer(),
        CharacterTokenizer(),
        [(rollouts(1, NAME)[0].source, None)],
        samples=1,
        root_seed=1,
        users=ScriptedUsers("And what kind is it?"),
    )
    assert found.metrics()["greedy/user_turns"] == found.metrics()["sampled/user_turns"] == 2.0
