"""An evaluation plays greedily and at T = 1, and a failed episode is in no mean."""

from pathlib import Path

import pytest

from gateway.api.wire import SourceEnvironment
from training.evaluation.evaluating import evaluate
from training.rl.core.policy import PolicyLimits

from scripted_policy import END, CharacterTokenizer, ScriptedPolicy, call, tiny_renderer
from small_gateway import NAME, open_small_gateway

RENDERER, TOKENIZER = tiny_renderer(), CharacterTokenizer()
HARBOUR = SourceEnvironment(kind="environment", name=NAME), None
NOWHERE = SourceEnvironment(kind="environment", name="nowhere"), None


def look_twice(context: str) -> str:
    """Call a tool that there is not, one that cannot be read, and the right one; then answer."""
    turn = context.count("<|im_start|>assistant")
    return (call("fly"), f"<tool_call>{END}", call("look"), f"300 tons.{END}")[turn - 1]


async def test_figures_tell_what_episodes_came_to(tmp_path: Path) -> None:
    async with open_small_gateway(tmp_path) as harbour:
        policy = ScriptedPolicy(look_twice)
        found = await evaluate(
            harbour.client, policy, RENDERER, TOKENIZER, [HARBOUR, NOWHERE], samples=3, root_seed=1
        )
    greedy, sampled = found.greedy, found.sampled
    assert sampled is not None
    assert (greedy.episodes, greedy.failed) == (2, 1)
    assert (sampled.episodes, sampled.failed) == (6, 3)
    assert greedy.failures == {"gateway": 1}
    assert greedy.reward == pytest.approx(0.5, abs=1e-4)
    assert (greedy.recall, greedy.calls, greedy.turns) == (1.0, 3.0, 4.0)
    assert (greedy.unknown_tools, greedy.malformed) == (1.0, 1.0)
    assert greedy.stops == {"answer": 1}
    assert found.metrics()["sampled/reward"] == greedy.reward
    assert found.metrics()["greedy/stops/answer"] == 1.0
    assert found.as_json()["greedy"]


async def test_without_a_reward_there_is_no_mean(tmp_path: Path) -> None:
    async with open_small_gateway(tmp_path) as harbour:
        policy = ScriptedPolicy(look_twice)
        found = await evaluate(
            harbour.client, policy, RENDERER, TOKENIZER, [NOWHERE], samples=0, root_seed=1
        )
        with pytest.raises(ValueError, match="at least one environment"):
            await evaluate(harbour.client, policy, RENDERER, TOKENIZER, [], samples=1, root_seed=1)
    assert found.sampled is None
    assert found.greedy.reward is None
    assert "greedy/reward" not in found.metrics()


async def test_a_prompt_that_leaves_no_room_is_counted_and_in_no_mean(tmp_path: Path) -> None:
    async with open_small_gateway(tmp_path) as harbour:
        limits = PolicyLimits(context_tokens=200, turn_tokens=190)
        policy = ScriptedPolicy(look_twice, limits)
        found = await evaluate(
            harbour.client, policy, RENDERER, TOKENIZER, [HARBOUR, NOWHERE], samples=0, root_seed=1
        )
    assert policy.batches == []
    assert (found.greedy.episodes, found.greedy.failed, found.greedy.no_room) == (2, 2, 1)
    assert found.greedy.failures == {"gateway": 1}
    assert found.greedy.reward is None
    assert found.metrics()["greedy/no_room"] == 1.0
