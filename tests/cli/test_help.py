"""What ``--help`` shows of every command and option."""

from collections.abc import Iterator
from typing import Any

import pytest
from rich.markup import render

from astra_mcp.cli.main import COMMANDS, load_command


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Name every help text below a command."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for each, below in getattr(command, "commands", {}).items():
        yield from helps(below, f"{name} {each}")


PLACES = [place for name in COMMANDS for place in helps(load_command(name), f"astra-mcp {name}")]


@pytest.mark.parametrize(("place", "text"), PLACES)
def test_no_word_in_brackets_is_lost_as_markup(place: str, text: str) -> None:
    assert render(text).plain == text.replace("\\[", "["), place
