"""Supervised phases between steps: what they learn, what becomes of the optimizer, and a resume."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import torch

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import read_trajectories
from training.checkpoints import CheckpointWriter
from training.signals.supervision import phase
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from small_gateway import NAME, SmallGateway, open_small_gateway
from trained_runs import TrainedRun, figures_in, state_in, timeless, weights_in

pytestmark = pytest.mark.train

SUPERVISION = {"learning_rate": 0.01, "batch_size": 2}
ERRORS: dict[str, Any] = {"schedule": {"stages": [1, 1]}, "supervision": SUPERVISION}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return save_start(tmp_path_factory.mktemp("model") / "start", size=SMALLEST)


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


class KilledError(Exception):
    """In the place of a kill."""


def report_in(out: Path, step: int = 1) -> dict[str, Any]:
    return json.loads((out / "signals" / "phases" / f"step-{step:08d}.json").read_text())


def with_optimizer(kind: str) -> dict[str, Any]:
    return {**ERRORS, "supervision": {**SUPERVISION, "optimizer": kind}}


async def test_the_error_set_is_what_failed_and_its_gold_is_learned(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    await TrainedRun(start, harbour).train(out, signals=ERRORS)
    played = [*read_trajectories(out / "trajectories" / "step-00000001.jsonl")]
    assert [each.reward and each.reward.reward for each in played] == [0.0] * 4
    report = report_in(out)
    assert report["errors"] == [
        {"environment": NAME, "question": None, "group": 0, "episodes": 4, "failed": 4}
    ]
    (gold,) = read_trajectories(out / "signals" / "gold" / "step-00000001.jsonl")
    assert gold.reward is not None
    assert gold.reward.reward >= 0.999
    assert gold.seeds.episode == played[0].seeds.episode
    first, second = figures_in(out)
    assert (first["signals/errors"], first["signals/lessons/gold"]) == (1, 1)
    assert first["signals/updates"] == 2
    assert first["signals/loss_last"] < first["signals/loss_first"]
    assert "signals/errors" not in second
    assert weights_in(out, 1) != weights_in(out, 2)  # it is saved behind a phase, whatever else is
    assert not (out / "signals" / "phases" / "step-00000002.json").exists()


async def test_both_kinds_of_phases_change_the_weights(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    plain, whole = tmp_path / "plain", tmp_path / "whole"
    checkpoints = {"every": 1}
    await TrainedRun(start, harbour).train(plain, checkpoints=checkpoints)
    await TrainedRun(start, harbour).train(whole, checkpoints=checkpoints, signals=ERRORS)
    begun = (start / "model.safetensors").read_bytes()
    assert len({begun, weights_in(plain, 1), weights_in(whole, 1), weights_in(whole, 2)}) == 4


@pytest.mark.parametrize(
    ("kind", "behind_phase", "behind_last"), [("fresh", None, 1), ("keep", 3, 4), ("apart", 1, 2)]
)
async def test_the_optimizer_follows_the_schedule(
    start: Path,
    harbour: SmallGateway,
    tmp_path: Path,
    *,
    kind: str,
    behind_phase: int | None,
    behind_last: int,
) -> None:
    out = tmp_path / "run"

    def made() -> int | None:
        optimizer = state_in(out)["optimizer"]
        if optimizer is None:
            return None
        (steps,) = {int(parts["step"]) for parts in optimizer["state"].values()}
        return steps

    signals = with_optimizer(kind)
    await TrainedRun(start, harbour).train(out, is_stopped=True, signals=signals)
    assert made() == behind_phase
    await TrainedRun(start, harbour).train(out, signals=signals)
    assert made() == behind_last


@pytest.mark.parametrize("kind", ["fresh", "keep", "apart"])
async def test_a_resume_behind_a_phase_makes_the_same_bytes(
    start: Path, harbour: SmallGateway, tmp_path: Path, kind: str
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    more: dict[str, Any] = {
        "signals": {
            **with_optimizer(kind),
            "schedule": {"stages": [1, 2]},
            "demonstrations": {"members": 1, "shaping": "luffy"},
            "hints": {"members": 1},
        },
        "objective": {"kl": "loss", "kl_weight": 0.1},
        "training": {"steps": 3},
    }
    await TrainedRun(start, harbour).train(whole, **more)
    await TrainedRun(start, harbour).train(broken, is_stopped=True, **more)
    # What a kill left of later steps is made anew.
    (broken / "trajectories" / "step-00000002.jsonl").write_text("torn")
    resumed = await TrainedRun(start, harbour).train(broken, **more)
    assert resumed.began_at == 1
    assert weights_in(broken, 3) == weights_in(whole, 3)
    assert timeless(figures_in(broken)) == timeless(figures_in(whole))
    assert state_in(broken)["phases"] == state_in(whole)["phases"] == [1]
    assert report_in(broken) == report_in(whole)


async def test_a_divergence_is_measured_from_the_phase_where_that_is_asked_for(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    for kind, is_zero in (("renewed", True), ("first", False)):
        signals = {**ERRORS, "supervision": {**SUPERVISION, "reference": kind}}
        out = tmp_path / kind
        await TrainedRun(start, harbour).train(out, objective={"kl": "metric"}, signals=signals)
        second = figures_in(out)[1]
        assert (second["kl"] == pytest.approx(0, abs=1e-7)) is is_zero


async def test_an_alarm_that_holds_brings_phases_on_also_behind_a_resume(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    more: dict[str, Any] = {
        "limits": {"turns": 1, "turn_tokens": 60},
        "signals": {
            "schedule": {"alarms": ["collapse"], "least_gap": 1},
            "supervision": {**SUPERVISION, "learning_rate": 1e-6},
        },
        "training": {"steps": 4, "group_size": 2},
    }
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    await TrainedRun(start, harbour).train(whole, **more)
    # Random weights find no end within a turn, and three such steps in a row are a collapse.
    assert [line["alarms/collapse"] for line in figures_in(whole)] == [0, 0, 1, 1]
    assert ["signals/errors" in line for line in figures_in(whole)] == [False, False, True, True]
    await TrainedRun(start, harbour).train(broken, is_stopped=True, **more)
    await TrainedRun(start, harbour).train(broken, **more)
    assert state_in(broken)["phases"] == state_in(whole)["phases"] == [3, 4]
    assert weights_in(broken, 4) == weights_in(whole, 4)


async def test_a_run_that_is_killed_in_a_phase_makes_it_again_to_the_bit(
    start: Path, harbour: SmallGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(*_: object, **__: object) -> None:
        raise KilledError

    async def killed_at(place: object, name: str) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(place, name, kill)
            with pytest.raises(KilledError):
                await TrainedRun(start, harbour).train(broken, **more)

    more: dict[str, Any] = {
        "limits": {"turns": 1, "turn_tokens": 60},
        "signals": {**ERRORS, "schedule": {"stages": [1, 1, 1]}},
        "training": {"steps": 3, "group_size": 2},
    }
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    await TrainedRun(start, harbour).train(whole, **more)
    # Before it learns, behind that, and before anything of it is saved; then in the next phase.
    first = [(phase, "gather"), (phase, "keep_gathered"), (CheckpointWriter, "save")]
    for place, name in first:
        await killed_at(place, name)
    await TrainedRun(start, harbour).train(broken, is_stopped=True, **more)
    assert state_in(broken)["phases"] == [1]
    await killed_at(phase, "keep_gathered")
    await TrainedRun(start, harbour).train(broken, **more)
    assert weights_in(broken, 3) == weights_in(whole, 3)
    assert timeless(figures_in(broken)) == timeless(figures_in(whole))
    assert [report_in(broken, step) for step in (1, 2)] == [
        report_in(whole, step) for step in (1, 2)
    ]


async def test_other_alarms_of_a_schedule_are_another_run(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    out = tmp_path / "run"

    async def run(alarm: str) -> None:
        schedule = {"alarms": [alarm]}
        signals = {"schedule": schedule, "supervision": SUPERVISION}
        await TrainedRun(start, harbour).train(out, is_stopped=True, signals=signals)

    await run("collapse")
    with pytest.raises(ConfigError, match=r"begun with signals\.schedule\.alarms"):
        await run("calls")


async def test_members_that_were_helped_are_no_errors(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    signals = {**ERRORS, "demonstrations": {"members": 1}, "hints": {"members": 2}}
    await TrainedRun(start, harbour).train(out, is_stopped=True, signals=signals)
    (error,) = report_in(out)["errors"]
    assert (error["episodes"], error["failed"]) == (1, 1)


async def test_reflections_of_templates_join_the_gold(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    signals = {
        "schedule": {"first": 1},
        "supervision": {**SUPERVISION, "kind": "reflections"},
        "reflections": {"members": 2},
    }
    await TrainedRun(start, harbour).train(out, signals=signals, training={"steps": 1})
    report = report_in(out)
    kinds = [each["kind"] for each in report["reflections"]]
    assert kinds == ["review", "analysis"] * 2
    assert {each["dropped"] for each in report["reflections"]} == {None}
    (line,) = figures_in(out)
    lessons = [line[f"signals/lessons/{kind}"] for kind in ("gold", "review", "analysis")]
    assert lessons == [1, 2, 2]
    assert line["signals/loss_last"] < line["signals/loss_first"]


async def test_a_missing_file_of_the_window_is_named(
    start: Path, harbour: SmallGateway, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    signals = {**ERRORS, "schedule": {"stages": [2, 1]}}
    await TrainedRun(start, harbour).train(out, is_stopped=True, signals=signals)
    (out / "trajectories" / "step-00000001.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"step-00000001\.jsonl is missing"):
        await TrainedRun(start, harbour).train(out, signals=signals)
