"""docs/environments.md says what is so: its commands run, its example is valid, its lists are whole."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from astra_mcp.environments.acceptance import Check
from astra_mcp.environments.bundle import EnvironmentDocument, GoldCall, ScenarioType, SubTask

PAGE = (Path(__file__).parents[2] / "docs" / "environments.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_command_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(commands) == 3
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "astra-mcp"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, (command, done.output)


def test_the_gold_call_of_the_page_is_valid() -> None:
    (text,) = blocks("json")
    assert GoldCall.model_validate(json.loads(text)).values == {
        "number": "BK-9038",
        "renewed": False,
    }


def test_the_page_names_every_check_field_and_scenario_type() -> None:
    rows = re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert {c.value for c in Check} <= named
    assert set(EnvironmentDocument.model_fields) <= named
    assert {s.value for s in ScenarioType} <= named
    assert all(f"`{field}`" in PAGE for field in SubTask.model_fields)
