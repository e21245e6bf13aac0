"""A run that is killed again and again comes to the very files of one that never was."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from astra_mcp.seeds import generator
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from micro_runs import write_micro_bundles

pytestmark = [pytest.mark.train, pytest.mark.volume, pytest.mark.timeout(1500)]

STEPS, KILLS = 14, 5
SEED = 17
MAX_DELAY = 0.4
"""Seconds from a line of the metrics to the kill: some steps, saves between them."""
_CONFIG = """
model = "start"
out = "{out}"
seed = 5
[[data]]
environments = {names}
[training]
steps = {steps}
groups = 3
group_size = 2
learning_rate = 0.01
{more}
[checkpoints]
every = 2
[validation]
environments = {held_out}
every = 4
[log]
tensorboard = false
"""
_SHORT = """
[limits]
turns = 2
turn_tokens = 4
"""
_SUPERVISED = """
[limits]
turns = 3
turn_tokens = 120
[objective]
kl = "loss"
kl_weight = 0.01
[signals.demonstrations]
members = 1
[signals.schedule]
stages = [3, 3, 2]
[signals.supervision]
kind = "reflections"
learning_rate = 0.01
"""
SUPERVISED_STEPS = 8


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, environments, and a configuration for each of four runs."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("killed")
    names = write_micro_bundles(folder / "environments", 3, questions=1, seed=5)
    save_start(folder / "start", size=SMALLEST)
    parts = {"names": json.dumps(names[:2]), "held_out": json.dumps(names[2:])}
    for kind, steps, more in (("", STEPS, _SHORT), ("-supervised", SUPERVISED_STEPS, _SUPERVISED)):
        for out in (f"whole{kind}", f"broken{kind}"):
            text = _CONFIG.format(out=out, steps=steps, more=more, **parts)
            (folder / f"{out}.toml").write_text(text)
    return folder


def start(place: Path, out: str) -> "subprocess.Popen[bytes]":
    script = Path(__file__).parents[1] / "support" / "told_run.py"
    environment = {
        **os.environ,
        "ASTRA_MCP_HOME": str(place / f"home-{out}"),
        "ASTRA_MCP_ENVIRONMENTS": json.dumps([str(place / "environments")]),
        "OMP_NUM_THREADS": "1",
    }
    with (place / f"{out}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", str(script), "rl", "--config", f"{out}.toml"],
            cwd=place,
            env=environment,
            stdout=log,
            stderr=log,
        )


def finish(place: Path, out: str) -> None:
    process = start(place, out)
    try:
        code = process.wait()
    finally:
        process.kill()
    assert code == 0, (place / f"{out}.log").read_text()[-4000:]


def last_step(metrics: Path) -> int:
    lines = metrics.read_bytes().split(b"\n")[:-1] if metrics.exists() else []
    return json.loads(lines[-1])["step"] if lines else -1


def kill_at(
    place: Path, step: int, delay: float, out: str = "broken", *, last: int = STEPS
) -> None:
    """Let the run go on, and kill it so long after it has told of a step."""
    process = start(place, out)
    metrics = place / out / "metrics.jsonl"
    try:
        while process.poll() is None and last_step(metrics) < step:
            time.sleep(0.005)
        until = time.monotonic() + delay
        while time.monotonic() < until and last_step(metrics) < last - 2:  # it must not end before
            time.sleep(0.005)
    finally:
        process.kill()
        code = process.wait()
    assert code == -signal.SIGKILL, (place / f"{out}.log").read_text()[-4000:]


def kill_behind(place: Path, out: str, file: Path) -> None:
    """Let the run go on, and kill it as soon as it has written that file, which an earlier one may have."""

    def written() -> int | None:
        return file.stat().st_mtime_ns if file.exists() else None

    before = written()
    process = start(place, out)
    try:
        while process.poll() is None and written() in {None, before}:
            time.sleep(0.002)
    finally:
        process.kill()
        code = process.wait()
    assert code == -signal.SIGKILL, (place / f"{out}.log").read_text()[-4000:]


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for part in ("weights", "state")
        for path in (folder / part).rglob("*")
        if path.is_file()
    }


def timeless(metrics: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    return [{k: v for k, v in line.items() if "seconds" not in k} for line in lines]


def test_five_kills_at_random_moments_change_no_byte(place: Path) -> None:
    chance = generator(SEED, "kills")
    steps = sorted(chance.randrange(STEPS - 1) for _ in range(KILLS))
    for step in steps:
        kill_at(place, step, chance.uniform(0, MAX_DELAY))
    finish(place, "broken")
    finish(place, "whole")
    broken, whole = files_in(place / "broken"), files_in(place / "whole")
    assert sorted(broken) == sorted(whole)
    assert [name for name in whole if broken[name] != whole[name]] == []
    assert any(name.endswith("state.pt") for name in whole)
    metrics = [timeless(place / out / "metrics.jsonl") for out in ("broken", "whole")]
    assert metrics[0] == metrics[1]
    assert [line["step"] for line in metrics[0]] == [*range(STEPS + 1)]
    assert any(line.get("filling/buffered", 0) > 0 for line in metrics[0])


def test_kills_within_and_between_supervised_phases_change_no_byte(place: Path) -> None:
    broken, whole = (place / f"{out}-supervised" for out in ("broken", "whole"))
    delay = generator(SEED, "phases").uniform(0, MAX_DELAY)
    for step in (3, 6):  # behind which are phases
        name = f"step-{step:08d}"
        # With the first file the phase begins; the other comes behind its learning, and before its save.
        for file in (f"trajectories/{name}.jsonl", f"signals/gold/{name}.jsonl"):
            kill_behind(place, broken.name, broken / file)
        kill_at(place, step, delay, broken.name, last=SUPERVISED_STEPS)
    finish(place, broken.name)
    finish(place, whole.name)
    found, expected = files_in(broken), files_in(whole)
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []
    metrics = [timeless(each / "metrics.jsonl") for each in (broken, whole)]
    assert metrics[0] == metrics[1]
    learned = [line["step"] for line in metrics[0] if line.get("signals/lessons", 0) > 0]
    assert learned == [3, 6]
    reports = [[*sorted((each / "signals" / "phases").iterdir())] for each in (broken, whole)]
    assert [each.read_bytes() for each in reports[0]] == [each.read_bytes() for each in reports[1]]
    assert len(reports[0]) == 2
