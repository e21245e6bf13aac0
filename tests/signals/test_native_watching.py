"""A native run watches its policy: figures of each step, what alarms do, and what a resume keeps."""

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from gateway.api.wire import SourceEnvironment
from training.checkpoints import CheckpointStore
from training.evaluation.sampler import ModelSampler
from training.render import load_tokenizer
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.agenda import Question
from training.rl.native.settings import RlSettings
from training.rl.native.trainer import Playground, train
from training.sft.model import load_model
from training.sft.training import Ending, Outcome
from training.signals.health.alarms import Raised
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from small_gateway import NAME, open_small_gateway

pytestmark = pytest.mark.train

SOURCE = SourceEnvironment(kind="environment", name=NAME)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return save_start(tmp_path_factory.mktemp("model") / "start", size=SMALLEST)


@pytest.fixture
async def playground(start: Path, tmp_path: Path) -> AsyncGenerator[Playground]:
    tokenizer, renderer = load_tokenizer(str(start))
    async with open_small_gateway(tmp_path / "home") as opened:
        yield Playground(
            gateway=opened.client,
            renderer=renderer,
            tokenizer=tokenizer,
            questions=[Question(source=SOURCE, version=None)],
        )


def settings_of(start: Path, out: Path, steps: int, **alarms: str) -> RlSettings:
    given: dict[str, Any] = {
        "model": str(start),
        "out": out,
        "data": [{"environments": [NAME]}],
        "training": {"learning_rate": 0.01, "steps": steps, "groups": 1, "group_size": 2},
        "objective": {"kl": "metric"},
        "limits": {"turns": 1, "turn_tokens": 4},
        "checkpoints": {"every": 100},
        "log": {"tensorboard": False},
        "alarms": alarms,
    }
    return RlSettings.model_validate(given)


async def run(
    settings: RlSettings, playground: Playground
) -> tuple[Outcome, list[Raised], list[dict[str, float]]]:
    raised: list[Raised] = []

    def told(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
        del number
        return [float(at) for at, _ in enumerate(played)]

    outcome = await train(
        settings,
        playground,
        versions={},
        hear=lambda _: None,
        rewards=told,
        hear_alarm=raised.append,
    )
    lines = (settings.out / "metrics.jsonl").read_text().splitlines()
    return outcome, raised, [json.loads(line) for line in lines]


def alarms_in(out: Path) -> object:
    store = CheckpointStore(out)
    newest = store.newest()
    assert newest is not None
    return store.load_state(newest)["alarms"]


async def test_each_step_has_figures_of_its_turns_and_probes(
    start: Path, playground: Playground, tmp_path: Path
) -> None:
    _, _, steps = await run(settings_of(start, tmp_path / "run", 2), playground)
    for step in steps:
        states = [
            value for name, value in step.items() if name.count("/") == 1 and "structure" in name
        ]
        assert len(states) == 4
        assert sum(states) == pytest.approx(1)
        assert step["structure/turn/0/text_polluted"] == step["structure/text_polluted"]
        assert step["structure/text_polluted"] > 0  # random weights come to no end within 4 tokens
        assert step["structure/reasons/no_end"] > 0
        assert "structure/trajectories/polluted" in step
        assert "structure/per_1k/<tool_call>" in step
        probes = [step[f"probe/{name}"] for name in ("json", "end", "start")]
        assert min(probes) > 0
        assert sum(probes) < 1
        assert "kl" in step
        assert step["alarms/collapse"] == 0


async def test_an_alarm_saves_the_step_or_ends_the_run_with_it(
    start: Path, playground: Playground, tmp_path: Path
) -> None:
    stopped = settings_of(start, tmp_path / "run", 6, collapse="stop")
    outcome, raised, steps = await run(stopped, playground)
    assert (outcome.ending, outcome.step) == (Ending.STOPPED, 3)
    assert [(each.step, each.alarm.name) for each in raised if each.action == "stop"] == [
        (3, "collapse")
    ]
    assert steps[-1]["alarms/collapse"] == 1
    # Whoever goes on has heard of it: it is not raised again while it holds. Actions may be changed.
    saved = settings_of(start, tmp_path / "run", 4, collapse="checkpoint")
    outcome, raised, _ = await run(saved, playground)
    assert (outcome.ending, outcome.step, raised) == (Ending.DONE, 4, [])
    other = settings_of(start, tmp_path / "other", 4, collapse="checkpoint")
    await run(other, playground)
    assert (tmp_path / "other" / "weights" / "step-00000003").is_dir()


async def test_alarms_after_a_resume_are_those_of_a_run_that_never_stopped(
    start: Path, playground: Playground, tmp_path: Path
) -> None:
    await run(settings_of(start, tmp_path / "whole", 4), playground)
    await run(settings_of(start, tmp_path / "run", 2), playground)
    await run(settings_of(start, tmp_path / "run", 4), playground)
    assert alarms_in(tmp_path / "run") == alarms_in(tmp_path / "whole")


def test_probabilities_of_padded_contexts_are_those_of_single_ones(start: Path) -> None:
    tokenizer, _ = load_tokenizer(str(start))
    model = load_model(str(start), gradient_checkpointing=False)
    sampler = ModelSampler(model, tokenizer.end_ids)
    contexts, tokens = [[5, 6, 7], [8], [9, 10]], [1, 3, 2]
    found = sampler.probabilities(contexts, tokens)
    for context, row in zip(contexts, found, strict=True):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([context])).logits[0, -1]
        expected = torch.softmax(logits.float(), -1)[tokens]
        torch.testing.assert_close(torch.tensor(row), expected)
    assert sampler.probabilities([], tokens) == []
