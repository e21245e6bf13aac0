"""``astra-mcp synth environments``: what it writes, what it keeps, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from astra_mcp.compose.runs.notes import RunState, list_runs

from command_line import Cli

MICRO = ("synth", "environments", "--families", "micro", "--out", "made", "--json")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Commands in a home of their own."""
    return Cli(tmp_path / "home")


def test_accepted_environments_are_written_once_and_kept_the_next_time(cli: Cli) -> None:
    first = cli.run(*MICRO, "--count", "2")
    again = cli.run(*MICRO, "--count", "3", "--no-acceptance")
    assert first.returncode == 0
    told = json.loads(first.stdout)
    assert (told["accepted"], told["kept"], told["model_calls"]) == (2, 0, 0)
    statuses = [
        json.loads(file.read_text(encoding="utf-8"))["status"]
        for file in sorted((cli.folder / "made").glob("*/environment.json"))
    ]
    assert statuses == ["verified"] * 2
    assert again.returncode == 2
    [run] = list_runs(cli.home).runs
    assert (run.state, run.note.figure) == (RunState.DONE, "2 accepted, 0 refused draws")
    assert "holds something else" in again.stderr  # verified ones are no unverified ones

    kept = cli.run(*MICRO, "--count", "2")
    assert json.loads(kept.stdout)["kept"] == 2


def test_splits_are_folders_of_their_own(cli: Cli) -> None:
    done = cli.run(*MICRO, "--count", "30", "--no-acceptance", "--split", "train=60,test=40")
    assert done.returncode == 0
    found = {f.parent.parent.name for f in (cli.folder / "made").glob("*/*/environment.json")}
    assert found == {"train", "test"}


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--families", "bokings", "bookings"),
        ("--split", "train=80,test=10", "90"),
        ("--split", "train:80", "train=80,validation=10,test=10"),
        ("--records", "9-3", "smaller first"),
        ("--hops", "many", "no range"),
        ("--near-misses", "1000", "from 0 to 4"),
        ("--split", "a=50,A=50", "named twice"),
        ("--language", "fr", "en and zh"),
        ("--type", "Multi", "Multi-Hop"),
        ("--split-by", "family", "--split"),
        ("--samples", "2", "--samples"),
        ("--domain", "trains", "no source"),
    ],
)
def test_what_an_option_cannot_mean_is_refused_with_what_it_can(
    cli: Cli, option: str, value: str, words: str
) -> None:
    done = cli.run(*MICRO, "--count", "1", option, value)
    assert done.returncode != 0
    assert words in done.stderr
    assert not (cli.folder / "made").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--demo", "--questions", "3"), "--questions"),
        (("--demo", "--records", "5-9"), "--records"),
        (("--demo", "--run", "mine"), "--run"),
        (("--domain", "trains", "--no-acceptance"), "--no-acceptance"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    cli: Cli, options: tuple[str, ...], words: str
) -> None:
    done = cli.run("synth", "environments", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_what_cannot_begin_prints_no_table_and_leaves_the_page_of_an_earlier_run(cli: Cli) -> None:
    cli.folder.mkdir(exist_ok=True)
    page = cli.folder / "page.html"
    page.write_text("an earlier run's")
    one = ("synth", "environments", "--domain", "trains", "--report", str(page), "--json")
    without_model = cli.run(*one)
    (cli.folder / "file").write_text("")
    models = {
        f"ASTRA_MCP_MODELS__{role}__{field}": value
        for role in ("GENERATOR", "JUDGE")
        for field, value in (("MODEL", "m"), ("BASE_URL", "http://127.0.0.1:9"))
    }
    asking = replace(cli, more=models)
    without_place = asking.run(*one, "--out", str(cli.folder / "file" / "made"))

    assert (without_model.returncode, without_model.stdout) == (2, "")
    assert "models.generator.model" in without_model.stderr
    assert (without_place.returncode, without_place.stdout) == (2, "")
    assert "file/made" in without_place.stderr
    assert page.read_text() == "an earlier run's"


@pytest.mark.parametrize("options", [["--out"], ["--audit", "3", "--audit-file"]])
def test_files_of_tasks_that_cannot_be_written_are_refused_before_anything_is_read(
    tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "tasks.jsonl")
    done = CliRunner().invoke(app, ["synth", "tasks", *options, place])
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr.replace("\n", " ")
