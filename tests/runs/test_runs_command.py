"""``astra-mcp runs``: the list, and one run by its id, its folder or its file."""

import json
from pathlib import Path

import pytest
import typer

from astra_mcp.cli.noting import noted
from astra_mcp.compose.runs.notes import NotedRun, RunKind, list_runs, note_run
from astra_mcp.report.html.parts import KeyFigure, Report
from training.sft.run_folder import RunFolder

from command_line import Cli

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


def a_training(folder: Path) -> Path:
    folder.mkdir()
    RunFolder(folder).log(1, {"loss": 0.5, "rollout/reward": 0.25})
    return folder


@pytest.mark.parametrize(("home", "is_of_a_folder"), [("home", True), ("/elsewhere", False)])
def test_a_home_of_one_folder_is_named_with_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    home: str,
    is_of_a_folder: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTRA_MCP_HOME", home)
    with noted(Path("home"), RunKind.ROLLOUT, command="rollout", name="n", key="k") as run:
        run.tell("1 of 1")
    told = " ".join(capsys.readouterr().err.split())
    assert f"astra-mcp open {run.id}" in told
    assert (f"cd {tmp_path} && astra-mcp open" in told) is is_of_a_folder


def test_a_noted_run_is_listed_shown_and_written_as_a_page(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    folder = a_training(tmp_path / "grpo")
    with note_run(
        tmp_path / "home", RunKind.TRAINING, command="train rl", name=HOSTILE, key="k", place=folder
    ) as run:
        run.tell("step 1 of 1")
        listed = cli.run("runs", "list", "--json")
    [row] = json.loads(listed.stdout)["runs"]
    assert (row["id"], row["state"], row["came_to"]) == (run.id, "running", "step 1 of 1")
    text = cli.run("runs", "list").stdout
    assert "done" in text
    other = cli.run("runs", "list", "--kind", "rollout").stderr
    assert "no rollout is noted yet; of other kinds, 1 run: leave --kind out" in other
    assert "\x1b[31m" not in text
    page = tmp_path / "page.html"
    shown = cli.run("runs", "show", run.id[:8], "--html", str(page), "--json")
    assert json.loads(shown.stdout)["figures"]["reward (rollouts)"] == "0.250"
    assert "reward (rollouts)" in page.read_text()
    (folder / "metrics.jsonl").rename(folder / "gone")
    refused = cli.run("runs", "show", run.id)
    assert (refused.returncode, "has no metrics.jsonl" in refused.stderr) == (2, True)


def test_a_run_that_is_not_noted_is_shown_by_its_folder(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    assert "no run is noted" in cli.run("runs", "list").stderr
    shown = cli.run("runs", "show", str(a_training(tmp_path / "sft")))
    assert "0.5000" in shown.stdout
    (tmp_path / "none").mkdir()
    for what, said in (
        (str(tmp_path / "none"), "is it the folder of a run"),
        ("r00", "no run of this id"),
        ("../x", "no run of this id"),
    ):
        refused = cli.run("runs", "show", what)
        assert refused.returncode != 0
        assert said in refused.stderr


def test_a_report_of_another_version_says_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with note_run(home, RunKind.SYNTHESIS, command="synth tasks", name="n", key="k") as run:
        run.tell("nothing")
    cli = Cli(home)
    assert "come to nothing yet" in cli.run("runs", "show", run.id).stderr
    (home / "runs" / f"{run.id}.report.json").write_text('{"name": "no title"}')
    assert "run its command again" in cli.run("runs", "show", run.id).stderr
    with note_run(home, RunKind.SYNTHESIS, command="synth tasks", name="n", key="k") as run:
        figure = KeyFigure(label="tasks", value="7")
        run.show(lambda: Report(title=HOSTILE, key_figures=[figure]), is_last=True)
    shown = cli.run("runs", "show", run.id).stdout
    assert "7" in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize("comes_to", ["", "step 1 of 2"])
def test_a_run_that_ends_before_it_came_to_anything_says_that_it_is_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], comes_to: str
) -> None:
    def fail(run: NotedRun) -> None:
        if comes_to:
            run.tell(comes_to)
        raise typer.Exit(1)

    with (
        pytest.raises(typer.Exit),
        noted(tmp_path, RunKind.TRAINING, command="train rl", name="n", key="k") as run,
    ):
        fail(run)
    told = capsys.readouterr().err
    assert f"open {run.id}" in told
    assert ("is not kept among the runs" in told) is (not comes_to)
    assert list_runs(tmp_path).num_all == bool(comes_to)
