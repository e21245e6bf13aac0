"""Groups: what each plays, with which distractors, and within which limits."""

from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.errors import ConfigError
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question, open_test_gateway
from astra_mcp.types import ServerKind
from gateway.api.client import GatewayClient
from gateway.api.seams import Distractor
from gateway.api.wire import DistractorRequest, SourceEnvironment
from training.rl.core.filling import BatchFilling
from training.rl.core.policy import PolicyLimits
from training.rl.native.agenda import Question as Asked
from training.rl.native.generation import (
    Generation,
    Member,
    MemberTurn,
    limits_of_episode,
)
from training.rl.native.measuring import figures_of_rollouts
from training.rl.native.settings import DistractorShare, RlSettings

from counted_servers import FakeDistractorIndex
from policy_episodes import ScriptedUsers
from scripted_policy import END, CharacterTokenizer, ScriptedPolicy, call, tiny_renderer

pytestmark = pytest.mark.train

HARBOUR = "harbour"
MIXED = Asked(
    source=SourceEnvironment(kind="environment", name=HARBOUR),
    version=None,
    mixture=(
        DistractorShare(mode="none", share=0.5),
        DistractorShare(mode="random", share=0.2),
        DistractorShare(mode="banded", k=2, share=0.3),
    ),
)


def look() -> str:
    """Solve the job."""
    return "a ship of 300 tons"


def shine() -> str:
    """Have nothing to do with it."""
    return "light"


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncGenerator[GatewayClient]:
    harbour = InMemoryServer(HARBOUR, look, kind=ServerKind.ENVIRONMENT)
    asked = Question("How heavy is the ship?", "300 tons", gold=[("look", {})])
    catalog = InMemoryCatalog(harbour, InMemoryServer("lamps", shine), questions={HARBOUR: asked})
    index = FakeDistractorIndex((Distractor("lamps", "shine", None),), {})
    async with open_test_gateway(catalog, tmp_path, distractors=index) as opened:
        yield opened.control


def settings(**sections: Any) -> RlSettings:
    return RlSettings.model_validate(
        {
            "model": "model",
            "out": "run",
            "seed": 3,
            "data": [{"environments": [HARBOUR]}],
            "training": {"learning_rate": 0.1, "group_size": 2, "groups": 12},
            **sections,
        }
    )


@dataclass
class Stage:
    """A generation by a policy that calls a distractor where it is shown one."""

    gateway: GatewayClient
    question: Asked

    def generation(self, **options: Any) -> Generation:
        policy = ScriptedPolicy(self._write)
        text = (tiny_renderer(), CharacterTokenizer())
        return Generation(settings(), self.gateway, policy, text, [self.question], **options)

    @staticmethod
    def _write(context: str) -> str:
        turn = context.count("<|im_start|>assistant")
        first = call("shine") if "shine" in context else call("look")
        return first if turn == 1 else f"So.{END}"


@pytest.fixture
def stage(gateway: GatewayClient) -> Stage:
    return Stage(gateway, MIXED)


@pytest.mark.claim("P100")
async def test_a_group_has_one_mode_of_distractors_by_its_number_and_figures_tell_it(
    stage: Stage,
) -> None:
    generation = stage.generation()
    groups = await generation.play(0, 12)
    modes = [one.trajectory.labels["distractors"] for one in generation.played]
    assert modes[::2] == modes[1::2]
    assert {*modes} == {"none", "random", "banded"}
    for one, mode in zip(generation.played, modes, strict=True):
        mix = one.trajectory.distractors
        assert (mix and mix["mode"]) == (None if mode == "none" else mode)
        assert len(one.trajectory.tools) == (1 if mode == "none" else 2)
    later = stage.generation()
    later.next_number = 5
    await later.play(0, 7)
    assert [one.trajectory.labels["distractors"] for one in later.played] == modes[10:]

    async def played(_count: int) -> Any:
        return [replace(group, rewards=(0.0, 1.0)) for group in groups]

    filled = await BatchFilling[Member](num_groups=12).fill(0, played)
    figures = figures_of_rollouts(generation.played, filled)
    for mode, count in Counter(modes).items():
        assert figures[f"rollout/distractors/{mode}/episodes"] == count
        assert figures[f"rollout/distractors/{mode}/call_rate"] == (mode != "none")
        reward = figures[f"rollout/distractors/{mode}/reward"]
        assert reward == pytest.approx(1.0 if mode == "none" else 0.0, abs=1e-5)


def test_modes_are_drawn_by_their_shares() -> None:
    drawn = [MIXED.drawn((at + 0.5) / 1000) for at in range(1000)]
    assert Counter(each and each.mode for each in drawn) == {
        "none": 500,
        "random": 200,
        "banded": 300,
    }
    assert drawn[-1] == DistractorRequest(mode="banded", k=2)
    assert replace(MIXED, mixture=()).drawn(0.5) is None


async def test_members_keep_what_their_turns_solved_and_users_speak(stage: Stage) -> None:
    plain = replace(stage.question, mixture=())
    generation = Stage(stage.gateway, plain).generation(users=ScriptedUsers("And then?"))
    (group,) = await generation.play(0, 1)
    for member, one in zip(group.members, generation.played, strict=True):
        assert [turn.solved for turn in member.turns] == [1, 0, 0]
        assert all(member.mask[turn.begin : turn.end] for turn in member.turns)
        assert sum(turn.end - turn.begin for turn in member.turns) == member.num_written
        assert member.turns[0] == MemberTurn(one.num_prompt, one.turns[0].end, 1)
        assert "distractors" not in one.trajectory.labels


@pytest.mark.claim("P12")
@pytest.mark.parametrize(("kind", "earned"), [("f1", 2 / 3), ("recall", 1), ("precision", 1 / 2)])
async def test_an_episode_is_trained_by_the_part_of_the_reward_that_is_asked_for(
    gateway: GatewayClient, kind: str, earned: float
) -> None:
    def look_twice(context: str) -> str:
        turn = context.count("<|im_start|>assistant")
        return call("look") if turn <= 2 else f"So.{END}"

    source = SourceEnvironment(kind="environment", name=HARBOUR)
    generation = Generation(
        settings(objective={"reward": kind}),
        gateway,
        ScriptedPolicy(look_twice),
        (tiny_renderer(), CharacterTokenizer()),
        [Asked(source=source, version=None)],
    )
    (group,) = await generation.play(0, 1)
    assert group.rewards == pytest.approx([earned, earned], abs=1e-5)
    told = [one.trajectory.reward for one in generation.played]
    assert [each and each.reward for each in told] == pytest.approx([2 / 3, 2 / 3], abs=1e-5)


def test_settings_bound_episodes_within_what_the_model_reads() -> None:
    usual = PolicyLimits(context_tokens=4096, turn_tokens=512)
    limits = limits_of_episode(settings(), usual)
    assert limits == PolicyLimits(context_tokens=4096, turn_tokens=512)
    asked: dict[str, Any] = {
        "turns": 3,
        "user_turns": 4,
        "prompt_tokens": 100,
        "response_tokens": 200,
        "turn_tokens": 20,
        "context_tokens": 250,
        "end_when_solved": True,
    }
    assert limits_of_episode(settings(limits=asked), usual) == PolicyLimits(**asked)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"context_tokens": 5000}, "limits.context_tokens is 5000, and the model reads 4096"),
        ({"turn_tokens": 5000}, "limits.turn_tokens is 5000: it fits no context of 4096 tokens"),
        ({"response_tokens": 8}, "limits.turn_tokens is 512: it fits no response of 8 tokens"),
    ],
)
def test_limits_that_a_model_cannot_keep_are_refused(limits: dict[str, int], message: str) -> None:
    usual = PolicyLimits(context_tokens=4096, turn_tokens=512)
    with pytest.raises(ConfigError, match=message):
        limits_of_episode(settings(limits=limits), usual)
