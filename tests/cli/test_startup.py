"""What the command line does before a command runs: it stops quietly, and loads little."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from astra_mcp.cli.completing import FLAGS, NAMED
from astra_mcp.cli.main import COMMANDS, app, load_command
from astra_mcp.cli.registry.importing import LISTING, LIVE
from astra_mcp.errors import BudgetSpentError
from astra_mcp.report.console import report_errors
from gateway.edge.keys import ensure_control_key
from registry.importers.detection import FORMATS
from registry.published.names import NameKind, write_names

from command_line import Cli


@pytest.mark.parametrize("loading", ["typer", "sqlmodel"])
def test_ctrl_c_while_the_program_loads_is_130_without_a_word(tmp_path: Path, loading: str) -> None:
    (tmp_path / f"{loading}.py").write_text("raise KeyboardInterrupt\n")
    cli = Cli(tmp_path / "home", {"PYTHONPATH": str(tmp_path)})
    assert cli.run_program("registry", "list") == (130, "", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_a_command_says_itself(name: str) -> None:
    first = load_command(name).help.partition("\n\n")[0]
    assert COMMANDS[name].help == " ".join(first.split())


def test_the_help_of_an_import_names_all_formats() -> None:
    command = load_command("registry").commands["import"]
    said = next(p.help for p in command.params if p.name == "form")
    names = ", ".join(each.name for each in FORMATS)
    assert said.startswith(f"{names}; of an address {LIVE} or {LISTING}.")


def loaded_by(*arguments: str, home: Path | None = None) -> set[str]:
    """The packages and first sub-packages that a command line imports."""
    environment = {**os.environ, "ASTRA_MCP_HOME": str(home)} if home else None
    code = f"""
import sys
sys.argv[1:] = {arguments!r}
from astra_mcp.__main__ import main
try:
    main()
except SystemExit:
    print("", *sorted(sys.modules), sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return {".".join(name.split(".")[:2]) for name in done.stdout.splitlines()}


def test_help_and_typing_errors_load_nothing_of_the_product() -> None:
    ours = {"registry", "servers", "gateway", "training", "pydantic", "anyio"}
    of_astra_mcp = {
        "astra_mcp.__main__",
        "astra_mcp.cli",
        "astra_mcp.text",
        "astra_mcp.report",
    }
    for line in (["--help"], ["episodez"]):
        loaded = loaded_by(*line)
        assert "astra_mcp.cli" in loaded
        assert not loaded & ours
        assert {name for name in loaded if name.startswith("astra_mcp.")} <= of_astra_mcp


SERVING = {"gateway.app", "gateway.agents", "mcp", "mcp_types", "fastapi", "uvicorn"}
SLOW = {"hypothesis", "openai", "sentence_transformers", "pyarrow"}


@pytest.mark.parametrize(
    ("line", "neither"),
    [
        ("connect cursor --json", {"numpy", "sqlalchemy", "httpx"}),
        ("episodes list --json", {"numpy", "httpx"}),
        ("registry list --json", {"registry.importers", "numpy", "sqlalchemy.dialects.postgresql"}),
        ("environments stats --json", {"numpy", "sqlalchemy", "jinja2"}),
        ("rollout --agent oracle --gateway http://127.0.0.1:1", {"numpy", "sqlalchemy"}),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_need(
    line: str, neither: set[str], tmp_path: Path
) -> None:
    ensure_control_key(tmp_path)
    loaded = loaded_by(*line.split(), home=tmp_path)
    assert "astra_mcp.compose" in loaded
    assert not loaded & (SERVING | SLOW | neither)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("astra-mcp run ", ["coins", "notes", "weather"]),
        ("astra-mcp run --http w", ["weather"]),
        ("astra-mcp rollout ", ["coins", "notes"]),
        ("astra-mcp rollout notes --ag", ["--agent"]),
        ("astra-mcp rollout --agent n", ["noop"]),
        ("astra-mcp rollout --agent oracle --json n", ["notes"]),
        ("astra-mcp rollout --server h", ["harbour"]),
        ("astra-mcp connect cursor --server h", ["harbour"]),
        ("astra-mcp environments show c", ["coins"]),
        ("astra-mcp environments show --go", ["--gold"]),
        ("astra-mcp environments stats n", ["notes"]),
        ("astra-mcp registry show ", ["weather"]),
        ("astra-mcp registry import --format to", ["toucan"]),
        ("astra-mcp episodes replay a", ["abc"]),
    ],
)
def test_a_tab_offers_what_is_published_and_the_options_of_the_command(
    tmp_path: Path, words: str, offered: list[str]
) -> None:
    write_names(tmp_path, NameKind.ENVIRONMENTS, ["notes", "coins"])
    write_names(tmp_path, NameKind.DEPLOYED, ["harbour"])
    write_names(tmp_path, NameKind.REGISTERED, ["weather"])
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "abc.jsonl").touch()
    env = {
        "_ASTRA_MCP_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "ASTRA_MCP_HOME": str(tmp_path),
    }
    done = CliRunner().invoke(app, [], env=env, prog_name="astra-mcp")
    assert done.stdout.split() == offered


def test_a_spent_budget_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as left, report_errors():
        raise BudgetSpentError("the budget of 5 calls is spent")
    assert left.value.exit_code == 1
    told = "the budget of 5 calls is spent; what was finished is kept: run it again to go on"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("place", [place for place in NAMED if " --" not in place])
def test_a_tab_knows_the_flags_of_commands_whose_arguments_it_completes(place: str) -> None:
    first, *below = place.split()
    command = load_command(first)
    for word in below:
        command = command.commands[word]
    assert {p.opts[0] for p in command.params if getattr(p, "is_flag", False)} <= FLAGS


def test_a_completion_that_cannot_be_installed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    (tmp_path / "file").touch()
    done = Cli(tmp_path / "home").run("--install-completion", HOME=str(tmp_path / "file"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "cannot be written" in done.stderr
