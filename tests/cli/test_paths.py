"""Paths that cannot be: each is answered with one line, wherever it is named."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app

from command_line import Cli

HOME = "ASTRA_MCP_HOME"
IMPOSSIBLE = pytest.mark.parametrize("path", ["~nobody-of-this-name/x", "/" + "n" * 300])


@IMPOSSIBLE
@pytest.mark.parametrize(
    "command",
    [
        "connect cursor --write --path ",
        "connect cursor --server ",
        "run ",
        "serve --port 0 --environments ",
        "serve --port 0 --mcp-config ",
        "registry import ",
        "environments verify ",
        "rollout drone-show-winds --agent m --system-prompt @",
    ],
)
def test_a_path_that_cannot_be_is_refused(tmp_path: Path, command: str, path: str) -> None:
    done = Cli(tmp_path / "home").run(*f"{command}{path}".split())
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert path in done.stderr


@IMPOSSIBLE
def test_a_home_that_cannot_be_is_refused_and_hinders_no_tab(tmp_path: Path, path: str) -> None:
    cli = Cli(tmp_path / "home")
    assert path in cli.run("key", **{HOME: path}).stderr
    for variables in ({HOME: path}, {"ASTRA_MCP_ENVIRONMENTS": f'["{path}"]'}):
        checks = cli.run("doctor", "--json", **variables).told["checks"]
        assert any(path in check["detail"] for check in checks)
    words = {"COMP_WORDS": "astra-mcp episodes show ", "COMP_CWORD": "3", HOME: path}
    tab = {"_ASTRA_MCP_COMPLETE": "complete_bash", **words}
    done = CliRunner().invoke(app, [], env=tab, prog_name="astra-mcp", catch_exceptions=False)
    assert (done.exit_code, done.output) == (0, "\n")
