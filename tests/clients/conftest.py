"""Real clients: the MCP Inspector from npm on the Node of a wheel, and the servers that it talks to."""

import json
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from installed_programs import node_path, npm_folder

INSPECTOR = "2.12.0"
LAUNCHER = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
DEADLINE_SECONDS = 90
REPOSITORY = Path(__file__).parents[2]
ASTRA_MCP = (sys.executable, "-P", "-m", "astra_mcp")


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


@contextmanager
def listening(arguments: Sequence[str], home: Path) -> Generator[str]:
    """Run a command that listens and prints ``{"url": ...}``; give the URL."""
    environment = {"ASTRA_MCP_HOME": str(home), "PATH": ""}
    with subprocess.Popen(
        [*ASTRA_MCP, *arguments, "--port", "0", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@pytest.fixture(params=["run", "serve"])
def notebook_url(
    request: pytest.FixtureRequest, notebook_folder: Path, tmp_path: Path
) -> Generator[str]:
    """The notebook over HTTP: by itself, and as one server of the gateway."""
    home = tmp_path / "served"
    if request.param == "run":
        with listening(["run", str(notebook_folder), "--http"], home) as url:
            yield url
        return
    with listening(["serve", "--environments", str(notebook_folder)], home) as url:
        yield f"{url}/servers/notebook/mcp"


@pytest.fixture
def gateway_url(tmp_path: Path) -> Generator[str]:
    """A gateway with everything that is bundled."""
    with listening(["serve"], tmp_path / "served") as url:
        yield url
