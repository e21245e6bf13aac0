"""``astra-mcp export rl``: rows in two forms, one schema whatever they hold, and a card beside them."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from astra_mcp.answers import contains_answer
from astra_mcp.environments.loading import load_bundle
from astra_mcp.environments.rows.bundles import row_of_bundle
from gateway.api.wire import EpisodeRequest
from servers.bundled import bundled_folder
from training.export.columns import VERL_COLUMNS, arrow_schema

from command_line import Cli
from published_rows import published_row, write_lines

NAMES = sorted(folder.parent.name for folder in bundled_folder().glob("*/environment.json"))
NAME = "loan-overpayment"


def table_of(file: Path) -> Any:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    return parquet.read_table(file)


@pytest.fixture
def mixed(tmp_path: Path, cli: Cli) -> Cli:
    """A home with unverified environments in ``harbour``."""
    rows = (published_row(), published_row("潮水几点最高"))
    file = write_lines(tmp_path / "rows.jsonl", *rows)
    assert cli.run("environments", "import", str(file), "--out", "harbour").returncode == 0
    return cli


def test_verl_gets_a_row_for_each_seed_that_says_which_episode_to_open(
    mixed: Cli, tmp_path: Path
) -> None:
    arguments = (*NAMES, "harbour", "--seeds", "3", "--split", "test")
    done = mixed.run("export", "rl", *arguments, "--out", "rl/test.parquet", "--json")
    assert done.told == {"rows": 60, "environments": 20, "file": "rl/test.parquet"}
    rows = table_of(tmp_path / "rl/test.parquet").to_pylist()
    assert [row["extra_info"]["index"] for row in rows] == [*range(60)]
    for row in rows:
        told, reward = row["extra_info"], row["reward_model"]
        request = EpisodeRequest.model_validate_json(told["episode"])
        expected = {"kind": "environment", "name": told["environment"]}
        assert request.source.model_dump(exclude_unset=True) | {"kind": "environment"} == expected
        assert (request.seed, told["split"], told["question_id"]) == (told["seed"], "test", None)
        assert (row["data_source"], row["agent_name"], reward["style"]) == (
            "astra-mcp",
            "astra_mcp",
            "rule",
        )
    pairs = {(row["extra_info"]["environment"], row["extra_info"]["seed"]) for row in rows}
    assert len(pairs) == 60
    assert {row["extra_info"]["status"] for row in rows} == {"verified", "unverified"}


def test_no_answer_stands_in_the_prompt_of_a_bundled_environment(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("export", "rl", *NAMES, "--out", "rl.parquet").returncode == 0
    for row in table_of(tmp_path / "rl.parquet").to_pylist():
        bundle = load_bundle(bundled_folder() / row["extra_info"]["environment"])
        (message,) = row["prompt"]
        assert message == {"role": "user", "content": bundle.document.prompt}
        assert not any(contains_answer(message["content"], item.answer) for item in bundle.job)
        assert json.loads(row["reward_model"]["ground_truth"]) == {
            tool: [*answers] for tool, answers in row_of_bundle(bundle).answers.items()
        }


def test_the_schema_of_verl_rows_is_the_one_that_is_written_down(
    mixed: Cli, tmp_path: Path
) -> None:
    arrow: Any = importlib.import_module("pyarrow")
    for number, names in enumerate((["harbour"], NAMES)):
        file = f"{number}.parquet"
        assert mixed.run("export", "rl", *names, "--out", file).returncode == 0
        assert table_of(tmp_path / file).schema == arrow_schema(arrow, VERL_COLUMNS)


def test_rows_stand_in_lines_or_parquet_alike(mixed: Cli, tmp_path: Path) -> None:
    for ending in ("jsonl", "parquet"):
        options = ("--format", "rows", "--out", f"a.{ending}")
        assert mixed.run("export", "rl", NAME, "harbour", *options).returncode == 0
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == table_of(tmp_path / "a.parquet").to_pylist()
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--out", "rl.jsonl"), "verl reads Parquet"),
        (("--out", "rl.csv", "--format", "rows"), "must end in .jsonl, .ndjson or .parquet"),
        (("--out", "rl.jsonl", "--format", "rows", "--seeds", "2"), "--seeds is for --format verl"),
        (("--out", "mine.parquet"), "is there already"),
        (("no-such", "--out", "rl.parquet"), "no environment is named 'no-such'"),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing(
    arguments: tuple[str, ...], words: str, cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "mine.parquet").write_text("mine")
    refused = cli.run("export", "rl", *arguments)
    assert refused.returncode in (1, 2)
    assert words in refused.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["mine.parquet"]
    assert (tmp_path / "mine.parquet").read_text() == "mine"


def test_without_pyarrow_the_extra_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    refused = cli.run("export", "rl", NAME, "--out", "rl.parquet")
    assert (refused.returncode, "install astra-mcp[data]" in refused.stderr) == (2, True)
    assert not (tmp_path / "rl.parquet").exists()
    assert cli.run("export", "rl", NAME, "--format", "rows", "--out", "a.jsonl").returncode == 0


def test_a_card_says_what_the_file_holds_and_another_readme_is_never_touched(
    mixed: Cli, tmp_path: Path
) -> None:
    assert mixed.run("export", "rl", NAME, "harbour", "--out", "rl/a.parquet").returncode == 0
    assert mixed.run("export", "rl", NAME, "--out", "rl/b.parquet").returncode == 0
    card = (tmp_path / "rl/README.md").read_text("utf-8")
    assert "`b.parquet` holds 1 row of 1 tool environment," in card
    (tmp_path / "rl/README.md").unlink()
    assert mixed.run("export", "rl", NAME, "harbour", "--out", "rl/c.parquet").returncode == 0
    matter = yaml.safe_load((tmp_path / "rl/README.md").read_text("utf-8").split("---\n")[1])
    assert (matter["license"], matter["language"]) == (["apache-2.0", "unknown"], ["en", "zh"])
    assert matter["size_categories"] == ["n<1K"]
    names = [feature["name"] for feature in matter["dataset_info"]["features"]]
    assert names == [*VERL_COLUMNS]
    (tmp_path / "rl/README.md").write_text("mine")
    done = mixed.run("export", "rl", NAME, "--out", "rl/d.parquet")
    assert (done.returncode, "is not ours" in done.stderr) == (0, True)
    assert (tmp_path / "rl/README.md").read_text() == "mine"
