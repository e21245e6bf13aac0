"""The benchmark of learning by rewards goes through all of its arms, and repeats nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARMS = "grpo,permuted,imitation"


@pytest.mark.train
@pytest.mark.volume
@pytest.mark.timeout(1500)
def test_each_arm_is_played_once_and_a_second_run_repeats_nothing(tmp_path: Path) -> None:
    small = ("--worlds", "6", "--environments", "6", "--oracle-steps", "50", "--steps", "2")
    command = [
        sys.executable,
        "-P",
        "benchmarks/learning.py",
        "--seeds",
        "1",
        "--arms",
        ARMS,
        *small,
    ]
    written, picture = tmp_path / "figures.json", tmp_path / "picture.svg"
    kept = ("--folder", str(tmp_path / "work"), "--json", str(written), "--picture", str(picture))
    subprocess.run([*command, *kept], cwd=ROOT, capture_output=True, text=True, check=True)
    figures = json.loads(written.read_text("utf-8"))
    assert [run["arm"] for run in figures["runs"]] == ARMS.split(",")
    assert figures["greedy_rise_min"] == figures["runs"][0]["greedy_rise"]
    assert figures["cpu_seconds_max"] > 0
    assert picture.read_text("utf-8").startswith("<svg")
    again = subprocess.run([*command, *kept], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "step" not in again.stdout
    assert json.loads(written.read_text("utf-8"))["runs"] == figures["runs"]
