"""Paths that cannot be: each is answered with one line, wherever it is named."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app

from command_line import Cli

NOBODY = "~nobody-of-this-name/x"
LONG = "n" * 300
HOME = "ASTRA_MCP_HOME"


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        *(
            (arguments, path)
            for path in (NOBODY, LONG)
            for arguments in (
                ("connect", "cursor", "--write", "--path"),
                ("connect", "cursor", "--server"),
                ("serve", "--port", "0", "--environments"),
                ("serve", "--port", "0", "--mcp-config"),
                ("rollout", "drone-show-winds", "--agent", "m", "--system-prompt"),
            )
        ),
        (("run",), NOBODY),
        (("registry", "import"), LONG),
        (("environments", "verify"), LONG),
        (("rollout", "drone-show-winds", "--agent", "noop", "--out"), LONG),
    ],
)
def test_a_path_that_cannot_be_is_refused_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], path: str
) -> None:
    mark = {"--server": "./" * (path is LONG), "--system-prompt": "@"}.get(arguments[-1], "")
    done = Cli(tmp_path / "home").run(*arguments, mark + path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert path in done.stderr
    assert done.stderr.strip().count("\n") == 0


@pytest.mark.parametrize("path", [NOBODY, f"/{LONG}"])
def test_a_home_that_cannot_be_is_refused_and_hinders_no_tab(tmp_path: Path, path: str) -> None:
    cli = Cli(tmp_path / "home")
    refused = cli.run("key", **{HOME: path})
    assert refused.returncode == 2
    assert path in refused.stderr
    for variables in ({HOME: path}, {"ASTRA_MCP_ENVIRONMENTS": f'["{path}"]'}):
        checks = cli.run("doctor", "--json", **variables).told["checks"]
        assert any(path in check["detail"] for check in checks)
    words = {"COMP_WORDS": "astra-mcp episodes show ", "COMP_CWORD": "3", HOME: path}
    tab = {"_ASTRA_MCP_COMPLETE": "complete_bash", **words}
    done = CliRunner().invoke(app, [], env=tab, prog_name="astra-mcp", catch_exceptions=False)
    assert (done.exit_code, done.output) == (0, "\n")
