"""docs/registry.md says what is so: its commands run on its example, and its tables are whole."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from astra_mcp.cli.registry.importing import LISTING, LIVE
from registry.documents.sources import ServerReason, ToolReason
from registry.importers.detection import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "registry.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return text


def named_in_first_columns() -> set[str]:
    rows = re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_command_of_the_page_works_on_its_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harbour.json").write_text(block("json"))
    shown: dict[str, str] = {}
    for command in block("bash").splitlines():
        program, group, name, *arguments = shlex.split(command)
        assert (program, group) == ("astra-mcp", "registry")
        done = CliRunner().invoke(app, [group, name, *arguments])
        assert done.exit_code == 0, (command, done.output)
        shown[name] = done.stdout
    assert len(shown) == 6
    assert "harbour" in shown["list"]
    assert "vague_description" in shown["show"]
    assert "harbour_tide" in shown["search"]
    manifest = json.loads((tmp_path / "frozen" / "manifest.json").read_text())
    assert manifest["tools"]["kept"] == 3


def test_the_page_names_every_format() -> None:
    named = named_in_first_columns()
    assert {each.name for each in FORMATS} | {LISTING, LIVE} <= named


def test_the_page_names_every_reason() -> None:
    assert {reason.value for reason in (*ToolReason, *ServerReason)} <= named_in_first_columns()
