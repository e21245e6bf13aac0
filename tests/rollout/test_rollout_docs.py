"""docs/rollouts.md says what is so: its lists of options, fields and objects are whole."""

import re
from pathlib import Path

import pytest

from astra_mcp.call_record import FailureKind
from astra_mcp.cli.completing import BUILT_IN_AGENTS
from astra_mcp.cli.main import load_command
from astra_mcp.trajectory import SCHEMA_VERSION, CallNote, Trajectory

PAGE = (Path(__file__).parents[2] / "docs" / "rollouts.md").read_text(encoding="utf-8")


def first_cells() -> set[str]:
    """What the tables of the page are about."""
    rows = re.findall(r"^\| (.*?) \|", PAGE.replace(r"\|", "/"), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_the_page_names_every_option_of_the_command() -> None:
    command = load_command("rollout")
    options: set[str] = {
        name for parameter in command.params for name in parameter.opts if name[0] == "-"
    }
    documented = {word for cell in first_cells() for word in cell.split()}

    assert options - {"--help"} == {word for word in documented if word.startswith("--")}


@pytest.mark.parametrize("model", [Trajectory, CallNote])
def test_the_page_names_every_field_of_a_trajectory(
    model: type[Trajectory] | type[CallNote],
) -> None:
    assert {name for name in model.model_fields if f"`{name}`" not in PAGE} == set()
    assert f"`schema_version` {SCHEMA_VERSION}." in PAGE


def test_the_page_names_every_agent_and_kind_of_failure() -> None:
    named = (*BUILT_IN_AGENTS, *FailureKind)

    assert [name for name in named if f"`{name}`" not in PAGE] == []
