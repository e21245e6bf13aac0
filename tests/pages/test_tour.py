"""The example of a person's path: from the printed link to a played episode, a synthesis and a training."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from astra_mcp.compose.runs.notes import RunKind, note_run
from training.sft.run_folder import RunFolder

from command_line import Cli, served_home, variables

EXAMPLE = Path(__file__).parents[2] / "examples" / "tour.py"
STEPS = {
    *("start", "environments", "environment", "play", "episodes", "trajectory", "beside"),
    *("runs", "synthesis", "training"),
}


@pytest.mark.foreign
@pytest.mark.smoke
def test_a_person_plays_finds_compares_and_looks_at_runs_in_a_browser(tmp_path: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium: install Debian's package of this name")
    pytest.importorskip(
        "playwright.sync_api", reason="playwright not present: install the extra dev"
    )
    home = tmp_path / "home"
    cli = Cli(home)
    with served_home(home) as served:
        assert served.run_program("rollout", "--agent", "oracle", "rental-move-in").returncode == 0
        made = cli.run(
            "synth",
            "environments",
            *("--families", "micro", "--count", "2"),
            "--out",
            str(tmp_path / "more"),
        )
        assert made.returncode == 0, made
        folder = tmp_path / "trained"
        folder.mkdir()
        RunFolder(folder).log(1, {"loss": 1.0})
        kind = RunKind.TRAINING
        with note_run(home, kind, command="train sft", name="one", key="one", place=folder):
            pass
        shots = tmp_path / "shots"
        done = subprocess.run(
            [sys.executable, "-P", str(EXAMPLE), "--shots", str(shots), "--browser", "chromium"],
            env=variables(home),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.stdout == "the whole path was walked\n", done.stderr
    assert {path.stem for path in shots.iterdir()} == STEPS
