"""A notebook bundle, a sandbox with short limits, and the servers made of both."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from servers.environment import EnvironmentServer


@pytest.fixture(scope="session")
def notebook_folder() -> Path:
    """The bundle on disk."""
    return Path(__file__).parent / "bundles" / "notebook"


@pytest.fixture(scope="session")
def notebook(notebook_folder: Path) -> Bundle:
    """The loaded bundle."""
    return load_bundle(notebook_folder)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a command: a home of its own and no PATH."""
    return {"ASTRA_MCP_HOME": str(tmp_path / "home"), "PATH": ""}


@pytest.fixture
async def sandbox() -> AsyncGenerator[Sandbox]:
    """The real sandbox; a call may take half a second, a result 64 KiB."""
    limits = SandboxLimits(soft_seconds=0.25, hard_seconds=0.5, result_bytes=64 << 10)
    async with open_sandbox(limits) as opened:
        yield opened


@pytest.fixture
def server(notebook: Bundle, sandbox: Sandbox) -> EnvironmentServer:
    """The notebook, published."""
    return EnvironmentServer(notebook, sandbox)
