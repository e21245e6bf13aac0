"""What the command line does before a command runs: it stops quietly, and its help fits a terminal."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from astra_mcp.cli.main import app
from astra_mcp.errors import BudgetSpentError
from astra_mcp.report.console import report_errors

HELP_WIDTH = 78
"""Of a terminal of 80 columns; help keeps the lines of every paragraph but the first."""


@pytest.mark.parametrize("loading", ["typer", "sqlmodel"])
def test_ctrl_c_while_the_program_loads_is_130_without_a_word(tmp_path: Path, loading: str) -> None:
    (tmp_path / f"{loading}.py").write_text("raise KeyboardInterrupt\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "ASTRA_MCP_HOME": str(tmp_path / "home"),
    }
    command = [sys.executable, "-P", "-m", "astra_mcp", "registry", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def commands(group: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each command below a group, by its whole name, with its help."""
    context = typer.Context(group)
    for part in group.list_commands(context):
        command = group.get_command(context, part)
        yield f"{name} {part}", command.help or ""
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{name} {part}")


def test_no_line_of_a_help_text_breaks_in_a_terminal_of_80_columns() -> None:
    described = dict(commands(typer.main.get_command(app), "astra-mcp"))
    assert "astra-mcp registry import" in described
    broken = {
        name: line
        for name, text in described.items()
        for line in text.partition("\n\n")[2].splitlines()
        if len(line) > HELP_WIDTH
    }
    assert broken == {}


def test_a_spent_budget_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as left, report_errors():
        raise BudgetSpentError("the budget of 5 calls is spent")
    assert left.value.exit_code == 1
    told = "the budget of 5 calls is spent; what was finished is kept: run it again to go on"
    assert told in capsys.readouterr().err
