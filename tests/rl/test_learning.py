"""Rewards teach: ten steps of GRPO from a start that is often wrong, beside the same with permuted ones."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from statistics import fmean

import pytest
import torch

from astra_mcp.seeds import generator
from gateway.api.client import GatewayClient
from gateway.api.wire import SourceEnvironment
from training.render import load_tokenizer
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.agenda import Question
from training.rl.native.generation import Rewards
from training.rl.native.settings import RlSettings
from training.rl.native.trainer import Playground, train
from training.sft.training import Progress

from micro_runs import open_micro_gateway, write_micro_bundles

pytestmark = [pytest.mark.train, pytest.mark.timeout(300)]

_START = Path(__file__).parent / "start"
_STEPS = 10
_LAST = 3


@pytest.fixture
async def playground(tmp_path: Path) -> AsyncGenerator[Playground]:
    names = write_micro_bundles(tmp_path / "worlds", 12, questions=4, seed=11)
    tokenizer, renderer = load_tokenizer(str(_START))
    async with (
        open_micro_gateway(tmp_path / "home", tmp_path / "worlds") as access,
        GatewayClient(access.url, access.key) as gateway,
    ):
        yield Playground(
            gateway=gateway,
            renderer=renderer,
            tokenizer=tokenizer,
            questions=[
                Question(
                    source=SourceEnvironment(kind="environment", name=name, question=question.id),
                    version=None,
                )
                for name in names
                for question in (await gateway.environment(name)).questions
            ],
        )


def permuted(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
    earned = [one.reward for one in played if one.reward is not None]
    generator(0, "permuted", number).shuffle(earned)
    return earned


async def rewards_of(playground: Playground, out: Path, rewards: Rewards | None) -> list[float]:
    """Train, and give what a step's episodes earned on average."""
    training = {"steps": _STEPS, "groups": 6, "group_size": 8, "learning_rate": 1e-3}
    settings = RlSettings.model_validate(
        {
            "model": str(_START),
            "out": out,
            "data": [{"environments": ["all"]}],
            "training": {**training, "mini_batches": 2},
            "limits": {"turns": 3, "turn_tokens": 24, "context_tokens": 256},
            "checkpoints": {"every": _STEPS},
            "log": {"tensorboard": False},
        }
    )
    earned: list[float] = []

    def hear(progress: Progress) -> None:
        earned.append(progress.values["rollout/reward"])

    await train(settings, playground, versions={}, hear=hear, rewards=rewards)
    return earned


async def test_rewards_rise_where_they_are_told_to_whom_they_belong(
    playground: Playground, tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    learnt = await rewards_of(playground, tmp_path / "learnt", None)
    control = await rewards_of(playground, tmp_path / "control", permuted)
    assert learnt[0] == control[0]
    assert fmean(learnt[-_LAST:]) > learnt[0] + 0.15
    assert fmean(learnt[-_LAST:]) > fmean(control[-_LAST:]) + 0.15
