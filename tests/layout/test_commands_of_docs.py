"""Every command that README and docs show exists, with each of its options."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from astra_mcp.cli.main import COMMANDS, load_command
from astra_mcp.serving.clients.client_configs import ClientName

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )?astra-mcp +(.*)$", re.MULTILINE)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Find the commands of code blocks, without their comments."""
    for page in PAGES:
        for block in re.findall(r"```\w*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in COMMAND.findall(block.replace("\\\n", " ")):
                words = shlex.split(re.split(r" {2,}(?!-)", line)[0], comments=True)
                yield f"{page.name}: {' '.join(words)}", words


def test_enough_commands_are_found() -> None:
    assert len({words[0] for _, words in commands()}) >= 7


@pytest.mark.parametrize(("place", "words"), list(commands()))
def test_the_command_and_its_options_exist(place: str, words: list[str]) -> None:
    assert words[0] in COMMANDS, place
    command, rest = load_command(words[0]), words[1:]
    while hasattr(command, "get_command"):
        command = command.get_command(None, rest.pop(0))
        assert command is not None, place
    known = {"--help"}.union(*([*p.opts, *p.secondary_opts] for p in command.params))
    asked = [word.partition("=")[0] for word in rest if word.startswith("--")]
    assert [word for word in asked if word not in known] == [], place
    if words[0] == "connect" and words[1].islower():
        assert words[1] in list(ClientName), place
