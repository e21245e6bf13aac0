"""The picture of learning shows what the figures say; the benchmark goes on where it was."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from learning_picture import draw_panels, reward_panel

ROOT = Path(__file__).parents[2]
FIGURES = (
    "worlds/greedy/reward",
    "worlds/sampled/reward",
    "names/greedy/reward",
    "names/sampled/reward",
)


def test_a_picture_has_a_line_for_each_seed_set_and_temperature() -> None:
    curve = [
        {"step": 50, **dict.fromkeys(FIGURES, 0.5)},
        {"step": 100, **dict.fromkeys(FIGURES, 1.0)},
    ]
    runs = [{"seed": seed, "curve": curve} for seed in (3, 4)]
    panels = [reward_panel(name, runs, f"{name}/") for name in ("worlds", "names")]
    drawn = ET.fromstring(draw_panels(panels, "Reward"))  # noqa: S314 - our own
    lines = drawn.findall(".//{*}polyline")
    assert len(lines) == 8
    for line in lines:
        heights = [float(point.split(",")[1]) for point in line.attrib["points"].split()]
        bottom, middle, top = heights
        assert middle - top == pytest.approx(bottom - middle)
        assert bottom > middle
    assert sum("stroke-dasharray" in line.attrib for line in lines) == 4
    said = [text.text for text in drawn.findall(".//{*}text")]
    assert {"seed 3", "seed 4"} <= {*said}


@pytest.mark.train
@pytest.mark.volume
@pytest.mark.timeout(900)
def test_the_benchmark_makes_plays_trains_and_judges_and_repeats_nothing(tmp_path: Path) -> None:
    small = ("--seeds", "1", "--steps", "4", "--every", "2", "--worlds", "12", "--held-out", "2")
    command = [sys.executable, "-P", "benchmarks/sft_learning.py", "--language", "en", *small]
    written = tmp_path / "figures.json"
    asked = [*command, "--folder", str(tmp_path / "work"), "--json", str(written)]
    first = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "seed 0, step 4" in first.stdout
    figures = json.loads(written.read_text("utf-8"))
    assert [row["step"] for row in figures["runs"][0]["curve"]] == [2, 4]
    assert figures["worlds_greedy_reward_min"] is not None
    assert figures["cpu_seconds_max"] > 0
    again = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "step" not in again.stdout
    assert json.loads(written.read_text("utf-8"))["runs"] == figures["runs"]
