"""`train demo`: what it writes, and what it refuses."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.train.command import app
from astra_mcp.cli.train.demo import Demo, run_demo
from astra_mcp.errors import ConfigError
from training.sft.configuring import read_settings, read_settings_of

pytest.importorskip("torch", reason="training needs the extra train")
pytestmark = pytest.mark.train


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that are given, none of which is run."""
    found: list[str] = []

    def note(demo: Demo, arguments: tuple[str, ...], shown: str | None = None) -> None:
        found.append(shown or " ".join(arguments))
        if arguments[0] == "synth":
            (demo.folder / arguments[-1] / f"micro-of-{arguments[-1]}").mkdir(parents=True)

    monkeypatch.setattr("astra_mcp.cli.train.demo._run", note)
    return found


def test_it_gives_the_commands_and_writes_the_settings_of_both_runs(
    given: list[str], tmp_path: Path
) -> None:
    from training.rl.native.settings import RlSettings  # noqa: PLC0415 - beside what may be missing

    folder = tmp_path / "demo"
    run_demo(Demo(folder=folder, seed=3, sft_steps=70, steps=5))
    assert [line.split()[0] for line in given] == ["synth", "synth", "rollout", "train", "train"]
    sft = read_settings(folder / "sft.toml", None, {})
    assert (sft.model, sft.out, sft.training.max_steps) == ("tiny", folder / "sft", 70)
    assert sft.data[0].file == folder / "oracle.jsonl"
    grpo = read_settings_of(RlSettings, folder / "grpo.toml", {})
    assert grpo.model == "sft/weights/step-00000042"
    assert grpo.data[0].environments == ("micro-of-worlds",)
    assert grpo.validation.environments == sft.validation.environments == ("micro-of-held_out",)
    assert (grpo.seed, grpo.training.steps) == (3, 5)


def test_a_folder_that_holds_something_else_is_refused(given: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(ConfigError, match="mine is no demo: name a new folder"):
        run_demo(Demo(folder=tmp_path / "mine"))
    run_demo(Demo(folder=tmp_path / "demo"))
    before = (tmp_path / "demo" / "demo.json").read_text()
    with pytest.raises(ConfigError, match="holds a demo with other options"):
        run_demo(Demo(folder=tmp_path / "demo", steps=7))
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file cannot be used"):
        run_demo(Demo(folder=tmp_path / "file"))
    assert (tmp_path / "demo" / "demo.json").read_text() == before
    assert len(given) == 5


def test_a_command_that_fails_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    found = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert found.exit_code == 1
    assert found.output.count("$ astra-mcp") == 1
