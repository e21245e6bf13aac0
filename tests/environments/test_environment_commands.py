"""``astra-mcp environments``, as a person and as a program call it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from astra_mcp.cli.main import app
from astra_mcp.environments.acceptance import Check

from workshop import BRANDT, SENDA, Workshop, carrying, put


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is both ``$ASTRA_MCP_HOME`` and the working folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("ASTRA_MCP_HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["environments", *map(str, arguments)])


def json_of(done: Result) -> Any:
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "words"), [("night-bus", "is there already"), ("Night Bus", "lower-case letters")]
)
def test_a_new_bundle_has_a_good_name_and_never_overwrites(
    home: Path, name: str, words: str
) -> None:
    notes = home / "night-bus" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine", encoding="utf-8")
    done = run("new", name)
    assert done.exit_code == 2
    assert words in done.stderr
    assert [*home.rglob("*")] == [notes.parent, notes]


def test_a_new_bundle_verifies_and_each_refused_one_is_reported(
    home: Path, workshop: Workshop
) -> None:
    made = run("new", "night-bus")
    assert made.exit_code == 0, made.stderr
    assert "environments verify night-bus" in made.stdout
    workshop.change_document(put("sub_tasks.1.answer", "Yes"))
    done = run("verify", workshop.path, home, "--json")
    assert done.exit_code == 1
    rows = {row["name"]: row for row in json_of(done)["environments"]}
    spent = rows["night-bus"].pop("spent")
    assert rows["night-bus"].pop("failed_checks") == []
    assert rows["night-bus"] == {"name": "night-bus", "verified": True, "remembered": False}
    assert 0 < spent["calls"] < spent["max_calls"]
    assert rows["small-library"]["verified"] is False
    checks = {f["check"] for f in rows["small-library"]["failed_checks"]}
    assert Check.SPECIFIC_ANSWER.value in checks
    assert "Traceback" not in done.stderr


def test_verify_reports_a_bundle_that_does_not_load(home: Path, workshop: Workshop) -> None:
    workshop.change_document(put("domain", "libraries"))
    done = run("verify", workshop.path)
    assert done.exit_code == 1
    assert "refused  small-library" in done.stdout
    assert "document: environment.json: domain: must be" in done.stdout
    assert "0 of 1 verified" in done.stdout


@pytest.mark.parametrize("what", ["nowhere", "."])
def test_verify_says_where_there_is_no_bundle(home: Path, what: str) -> None:
    done = run("verify", what)
    assert done.exit_code == 2
    assert "bundle" in done.stderr
    assert done.stdout == ""


def test_list_names_every_bundled_environment(home: Path) -> None:
    rows = json_of(run("list", "--json"))["environments"]
    assert [r["name"] for r in rows] == sorted(r["name"] for r in rows)
    table = run("list").stdout
    assert len(rows) >= 16
    assert all(r["name"] in table for r in rows)


def test_show_hides_the_gold_until_it_is_asked_for(home: Path, workshop: Workshop) -> None:
    for flag in ((), ("--json",)):
        hidden = run("show", workshop.path, *flag).stdout
        assert "Ida Moreau" in hidden
        assert "find_book" in hidden
        assert "BK-9038" not in hidden
        assert "2026-02-17" not in hidden
        assert "BK-9038" in run("show", workshop.path, "--gold", *flag).stdout


def test_show_lists_further_questions_and_shows_one_in_the_place_of_the_main_one(
    home: Path, workshop: Workshop
) -> None:
    workshop.change_document(carrying(BRANDT, SENDA))
    (home / "astra.toml").write_text(f'environments = ["{workshop.path}"]\n', encoding="utf-8")
    counts = {r["name"]: r["questions"] for r in json_of(run("list", "--json"))["environments"]}
    assert counts.pop("small-library") == 3
    assert {*counts.values()} == {1}
    shown = json_of(run("show", "small-library", "--json"))
    assert [q["id"] for q in shown["questions"]] == ["brandt-audio", "senda-audio"]
    for flag in ((), ("--json",)):
        one = run("show", "small-library", "--question", "brandt-audio", "--gold", *flag).stdout
        assert "BK-3957" in one
        assert "BK-9038" not in one


def test_show_suggests_the_closest_name(home: Path) -> None:
    first = json_of(run("list", "--json"))["environments"][0]["name"]
    done = run("show", first[:-1])
    assert done.exit_code == 1
    assert first in done.stderr


def test_gold_calls_are_shown_as_json(home: Path, workshop: Workshop) -> None:
    gold = json_of(run("show", workshop.path, "--gold", "--json"))["gold"]
    shown = run("show", workshop.path, "--gold").stdout
    assert all(json.dumps(g["arguments"], ensure_ascii=False) in shown for g in gold)


def test_stats_count_what_is_named_and_say_what_does_not_load(
    home: Path, workshop: Workshop
) -> None:
    assert run("new", "night-bus").exit_code == 0
    both = json_of(run("stats", "--json", "night-bus", "sold-prices"))
    assert (both["environments"], both["verified"], both["questions"]) == (2, 2, 2)
    assert both["sub_questions"]["histogram"] == {"2": 1, "5": 1}
    assert both["paper"]["mean_tool_calls"] == 3.98
    workshop.change_document(put("domain", "libraries"))
    done = run("stats", workshop.path, home)
    assert done.exit_code == 1
    assert "1 environment: 1 verified, 0 unverified" in done.stdout
    assert "small-library does not load and is not counted" in done.stderr
    assert "sold-prices" in run("stats", "sold-price").stderr


def test_stats_without_a_name_count_what_serve_publishes_and_write_a_report(home: Path) -> None:
    file = home / "report.html"
    done = run("stats", "--json", "--html", file)
    assert json_of(done)["questions"] == len(json_of(run("list", "--json"))["environments"])
    html = file.read_text(encoding="utf-8")
    assert all(row["name"] in html for row in json_of(run("list", "--json"))["environments"])
    assert "without hop levels" not in html
