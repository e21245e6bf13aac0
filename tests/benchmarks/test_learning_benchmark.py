"""The benchmarks of learning go through their arms from one start, and repeat nothing.

The start is far too small to earn anything, so what learns by rewards finds nothing to learn from, says so
and is judged all the same; that it learns where it can is for the benchmarks themselves to show.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SMALL = (
    *("--worlds", "4", "--environments", "3", "--oracle-steps", "25"),
    *("--steps", "1", "--groups", "1", "--group-size", "2"),
)
ARMS = "f1,random,sft,sft-rl"

pytestmark = [pytest.mark.train, pytest.mark.volume, pytest.mark.timeout(1800)]


class Bench:
    """Both programs, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, program: str, *arguments: str) -> tuple[str, dict[str, Any]]:
        """Run one to its end; what it said, and its figures."""
        figures = self._folder / "figures.json"
        kept = ("--folder", str(self._folder / "work"), "--json", str(figures))
        command = [sys.executable, "-P", f"benchmarks/{program}.py", *arguments, *SMALL, *kept]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout, json.loads(figures.read_text("utf-8"))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("learning"))


def test_an_arm_is_played_once_and_a_second_run_repeats_nothing(
    bench: Bench, tmp_path: Path
) -> None:
    asked = ("--seeds", "1", "--arms", "permuted", "--picture", str(tmp_path / "picture.svg"))
    said, figures = bench.run("learning", *asked)
    assert "step 25" in said
    assert [run["arm"] for run in figures["runs"]] == ["permuted"]
    assert figures["runs"][0]["cpu_seconds"] > 0
    assert (tmp_path / "picture.svg").read_text("utf-8").startswith("<svg")
    again, kept = bench.run("learning", *asked)
    assert ", step " not in again
    assert kept["runs"] == figures["runs"]


def test_curves_begin_with_that_start_and_a_second_run_repeats_nothing(
    bench: Bench, tmp_path: Path
) -> None:
    asked = ("--arms", ARMS, "--imitation-steps", "4", "--samples", "1")
    _, figures = bench.run("curves", *asked, "--pictures", str(tmp_path))
    assert [run["arm"] for run in figures["runs"]] == ARMS.split(",")
    assert {each.name for each in tmp_path.iterdir()} == {
        f"{name}.svg" for name in ("rewards", "distractors", "signals")
    }
    again, kept = bench.run("curves", *asked)
    assert ", step " not in again
    assert kept["runs"] == figures["runs"]
