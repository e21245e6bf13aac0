"""A wrong value of an option is answered with the right ones, and with the closest of them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app


def refusal_of(*arguments: str) -> str:
    """Run a command that is used wrongly; returns what it says, without the frame around it."""
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "2000"})
    assert done.exit_code == 2
    assert "Value error" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["registry", "search", "x", "--by", "wrods"], "'both'; did you mean words?"),
        (["registry", "list", "--domain", "finace"], "did you mean finance?"),
        (["registry", "list", "--status", "kep"], "did you mean kept?"),
        (["episodes", "list", "--status", "close"], "did you mean closed?"),
        (["connect", "claude"], "did you mean claude-desktop or claude-code?"),
        (["serve", "--log-format", "jsn"], "'text', 'json'; did you mean json?"),
        (["registry", "import", "x", "--format", "tucan"], "did you mean toucan? there are"),
    ],
)
def test_the_value_that_is_probably_meant_is_named(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path))
    assert said in refusal_of(*arguments)


@pytest.mark.parametrize("value", ["xyzzy", "", "it's", "a\\"])
def test_where_no_value_is_close_all_are_named(value: str) -> None:
    said = refusal_of("registry", "label", "--by", value)
    assert "is not one of 'model', 'embedding'." in said
    assert "did you mean" not in said


def test_another_refusal_is_said_as_it_is() -> None:
    assert "--limit" in refusal_of("registry", "list", "--limit", "0")
