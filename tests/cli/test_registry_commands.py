"""``astra-mcp registry`` after an import: list, show, search, embed, stats and export."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from astra_mcp.cli.main import app
from registry.published.frozen import read_catalog
from registry.published.names import read_names

SERVICES = {
    "harbour": ("List the ships at a berth", "Tell the tide of an hour", "Compute the mooring fee"),
    "garden": ("Water the roses of a bed", "Tell when apples are ripe", "Cut the lawn to a height"),
}
DESCRIBED = {
    f"{service}_{n}": text for service, texts in SERVICES.items() for n, text in enumerate(texts)
} | {"lonely.one": "Sing a song about the sea"}
DOCUMENTS: list[dict[str, Any]] = [
    {"name": name, "description": text, "parameters": {"type": "object", "properties": {}}}
    for name, text in DESCRIBED.items()
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["registry", *arguments])


def told(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module", autouse=True)
def _registry(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """A home whose registry holds two servers that are kept and one that is not."""
    folder = tmp_path_factory.mktemp("registry")
    file = folder / "functions.json"
    file.write_text(json.dumps(DOCUMENTS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTRA_MCP_HOME", str(folder / "home"))
        patch.setenv("COLUMNS", "200")
        assert run("import", str(file)).exit_code == 0
        yield


def test_kept_servers_are_listed_by_name_page_by_page() -> None:
    listed = told("list")
    assert listed["total"] == 2
    assert [(s["name"], s["tools"]) for s in listed["servers"]] == [("garden", 3), ("harbour", 3)]
    first = run("list", "--limit", "1").stdout
    assert "garden" in first
    assert "`--after garden` goes on" in first
    assert [s["name"] for s in told("list", "--after", "garden")["servers"]] == ["harbour"]


def test_rejected_servers_are_listed_with_their_reason() -> None:
    for status in ("rejected", "too_few_tools"):
        [server] = told("list", "--status", status)["servers"]
        assert server["reason"] == "too_few_tools"
    assert told("list", "--status", "any")["total"] == 3
    assert told("list", "--status", "no_tools")["total"] == 0


def test_a_server_is_shown_with_its_tools_and_where_it_comes_from() -> None:
    server = told("show", "harbour")
    assert all(server[at].endswith("Z") for at in ("imported_at", "changed_at"))
    assert server["source"] == "functions"
    assert [t["tool"]["name"] for t in server["tools"]] == [f"harbour_{n}" for n in range(3)]
    shown = run("show", "harbour").stdout
    assert all(text in shown for text in SERVICES["harbour"])
    [rejected] = told("list", "--status", "rejected")["servers"]
    assert "server_rejected" in run("show", rejected["name"]).stdout


def test_a_server_is_found_by_the_name_that_its_source_has_and_several_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    originals = ("io.github.ann/ferries", "io.github.bob/ferries")
    for name in originals:
        file = tmp_path / "documents" / name / "server.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"name": name, "version": "1", "title": "Ferries"}))
    assert run("import", str(tmp_path / "documents")).exit_code == 0
    found = [told("show", name) for name in originals]
    assert [server["key"] for server in found] == [*originals]
    several = run("show", "Ferries")
    assert several.exit_code == 1
    assert "2 servers are called 'Ferries' by their sources" in several.stderr
    assert all(server["name"] in several.stderr for server in found)
    assert told("show", found[1]["name"]) == found[1]


def test_an_unknown_server_is_a_message_that_names_what_is_close() -> None:
    done = run("show", "harbor")
    assert done.exit_code == 1
    assert "did you mean harbour?" in done.stderr


def test_a_removed_server_is_told_and_an_unknown_one_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    file = tmp_path / "functions.json"
    file.write_text(json.dumps(DOCUMENTS))
    assert run("import", str(file)).exit_code == 0
    unknown = run("remove", "garden", "harbor")
    assert unknown.exit_code == 1
    assert "did you mean harbour?" in unknown.stderr
    assert told("list", "--status", "any")["total"] == 3
    removed = told("remove", "functions.json#harbour")
    assert [(s["name"], s["tools"], s["listed"]) for s in removed["removed"]] == [("harbour", 3, 3)]
    assert (removed["dropped_tools"], removed["kept_instead"]) == (3, [])
    assert read_names(tmp_path / "home").registered == ("garden",)
    shown = run("remove", "garden").stdout
    assert "removed garden" in shown
    assert "3 tools" in shown
    again = told("import", str(file))
    assert (again["added"], again["unchanged"]) == (2, 1)
    assert run("remove").exit_code == 2


@pytest.mark.parametrize("by", ["words", "vectors", "both"])
def test_tools_are_found_by_words_by_vectors_and_by_both(by: str) -> None:
    found = told("search", "ripe apples", "--by", by, "--limit", "2")
    assert found["hits"][0]["name"] == "garden_1"
    assert found["hits"][0]["servers"] == ["garden"]
    assert len(found["hits"]) <= 2
    assert (found["model"] is None) is (by == "words")
    assert found["searched"] == 6
    assert "garden_1" in run("search", "ripe apples", "--by", by).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "apples", "--by", "words", "--embedder", "lexical"], "needs no vectors"),
        (["label", "--by", "model", "--embedder", "lexical"], "add --by embedding"),
        (["label", "--by", "embedding", "--max-calls", "1"], "add --by model"),
        (["label", "--max-cost", "1"], "add --by model"),
        (["search", ""], "say what is searched for"),
        (["search", "  "], "say what is searched for"),
        (["list", "--status", "kept_not"], "too_few_tools"),
        (["embed", "--embedder", "endpoint"], "models.embedding.model"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_search_that_finds_nothing_says_in_how_much() -> None:
    assert told("search", "apples", "--domain", "finance")["hits"] == []
    assert "0 tools searched" in run("search", "apples", "--language", "zh").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list", "--source", "function"], "no source is 'function'; did you mean functions?"),
        (["list", "--source", "toucan"], "no source is 'toucan'; there are functions"),
        (["list", "--language", "zh"], "no language is 'zh'; there are en"),
        (["search", "apples", "--language", "zh"], "no language is 'zh'; there are en"),
        (["list", "--domain", "finance"], "nothing matches"),
        (["search", "apples", "--domain", "finance"], "nothing matches"),
    ],
)
def test_where_nothing_matches_the_values_that_exist_are_named(
    arguments: list[str], said: str
) -> None:
    done = run(*arguments)
    assert done.exit_code == 0
    assert said in done.stderr
    assert "name" not in done.stdout
    assert told(*arguments)


def test_a_narrow_list_folds_long_names_and_cuts_no_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    service = "a_harbour_whose_name_is_longer_than_a_column_of_a_table_can_be"
    functions = [{**document, "service": service} for document in DOCUMENTS[:2]]
    (tmp_path / "functions.json").write_text(json.dumps(functions))
    assert run("import", str(tmp_path / "functions.json")).exit_code == 0
    [server] = told("list", "--status", "any")["servers"]
    lines = run("list", "--status", "any").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("too_few_tools" in line for line in lines) == 1
    assert "".join(line.split(" ")[0] for line in lines[2:]) == server["name"]


def test_vectors_are_made_once_and_no_bar_leaves_a_trace_where_nobody_looks() -> None:
    assert run("embed").stderr == ""
    assert told("embed")["embedded"] == 0
    assert run("label", "--by", "embedding").stderr == ""


def test_the_funnel_adds_up() -> None:
    stats = told("stats")
    for what in ("servers", "tools"):
        funnel = stats[what]
        assert funnel["imported"] == funnel["kept"] + sum(funnel["rejected"].values())
        assert stats["sources"]["functions"][what] == funnel
    assert stats["servers"]["kept"] == 2
    assert stats["provenance"]["live"] == {"servers": 2, "tools": 6}
    shown = run("stats").stdout
    assert "too_few_tools" in shown
    assert "server_rejected" in shown


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_an_export_is_a_whole_catalog_and_is_made_once(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "frozen"
    first = told("export", str(folder), "--format", form)
    assert first["is_new"]
    assert first["manifest"]["servers"] == {"kept": 2, "rejected": 1}
    kept = [s.name for s in read_catalog(folder).servers if s.status == "kept"]
    assert kept == ["garden", "harbour"]
    assert not told("export", str(folder), "--format", form)["is_new"]
    assert first["manifest"]["content_hash"] in run("export", str(folder), "--format", form).stdout


def test_an_export_over_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = run("export", str(tmp_path))
    assert done.exit_code == 2
    assert "is taken" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_group_tells_its_commands_without_a_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "none"))
    shown = run("--help").stdout
    named = ("import", "list", "show", "search", "embed", "label", "stats", "export")
    assert all(name in shown for name in named)
    assert run("wrong").exit_code == 2
    assert not (tmp_path / "none").exists()


def test_a_database_that_does_not_answer_is_a_message_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASTRA_MCP_REGISTRY__URL", "postgresql://ann:secret@127.0.0.1:9/tools")
    done = run("stats")
    assert done.exit_code == 1
    assert "the registry tools at 127.0.0.1" in done.stderr
    assert "secret" not in done.output
