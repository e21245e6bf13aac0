"""Supervised phases between verl's steps: what is mined, what learns, and a kill in the midst of one."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from astra_mcp.trajectory import read_trajectories
from training.rl.verl.account import Line
from training.rl.verl.plan import Plan
from training.rl.verl.processes import environment
from training.rl.verl.settings import DeviceSettings
from training.signals.supervision.questions import QuestionKey

from verl_runs import VerlRun, open_gateway, played_in, wait_for

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(7200)]

_RUN = """
model = "{place}/pupil/weights/step-00000060"
out = "phased"
[[data]]
environments = {names}
questions = "all"
[training]
steps = 4
groups = 4
group_size = 4
mini_batches = 1
learning_rate = 1e-3
[objective]
kl = "metric"
[limits]
turns = 4
turn_tokens = 32
[checkpoints]
every = 50
[log]
tensorboard = false
[signals.schedule]
stages = [1, 1, 2]
[signals.supervision]
kind = "reflections"
failure = "recall"
failed = "any"
learning_rate = 1e-3
batch_size = 8
epochs = 3
[verl]
device = "cpu"
gradient_checkpointing = false
start_seconds = 1200
"""
_COUNTED = """
import json, sys, torch
found = torch.load(sys.argv[1], weights_only=False)
print(json.dumps(sorted({int(each["step"]) for each in found["state"].values()})))
"""


def test_phases_learn_what_was_failed_at_and_a_run_that_is_killed_in_one_makes_it_again(
    pupil: VerlRun,
) -> None:
    run = replace(pupil, name="phased")
    names = json.dumps(sorted(each.name for each in run.environments.iterdir())[2:])
    run.config.write_text(_RUN.format(place=run.place, names=names))
    with open_gateway(run):
        process = run.begin(run.config)
        wait_for(lambda: report_file(run, 2).exists(), process)
        process.kill()
        process.communicate()
        while run.processes():
            time.sleep(0.2)
        assert saved(run) == 1
        killed = json.loads(report_file(run, 2).read_text())

        run.train(run.config)
        assert played_in(run, "from-1", 2) == played_in(run, "from-0", 2)
        assert json.loads(report_file(run, 2).read_text()) == killed
        check_mined(run)
        check_learned(run)
        assert not [*run.out.glob("verl/*/episodes/step-*")]  # it stands in trajectories/ alone

        third = played_in(run, "from-1", 3)
        shutil.rmtree(run.out / "checkpoints" / "global_step_4")
        latest(run).write_text("2")
        said = stopped_by_alarm(run)
        assert played_in(run, "from-2", 3) == third
        assert [line["step"] for line in run.metrics] == [1, 2, 3]
        assert run.figures(3)["alarms/calls"] == 1
        assert "stopped at step 3, which is saved, by the alarm calls" in " ".join(said.split())
        assert saved(run) == 3


def stopped_by_alarm(run: VerlRun) -> str:
    """Go on with a memory of more calls than can be made, and give what was said of it."""
    file = run.out / "checkpoints" / "global_step_2" / "astra_mcp.json"
    state = json.loads(file.read_text())
    assert state["phases"] == [1, 2]
    assert not state["alarms"]["calls"]["holds"]
    state["alarms"]["calls"]["memory"] = [100.0]
    file.write_text(json.dumps(state))
    run.config.write_text(f'{run.config.read_text()}[alarms]\ncalls = "stop"\n')
    process = run.begin(run.config)
    said, _ = process.communicate()
    assert process.returncode == 1, said
    return said


def test_lessons_come_to_what_they_come_to_with_the_native_trainer(pupil: VerlRun) -> None:
    place = pupil.place / "learned"
    place.mkdir()
    found = json.loads(learned(pupil, place).splitlines()[-1])
    # Two devices that compute two rows at once: four places each for six rows, and two count for nothing.
    shares = found.pop("shares")
    assert [len(share) for share in shares] == [4, 4]
    sizes = sorted(sum(mask) for share in shares for _, mask in share)
    assert sizes == [0, 0, 1, 1, 3, 3, 3, 3]
    assert {kind: seen["updates"] for kind, seen in found.items()} == {
        "fresh": {"verl": [], "native": []},
        "keep": {"verl": [8], "native": [8]},
        "apart": {"verl": [4], "native": [4]},
    }
    for seen in found.values():
        ours, native = seen["figures"]["verl"], seen["figures"]["native"]
        assert [each["signals/updates"] for each in ours] == [4, 4]
        for mine, other in zip(ours, native, strict=True):
            assert mine == pytest.approx(other, rel=1e-4)
        # Between phases all is as before.
        assert (seen["rates"], seen["loss"]) == ([1e-3], "ppo_loss")


def learned(run: VerlRun, place: Path) -> str:
    """Start a worker of verl's alone, as Ray would start it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    alone = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    alone |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    settings = DeviceSettings(device="cpu")
    env = environment(settings, "no key", place / "figures.jsonl") | {**run.variables, **alone}
    model = run.place / "pupil/weights/step-00000060"
    command = [run.programs / "python", "-m", "learned_by_verl", place, model]
    found = subprocess.run(command, env=env, check=False, capture_output=True, text=True, cwd=place)
    assert found.returncode == 0, found.stderr
    return found.stdout


def check_mined(run: VerlRun) -> None:
    """Hold the errors against the accounts of the episodes, which are written elsewhere."""
    plan = Plan.read(run.out / "verl" / "from-1" / "plan.json")
    first = [line for line in run.lines_of("from-0") if line.step == 1]
    second = [line for line in run.lines_of("from-1") if line.step == 2]
    for step, lines in ((1, first), (2, [*first, *second])):
        report = json.loads(report_file(run, step).read_text())
        found = {
            (each["environment"], each["question"]): (each["episodes"], each["failed"])
            for each in report["errors"]
        }
        assert found == by_hand(plan, lines)
        gold = [*read_trajectories(run.out / "signals" / "gold" / f"step-{step:08d}.jsonl")]
        assert {QuestionKey.of(each) for each in gold} == {QuestionKey(*key) for key in found}
        assert all(each.reward and each.reward.reward >= 0.999 for each in gold)
        figures = run.figures(step)
        assert figures["signals/errors"] == figures["signals/lessons/gold"] == len(found)
        assert figures["signals/lessons/review"] > 0
        played = [*read_trajectories(run.out / "trajectories" / f"step-{step:08d}.jsonl")]
        assert (
            len(played) == figures["rollout/episodes"] == len([x for x in lines if x.step == step])
        )
    assert not report_file(run, 3).exists()


def by_hand(plan: Plan, lines: Iterable[Line]) -> Mapping[tuple[str, str | None], tuple[int, int]]:
    """Count the episodes of each question, and those that lack something, where there are any."""
    recalls = dict[QuestionKey, list[float]]()
    for line in lines:
        key = QuestionKey.of_source(plan.group(line.group, 0)[0].source)
        if key is not None and line.recall is not None:
            recalls.setdefault(key, []).append(line.recall)
    return {
        (key.environment, key.question): (len(found), sum(recall < 1 for recall in found))
        for key, found in recalls.items()
        if min(found) < 1
    }


def check_learned(run: VerlRun) -> None:
    """Both kinds of phases change the weights, and all else follows."""
    weights = {step: weights_of(run, step) for step in (1, 2, 4)}
    begun = (run.place / "pupil/weights/step-00000060/model.safetensors").read_bytes()
    assert len({begun, *weights.values()}) == 4
    # Each stretch begins with a fresh optimizer, and the last has made two updates.
    assert [updates_of_optimizer(run, step) for step in (1, 2, 4)] == [[], [], [2]]
    assert run.figures(4)["kl"] > 1e-6
    for step in (1, 2, 3):
        figures = run.figures(step)
        assert figures["gradient_norm"] > 0
        # What samples has the weights of the phase, and a divergence is measured from them.
        assert figures["rollout_correlation"] > 0.999
        assert figures["kl"] == pytest.approx(0, abs=1e-6)
        assert figures["learning_rate"] == 1e-3
        assert 0 < figures["structure/healthy_tool_call"] <= 1
        assert figures["alarms/collapse"] == 0
        assert "alarms/start" not in figures
        assert ("signals/updates" in figures) == (step < 3)
        if step < 3:
            lessons, updates = figures["signals/lessons"], figures["signals/updates"]
            assert updates == 3 * -(-lessons // 8)
            assert figures["signals/loss_last"] < figures["signals/loss_first"]
            assert figures["seconds/supervision"] > 0
    said = subprocess.run(
        [
            *(run.programs / "astra-mcp", "inspect", "structure", "--json"),
            run.out / "trajectories" / "step-00000001.jsonl",
        ],
        env=run.variables,
        check=True,
        capture_output=True,
    )
    assert json.loads(said.stdout)


def updates_of_optimizer(run: VerlRun, step: int) -> list[int]:
    file = actor(run, step) / "optim_world_size_1_rank_0.pt"
    python = run.programs / "python"
    found = subprocess.run(
        [python, "-c", _COUNTED, file], env=run.variables, check=True, capture_output=True
    )
    return json.loads(found.stdout)


def weights_of(run: VerlRun, step: int) -> bytes:
    return (actor(run, step) / "huggingface" / "model.safetensors").read_bytes()


def actor(run: VerlRun, step: int) -> Path:
    return run.out / "checkpoints" / f"global_step_{step}" / "actor"


def report_file(run: VerlRun, step: int) -> Path:
    return run.out / "signals" / "phases" / f"step-{step:08d}.json"


def latest(run: VerlRun) -> Path:
    return run.out / "checkpoints" / "latest_checkpointed_iteration.txt"


def saved(run: VerlRun) -> int:
    return int(latest(run).read_text())
