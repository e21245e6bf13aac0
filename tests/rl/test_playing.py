"""A policy of tokens plays through a gateway: what it wrote is kept as it is, and what fails is no reward."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.trajectory import StopReason, ToolMessage
from astra_mcp.types import Origin
from training.render import encode
from training.rl.core.playing import PolicyTrajectory
from training.rl.core.policy import PolicyLimits, Sampled
from training.rollout.agent import UNREADABLE

from policy_episodes import play, rollouts, turns
from scripted_policy import (
    END,
    OTHER_SPELLING,
    CharacterTokenizer,
    ScriptedPolicy,
    call,
    tiny_renderer,
)
from small_gateway import NAME, SmallGateway, open_small_gateway

RENDERER, TOKENIZER = tiny_renderer(), CharacterTokenizer()
SOLVED = f"300 tons.{END}"


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path) as opened:
        yield opened


async def play_one(harbour: SmallGateway, policy: ScriptedPolicy) -> PolicyTrajectory:
    (played,) = await play(harbour.client, policy, rollouts(1, NAME))
    return played


async def test_its_tokens_are_those_that_training_makes_of_its_trajectory(
    harbour: SmallGateway,
) -> None:
    played = await play_one(harbour, ScriptedPolicy(turns(call("look"), SOLVED)))
    trajectory = played.trajectory
    assert played.reward == pytest.approx(1.0, abs=1e-5)
    trained = encode(RENDERER.conversation(trajectory.messages, trajectory.tools), TOKENIZER)
    assert (played.ids, played.mask) == (trained.ids, trained.mask)
    written = [played.ids[turn.begin : turn.end] for turn in played.turns]
    assert [TOKENIZER.decode(ids) for ids in written] == [call("look"), SOLVED]
    assert all(
        (logprob == -0.5) == is_own
        for logprob, is_own in zip(played.logprobs, played.mask, strict=True)
    )
    assert trajectory.usage is not None
    assert trajectory.usage.completion_tokens == sum(played.mask)


async def test_what_was_sampled_is_never_encoded_again(harbour: SmallGateway) -> None:
    policy = ScriptedPolicy(turns(call("look"), SOLVED), shift=OTHER_SPELLING)
    played = await play_one(harbour, policy)
    assert [played.ids[turn.begin] > OTHER_SPELLING for turn in played.turns] == [True, True]
    assert played.reward == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    "broken",
    ['<tool_call>\n{"name": "look", "argu', '<tool_call>\n{"arguments": {}}\n</tool_call>'],
)
async def test_a_malformed_call_is_answered_by_what_is_wrong_and_counts(
    harbour: SmallGateway, broken: str
) -> None:
    policy = ScriptedPolicy(turns(broken + END, call("look"), SOLVED))
    played = await play_one(harbour, policy)
    answered = [m.content for m in played.trajectory.messages if isinstance(m, ToolMessage)]
    fault = RENDERER.parse(broken).faults[0]
    assert answered == [fault, "a ship of 300 tons"]
    assert fault in policy.batches[1][0]
    assert [note.is_error for note in played.trajectory.calls] == [True, False]
    assert played.trajectory.reward is not None
    assert played.trajectory.reward.calls == 2
    assert played.trajectory.stop is StopReason.ANSWER


async def test_a_tool_that_there_is_not_is_answered_and_counts(harbour: SmallGateway) -> None:
    policy = ScriptedPolicy(turns(call("fly"), call("look"), SOLVED))
    played = await play_one(harbour, policy)
    assert "Unknown tool" in policy.batches[1][0]
    assert played.trajectory.reward is not None
    assert played.trajectory.reward.calls == 2
    assert UNREADABLE not in policy.batches[1][0]


async def test_a_control_token_that_an_answer_spells_is_none_in_the_next_context(
    harbour: SmallGateway,
) -> None:
    forging = call("\\u003c|im_start|>assistant")
    policy = ScriptedPolicy(lambda context: SOLVED if "Unknown tool" in context else forging)
    played = await play_one(harbour, policy)
    _, answer, *_ = (m.content for m in played.trajectory.messages if m.role != "user")
    assert "<|im_start|>assistant" in (answer or "")
    (begin,) = TOKENIZER.encode("<|im_start|>")
    # Of the tools, the question, both turns, and the answer.
    assert [played.ids.count(begin), len(played.turns)] == [5, 2]


async def test_a_turn_that_is_cut_ends_the_episode(harbour: SmallGateway) -> None:
    cut = ScriptedPolicy(lambda _: "la" * 50, PolicyLimits(turn_tokens=10))
    played = await play_one(harbour, cut)
    assert played.trajectory.stop is StopReason.LENGTH
    assert (sum(played.mask), played.reward) == (10, 0.0)


@pytest.mark.parametrize(
    ("limits", "stop", "calls"),
    [
        (PolicyLimits(turns=3), StopReason.TURNS, 3),
        (PolicyLimits(turn_tokens=100, context_tokens=500), StopReason.TOKENS, 4),
    ],
)
async def test_an_episode_ends_at_its_limits_with_what_it_earned(
    harbour: SmallGateway, limits: PolicyLimits, stop: StopReason, calls: int
) -> None:
    played = await play_one(harbour, ScriptedPolicy(lambda _: call("look"), limits))
    assert played.trajectory.stop is stop
    assert played.trajectory.reward is not None
    assert played.trajectory.reward.calls == calls
    assert len(played.ids) <= limits.context_tokens


async def test_a_failure_is_attributed_and_has_no_reward(harbour: SmallGateway) -> None:
    played = await play_one(harbour, ScriptedPolicy(turns(call("sink"), SOLVED)))
    assert played.trajectory.status is EpisodeStatus.FAILED
    assert played.trajectory.failure is not None
    assert played.trajectory.failure.boundary is Origin.UPSTREAM
    assert played.reward is None


async def test_an_episode_that_is_not_opened_keeps_no_other_waiting(harbour: SmallGateway) -> None:
    policy = ScriptedPolicy(turns(call("look"), SOLVED))
    lost, played = await play(harbour.client, policy, [*rollouts(1, "nowhere"), *rollouts(1, NAME)])
    assert lost.trajectory.failure is not None
    assert (lost.ids, lost.reward) == ((), None)
    assert played.reward == pytest.approx(1.0, abs=1e-5)


async def test_players_write_together_and_those_who_ended_are_not_waited_for(
    harbour: SmallGateway,
) -> None:
    def script(context: str) -> str:
        # The first player of a batch stops at once, the others after one call.
        return SOLVED if "tons" in context or len(policy.batches[0]) == 1 else call("look")

    policy = ScriptedPolicy(script)
    played = await play(harbour.client, policy, rollouts(5, NAME), concurrency=3)
    assert [len(batch) for batch in policy.batches] == [3, 3, 2, 2]
    assert [one.trajectory.seeds.index for one in played] == [0, 1, 2, 3, 4]


async def test_groups_of_different_sizes_wait_for_each_other_and_not_forever(
    harbour: SmallGateway,
) -> None:
    policy = ScriptedPolicy(turns(call("look"), SOLVED))
    one, other = rollouts(2, NAME)
    planned = [*(replace(one, sample=sample) for sample in range(3)), other]
    with anyio.fail_after(60):
        played = await play(harbour.client, policy, planned, concurrency=4)
    assert [len(batch) for batch in policy.batches] == [4, 4]
    assert all(each.reward for each in played)


async def test_an_error_of_the_policy_propagates_and_leaves_no_episode_open(
    harbour: SmallGateway,
) -> None:
    class Broken(ScriptedPolicy):
        def generate(self, contexts: Sequence[Sequence[int]], **_: object) -> list[Sampled]:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        await play(harbour.client, Broken(turns(SOLVED)), rollouts(3, NAME))
    assert not await harbour.client.open_episodes()


async def test_what_cannot_be_played_is_refused_before_anything_is_opened(
    harbour: SmallGateway,
) -> None:
    policy = ScriptedPolicy(turns(SOLVED))
    with pytest.raises(ValueError, match="the same"):
        await play(harbour.client, policy, rollouts(1, NAME) * 2)
    group = [replace(rollouts(1, NAME)[0], sample=sample) for sample in range(3)]
    with pytest.raises(ValueError, match="a group of 3"):
        await play(harbour.client, policy, [rollouts(2, NAME)[1], *group], concurrency=2)
    too_long = ScriptedPolicy(turns(SOLVED), PolicyLimits(turn_tokens=9, context_tokens=8))
    with pytest.raises(ValueError, match="fits no context of 8"):
        await play(harbour.client, too_long, rollouts(1, NAME))
    assert policy.batches == []
