"""The benchmark of curves: what it reads from the steps of a run, and that a second run repeats nothing."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ARMS = "f1,random,sft,sft-rl,mismatched"

pytestmark = pytest.mark.train


def run_of(rewards: list[float], **alarms: int) -> dict[str, Any]:
    """A run with a reward for each step, and alarms that hold from a step on."""
    steps = [
        {
            "step": step,
            "rollout/reward": reward,
            **{f"alarms/{name}": float(step >= since) for name, since in alarms.items()},
        }
        for step, reward in enumerate(rewards, 1)
    ]
    judged = {
        f"{kind}/{name}": 0.5 for kind in ("greedy", "sampled") for name in ("reward", "calls")
    }
    judged |= {"sampled/turns": 2.0}
    curve = [{"step": 0, **judged}, {"step": len(rewards), **judged}]
    return {"arm": "collapse", "seed": 1, "curve": curve, "steps": steps, "ended": None}


@pytest.mark.parametrize(
    ("rewards", "fell"),
    [
        ([0.2, 0.3, 0.4], None),
        ([0.4, 0.1, 0.3], None),
        ([0.4, 0.3, 0.1, 0.1], 3),
        ([0.0, 0.0], None),
    ],
)
def test_a_reward_fell_where_it_stays_below_half_of_its_best(
    rewards: list[float], fell: int | None
) -> None:
    from curve_figures import fall_of  # noqa: PLC0415 - it loads PyTorch

    assert fall_of(run_of(rewards)) == fell


def test_the_table_and_the_picture_say_when_alarms_came() -> None:
    from curve_figures import alarms_of, picture_of, table_of  # noqa: PLC0415

    run = run_of([0.4, 0.1, 0.1], polluted=2, collapse=3)
    assert alarms_of(run) == {"polluted": 2, "collapse": 3}
    assert "polluted 2, collapse 3" in table_of([run])
    drawn = picture_of("form", [run])
    assert drawn is not None
    assert len(ET.fromstring(drawn).findall(".//{*}polyline")) == 1  # noqa: S314 - our own
    assert picture_of("rewards", [run]) is None


@pytest.mark.volume
@pytest.mark.timeout(1500)
def test_arms_are_played_once_and_a_second_run_repeats_nothing(tmp_path: Path) -> None:
    small = ("--worlds", "6", "--environments", "6", "--oracle-steps", "50", "--steps", "1")
    command = [sys.executable, "-P", "benchmarks/curves.py", "--arms", ARMS, *small]
    command += ["--imitation-steps", "4", "--samples", "1"]
    written, pictures = tmp_path / "figures.json", tmp_path / "pictures"
    kept = ("--folder", str(tmp_path / "work"), "--json", str(written), "--pictures", str(pictures))
    subprocess.run([*command, *kept], cwd=ROOT, capture_output=True, text=True, check=True)
    figures = json.loads(written.read_text("utf-8"))
    assert [run["arm"] for run in figures["runs"]] == ARMS.split(",")
    assert {each.name for each in pictures.iterdir()} == {
        f"{name}.svg" for name in ("rewards", "distractors", "signals", "form")
    }
    again = subprocess.run([*command, *kept], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "step" not in again.stdout
    assert json.loads(written.read_text("utf-8"))["runs"] == figures["runs"]
