"""``astra-mcp environments import``: rows become bundles that are served and scored, or are named."""

import json
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from astra_mcp.environments.loading import load_bundle

from command_line import Cli
from completions_server import asks, open_completions_server, says
from published_rows import published_row, write_lines


def without_sandboxed_import() -> dict[str, Any]:
    """A row whose code needs what no sandbox offers."""
    row = published_row("Is it calm?")
    sources = json.loads(row["tool_dict"])
    sources["berth_finder"] = "import requests\n\n\n" + sources["berth_finder"]
    return {**row, "tool_dict": json.dumps(sources)}


def test_each_row_is_a_bundle_or_is_named_with_its_line_and_the_loaders_words(
    tmp_path: Path, cli: Cli
) -> None:
    broken = {**published_row(), "tool_dict": json.dumps({"tide_table": "def tide_table(): ..."})}
    rows = (published_row(), "garbage", broken, published_row(), without_sandboxed_import())
    file = write_lines(tmp_path / "rows.jsonl", *rows, published_row("潮水几点最高"))
    done = cli.run("environments", "import", str(file), "--out", "harbour", "--json")
    assert done.returncode == 1
    told = done.told
    names = told.pop("environments")
    errors = {each["line"]: each["reason"] for each in told.pop("errors")}
    counts = {"rows": 6, "written": 2, "unchanged": 0, "repeated": 1, "rejected": 3}
    assert told == counts
    assert errors.keys() == {2, 3, 5}
    assert "tools.py: berth_finder: define a top-level function" in errors[3]
    assert "requests" in errors[5]
    folder = tmp_path / "harbour"
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    documents = [load_bundle(folder / name).document for name in names]
    assert [(d.status, d.language) for d in documents] == [
        ("unverified", "en"),
        ("unverified", "zh"),
    ]


def test_the_same_rows_again_change_nothing_and_a_bundle_that_was_changed_is_kept(
    tmp_path: Path, cli: Cli
) -> None:
    file = write_lines(tmp_path / "rows.jsonl", published_row())
    arguments = ("environments", "import", str(file), "--out", str(tmp_path / "harbour"), "--json")
    (name,) = cli.run(*arguments).told["environments"]
    document = tmp_path / "harbour" / name / "environment.json"
    again = cli.run(*arguments)
    assert (again.returncode, again.told["unchanged"]) == (0, 1)
    document.write_text(document.read_text("utf-8").replace("ketch", "yawl"), "utf-8")
    before = document.read_bytes()
    refused = cli.run(*arguments)
    assert refused.returncode == 1
    assert "is there with other content" in refused.told["errors"][0]["reason"]
    assert document.read_bytes() == before


def test_rows_of_parquet_become_the_same_bundles_and_what_is_no_parquet_is_refused(
    tmp_path: Path, cli: Cli
) -> None:
    lines = write_lines(tmp_path / "rows.jsonl", published_row())
    first = cli.run("environments", "import", str(lines), "--out", "a", "--json").told
    exported = cli.run("export", "rl", "a", "--format", "rows", "--out", "rows.parquet")
    assert exported.returncode == 0, exported.stderr
    second = cli.run("environments", "import", "rows.parquet", "--out", "b", "--json").told
    assert second == first
    (tmp_path / "no.parquet").write_text("no")
    refused = cli.run("environments", "import", "no.parquet", "--out", "b")
    assert (refused.returncode, "is no Parquet" in refused.stderr) == (2, True)


@pytest.fixture
def harbour(tmp_path: Path, cli: Cli) -> Cli:
    """A home in which the environment of a row is published, beside the bundled ones."""
    file = write_lines(tmp_path / "rows.jsonl", published_row())
    assert cli.run("environments", "import", str(file), "--out", "harbour").returncode == 0
    (tmp_path / "astra.toml").write_text('environments = ["harbour"]\n')
    return cli


def test_an_agent_plays_the_environment_of_a_row_and_is_scored_by_the_rows_answers(
    harbour: Cli, tmp_path: Path
) -> None:
    (name,) = (path.name for path in (tmp_path / "harbour").iterdir())
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_completions_server()) as server,
    ):
        tide = asks(("a", "tide_table", {"port": "Aldport"}))
        berth = asks(("b", "berth_finder", {"port": "Aldport", "length_m": 11}))
        server.script.extend([tide, berth, says("At 18:00.")])
        played = harbour.play_model(server, name)
    assert played.returncode == 0, played.stderr
    (episode,) = played.told["episodes"]
    assert (episode["recall"], episode["calls"], episode["failure"]) == (1.0, 2, None)
    shown = server.requests[0]["messages"][0]["content"]
    assert '"background": "I sail a ketch of 11 m.\\nNo engine."' in shown
    assert shown.endswith("\n\nWhen can I berth my ketch in Aldport?")


def test_an_unverified_environment_has_no_oracle_and_says_so(harbour: Cli, tmp_path: Path) -> None:
    (name,) = (path.name for path in (tmp_path / "harbour").iterdir())
    done = harbour.run("rollout", "--agent", "oracle", name, "--json")
    (episode,) = done.told["episodes"]
    assert (done.returncode, episode["reward"]) == (1, None)
    assert "has no gold calls (it is unverified)" in episode["failure"]["message"]
