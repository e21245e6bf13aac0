"""The examples of training run as their pages say, from a start that has learnt a few questions by heart."""

import json
import re
import runpy
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from training.sft.training import train
from training.tiny.start import save_start

from micro_runs import open_micro_gateway, play_oracle, write_micro_bundles
from sft_runs import prepared_run

pytestmark = [pytest.mark.train, pytest.mark.timeout(240)]

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def lesson(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> Path:
    """A folder with environments, and a model that half knows what to do in them."""
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("lesson")
    names = write_micro_bundles(place / "micro", 3, questions=1, seed=5)
    async with open_micro_gateway(place / "home", place / "micro") as access:
        await play_oracle(access, names, place / "oracle.jsonl")
    prepared = prepared_run(
        save_start(place / "start"),
        place / "oracle.jsonl",
        place / "sft",
        training={"epochs": 1000, "max_steps": 50, "batch_size": 8, "micro_batch_size": 8},
    )
    return Path(str(train(prepared, hear=lambda progress: None).weights))


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / name))


@pytest.fixture
def micro(lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = lesson.parents[2] / "micro"
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASTRA_MCP_ENVIRONMENTS", json.dumps([str(folder)]))
    return folder


def rewards_in(printed: str) -> list[float]:
    """The rewards that an example printed, step by step."""
    found = [re.fullmatch(r"step (\d+): reward ([\d.]+)", line) for line in printed.splitlines()]
    steps = [(int(each[1]), float(each[2])) for each in found if each]
    assert [step for step, _ in steps] == [*range(1, len(steps) + 1)]
    return [reward for _, reward in steps]


@pytest.mark.claim("P98")
async def test_a_model_is_trained_on_environments_of_families(
    lesson: Path, micro: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    await example("train_on_families.py")["main"](str(lesson), str(out), 2)
    rewards = rewards_in(capsys.readouterr().out)
    assert len(rewards) == 2
    assert min(rewards) > 0
    assert (out / "weights" / "step-00000002" / "model.safetensors").exists()


async def test_a_model_learns_on_an_own_server_what_an_own_reward_pays_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    torch.set_num_threads(1)
    await example("train_on_own_server.py")["main"](tmp_path / "out")
    rewards = rewards_in(capsys.readouterr().out)
    assert len(rewards) == 12
    assert fmean(rewards[-4:]) > fmean(rewards[:4])
    lines = (tmp_path / "out" / "run" / "metrics.jsonl").read_text().splitlines()
    assert {json.loads(line)["rollout/failed"] for line in lines} == {0}


def test_the_server_of_the_example_is_one() -> None:
    weigh = runpy.run_path(str(EXAMPLES / "harbour_server.py"))["weigh"]
    assert weigh("Alma") == "The Alma weighs 400 tons."


# TRL warns of what it and Transformers will change.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_model_is_trained_by_trl(lesson: Path, micro: Path, tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="TRL is not installed: it is of the group dev-train")
    trained = example("train_with_trl.py")["main"]
    trainer = trained(str(lesson), str(tmp_path / "run"), str(micro), 2)
    told = [line for line in trainer.state.log_history if "reward" in line]
    assert len(told) == 2
    assert all(line["rewards/reward/mean"] == line["reward"] > 0 for line in told)
    assert all(line["tools/call_frequency"] > 0 for line in told)
