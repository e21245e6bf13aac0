"""`train rl` on a small model: what it says, and what it refuses before anything is loaded."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.train.command import app
from training.rollout.users.user import Users
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from micro_runs import write_micro_bundles
from policy_episodes import ScriptedUsers

pytestmark = pytest.mark.train

_CONFIG = """
model = "start"
out = "run"
[[data]]
environments = {names}
[training]
steps = 1
groups = 1
group_size = 2
learning_rate = 0.01
[filling]
max_refills = 0
[limits]
turns = 1
turn_tokens = 2
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with environments, and a configuration of a run that plays them."""
    names = write_micro_bundles(tmp_path / "environments", 2, questions=1, seed=5)
    (tmp_path / "run.toml").write_text(_CONFIG.format(names=json.dumps(names)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASTRA_MCP_ENVIRONMENTS", json.dumps([str(tmp_path / "environments")]))
    return tmp_path


def run(*options: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["rl", "--config", "run.toml", *options])
    return found.exit_code, " ".join(found.output.split())


def test_a_run_plays_what_its_file_names_and_says_why_it_ends(place: Path) -> None:
    save_start(place / "start", size=SMALLEST)
    code, said = run()
    assert code == 1
    assert "2, and 0 held out" in said
    assert "step 1: of 1 groups that were played, 0 can teach something" in said
    assert (place / "run" / "run.json").exists()


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("training.stps=3", "training.stps: there is no such setting; did you mean steps?"),
        ("filling.max_age=0", "filling.max_age: Input should be greater than or equal to 1"),
        ("model=nowhere", "nowhere"),
        ('data.0.distractors=[{mod="none"}]', "data.0.distractors.0.mod: there is no such setting"),
        ("limits.user_turns=3", "limits.user_turns goes with user.model"),
        ("alarms.kl=stop", 'alarms.kl is raised with objective.kl = "metric" or "loss" alone'),
        ("url=http://127.0.0.1:1/?key=k", "url: must hold no user, password or query"),
    ],
)
def test_what_is_wrong_is_named_and_leaves_no_folder(
    place: Path, assignment: str, message: str
) -> None:
    code, said = run("--set", assignment)
    assert code == 2
    assert message in said
    assert not (place / "run").exists()


def test_a_user_of_the_settings_speaks_in_training_and_in_validations(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_start(place / "start", size=SMALLEST)
    users, named = ScriptedUsers(), list[str | None]()

    @asynccontextmanager
    async def open_scripted(
        _settings: object, user: str | None, _option: str
    ) -> AsyncGenerator[Users]:
        named.append(user)
        yield users

    monkeypatch.setattr("astra_mcp.cli.train.rl.open_users", open_scripted)
    judged, learnt = sorted(path.name for path in (place / "environments").iterdir())
    (place / "run.toml").write_text(_CONFIG.format(names=json.dumps([learnt])))
    held_out = f"validation.environments={json.dumps([judged, judged])}"
    code, _ = run("--set", "user.model=talker", "--set", held_out)
    assert (code, named) == (1, ["talker"])
    assert len(users.met) == 2 + 2  # greedy, at T = 1, and a group of two


def test_nothing_is_judged_by_what_is_trained_on(place: Path) -> None:
    save_start(place / "start", size=SMALLEST)
    name = sorted(path.name for path in (place / "environments").iterdir())[0]
    code, said = run("--set", f"validation.environments={json.dumps([name])}")
    assert code == 2
    assert f"the main question of {name} is trained on, too" in said
    assert not (place / "run").exists()


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("limits.context_tokens=100000", "limits.context_tokens is 100000, and the model reads"),
        ("user.model=simulated", "user.model simulated is the model of models.user.model"),
    ],
)
def test_what_neither_the_model_nor_the_settings_can_do_leaves_no_folder(
    place: Path, assignment: str, message: str
) -> None:
    save_start(place / "start", size=SMALLEST)
    code, said = run("--set", assignment)
    assert code == 2
    assert message in said
    assert not (place / "run").exists()
