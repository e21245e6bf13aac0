"""What ``--help`` shows of every command and option."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.markup import render

from astra_mcp.cli.main import COMMANDS, load_command

from command_line import Cli

WIDTH = 78
"""Of a terminal of 80 columns; help keeps the lines of every paragraph but the first."""


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A command and all below it, by their whole names."""
    yield name, command
    for each, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {each}")


ALL = {
    place: command
    for name in COMMANDS
    for place, command in commands(load_command(name), f"astra-mcp {name}")
}


@pytest.mark.parametrize("place", ALL)
def test_no_word_in_brackets_is_lost_as_markup_and_no_line_breaks(place: str) -> None:
    command = ALL[place]
    told = [getattr(parameter, "help", None) or "" for parameter in command.params]
    for text in (command.help or "", *told):
        assert render(text).plain == text.replace("\\[", "["), place
    paragraphs = (command.help or "").partition("\n\n")[2].splitlines()
    assert [line for line in paragraphs if len(line) > WIDTH] == []


def test_commands_of_groups_are_among_them() -> None:
    assert "astra-mcp registry import" in ALL


@pytest.mark.parametrize("line", ["rollout", "environments show", ""])
def test_flags_take_no_value_and_arguments_stand_in_one_pair_of_brackets(
    line: str, tmp_path: Path
) -> None:
    shown = Cli(tmp_path / "home").run(*line.split(), "--help").stdout
    assert "<bool>" not in shown
    assert "[[" not in shown
