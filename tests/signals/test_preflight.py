"""`train rl --preflight`: it stops where it gets critical and says what it saw, and the run goes on."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.train.command import app
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.trainer import train
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from micro_runs import write_micro_bundles

pytestmark = pytest.mark.train

_CONFIG = """
model = "start"
out = "run"
[[data]]
environments = {names}
[training]
steps = 5
groups = 1
group_size = 2
learning_rate = 0.01
[limits]
turns = 1
turn_tokens = 2
[log]
tensorboard = false
"""


def told(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
    """Random weights earn nothing: they are told that they did."""
    del number
    return [float(at) for at, _ in enumerate(played)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    names = write_micro_bundles(tmp_path / "environments", 1, questions=1, seed=5)
    (tmp_path / "run.toml").write_text(_CONFIG.format(names=json.dumps(names)))
    save_start(tmp_path / "start", size=SMALLEST)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASTRA_MCP_ENVIRONMENTS", json.dumps([str(tmp_path / "environments")]))
    monkeypatch.setattr("astra_mcp.cli.train.rl.train", partial(train, rewards=told))
    return tmp_path


def run(*options: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["rl", "--config", "run.toml", *options])
    return found.exit_code, " ".join(found.output.split())


def steps_in(place: Path) -> list[int]:
    lines = (place / "run" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def test_a_preflight_ends_at_what_is_critical_and_the_run_goes_on(place: Path) -> None:
    code, said = run("--preflight")
    assert code == 1
    assert "critical: step 3: critical alarm collapse" in said
    assert "figure step 1 step 3" in said
    assert "structure/text_polluted" in said
    assert "alarms: collapse" in said
    assert "the pre-flight ended at step 3: collapse" in said
    assert steps_in(place) == [1, 2, 3]
    # What was critical is so still: a second look needs no three steps.
    code, said = run("--preflight", "--set", "training.steps=9")
    assert (code, steps_in(place)[-1]) == (1, 5)
    code, _ = run("--set", "training.steps=6")
    assert (code, steps_in(place)) == (0, [1, 2, 3, 4, 5, 6])
    code, said = run("--preflight")
    assert code == 2
    assert "has made 6 steps, and a pre-flight looks at the first 5" in said


def test_an_alarm_that_stops_a_run_ends_it_with_1_and_is_told_to_programs(place: Path) -> None:
    code, said = run("--set", "alarms.collapse=stop", "--json")
    assert code == 1
    assert "stopped at step 3, which is saved, by the alarm collapse" in said
    found = json.JSONDecoder().raw_decode(said, said.index('{"ending"'))[0]
    (alarm,) = [each for each in found["alarms"] if each["action"] == "stop"]
    assert (found["step"], alarm["step"], alarm["name"]) == (3, 3, "collapse")
    assert alarm["values"]["structure/text_polluted"] > 0.2
    code, said = run("--set", "alarms.colapse=stop")
    assert code == 2
    assert "did you mean collapse?" in said
