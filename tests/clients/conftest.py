"""Real clients: the MCP Inspector from npm on the Node of a wheel, and the servers that it talks to."""

import json
import subprocess
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from astra_mcp.cli.main import app

from command_line import listening
from installed_programs import node_path, npm_folder

INSPECTOR = "2.12.0"
LAUNCHER = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
DEADLINE_SECONDS = 90
REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Inspector:
    """The Inspector's command line."""

    command: tuple[str, ...]
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one method against one server."""
        return subprocess.run(
            [*self.command, "--cli", "--format", "json", *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )

    def ask(self, *arguments: str) -> Any:
        """Run one method that succeeds and give its result."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["result"]


@pytest.fixture(scope="session")
def inspector_folder() -> Path:
    """The folder that the Inspector is installed in."""
    package = f"@modelcontextprotocol/inspector@{INSPECTOR}"
    return npm_folder(f"inspector-{INSPECTOR}", package)


@pytest.fixture
def inspector(inspector_folder: Path, tmp_path: Path) -> Inspector:
    """The Inspector with a home of its own."""
    node = node_path()
    launcher = inspector_folder / LAUNCHER
    environment = {
        "HOME": str(tmp_path),
        "PATH": str(node.parent),
        "MCP_CATALOG_PATH": str(tmp_path / "catalog.json"),
        "ASTRA_MCP_HOME": str(tmp_path / "home"),
    }
    return Inspector((str(node), str(launcher)), environment)


@pytest.fixture(scope="session")
def notebook_folder() -> Path:
    """The bundle that the tests of servers use."""
    return REPOSITORY / "tests" / "servers" / "bundles" / "notebook"


@pytest.fixture(params=["run", "serve"])
def notebook_url(
    request: pytest.FixtureRequest, notebook_folder: Path, tmp_path: Path
) -> Generator[str]:
    """The notebook over HTTP: by itself, and as one server of the gateway."""
    home = tmp_path / "served"
    if request.param == "run":
        with listening(home, "run", str(notebook_folder), "--http", PATH="") as running:
            yield running.url
        return
    with listening(home, "serve", "--environments", str(notebook_folder), PATH="") as running:
        yield f"{running.url}/servers/notebook/mcp"


@pytest.fixture
def gateway_url(tmp_path: Path) -> Generator[str]:
    """A gateway with everything that is bundled."""
    with listening(tmp_path / "served", "serve", PATH="") as running:
        yield running.url


Connect = Callable[..., Result]


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Run ``astra-mcp connect`` in a home and a working folder of its own."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name, value in {
        "HOME": tmp_path,
        "XDG_CONFIG_HOME": tmp_path / ".config",
        "ASTRA_MCP_HOME": tmp_path / "astra",
        "MCP_CATALOG_PATH": tmp_path / ".mcp-inspector" / "mcp.json",
        "CODEX_HOME": tmp_path / ".codex",
    }.items():
        monkeypatch.setenv(name, str(value))

    def run(*arguments: str | Path) -> Result:
        return CliRunner().invoke(app, ["connect", *map(str, arguments)])

    return run
