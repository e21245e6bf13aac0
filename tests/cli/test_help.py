"""What ``--help`` shows of every command and option."""

from collections.abc import Iterator
from typing import Any

import pytest
from rich.markup import render
from typer.main import get_command

from astra_mcp.cli.main import app


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Name every help text below a command."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for each, below in getattr(command, "commands", {}).items():
        yield from helps(below, f"{name} {each}")


@pytest.mark.parametrize(("place", "text"), list(helps(get_command(app), "astra-mcp")))
def test_no_word_in_brackets_is_lost_as_markup(place: str, text: str) -> None:
    assert render(text).plain == text.replace("\\[", "["), place
