"""Servers of others behind ``astra-mcp serve --mcp-config FILE``, and clients of the SDK in both eras.

The servers are the published packages in the versions named here, unchanged, each started by the gateway.
"""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from astra_mcp.types import JsonObject
from gateway.api.client import GatewayClient
from gateway.edge.keys import read_control_key

from installed_programs import node_path, npm_folder, python_of

NPM_VERSION = "2026.8.31"
TIME_VERSION = "2026.10.19"
SQLITE_VERSION = "2025.4.25"
STOP_SECONDS = 30
ERAS = {"handshake": "legacy", "modern": "2026-07-28"}


@dataclass(frozen=True, kw_only=True)
class Serving:
    """``astra-mcp serve``, running."""

    url: str
    home: Path
    process: subprocess.Popen[str]

    def server_url(self, name: str, caller: str | None = None) -> str:
        """Name the endpoint of one server, with a state of its own unless a caller is named."""
        return f"{self.url}/servers/{name}/mcp?caller={caller or uuid.uuid4().hex}"

    def control(self) -> GatewayClient:
        """Make a client of the control plane."""
        return GatewayClient(self.url, read_control_key(self.home))


Entries = dict[str, JsonObject]
StartGateway = Callable[[Path, Entries], AbstractContextManager[Serving]]


@pytest.fixture(scope="session")
def entries() -> Entries:
    """The servers as an mcpServers file holds them, by name.

    The three that keep state on disk keep it in the private folder of their session.
    """
    packages = [
        f"@modelcontextprotocol/server-{name}@{NPM_VERSION}"
        for name in ("everything", "filesystem", "memory")
    ]
    modules = npm_folder(f"servers-{NPM_VERSION}", *packages) / "node_modules"

    def script(name: str) -> str:
        return str(modules / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js")

    node = str(node_path())
    time = python_of(f"server-time-{TIME_VERSION}", f"mcp-server-time=={TIME_VERSION}")
    sqlite = python_of(
        f"server-sqlite-{SQLITE_VERSION}", f"mcp-server-sqlite=={SQLITE_VERSION}", "mcp==1.30.0"
    )
    start_sqlite = "from mcp_server_sqlite import main; main()"
    database = "${SESSION_DIR}/business.db"
    return {
        "everything": {"command": node, "args": [script("everything")]},
        "filesystem": {"command": node, "args": [script("filesystem"), "${SESSION_DIR}"]},
        "memory": {
            "command": node,
            "args": [script("memory")],
            "env": {"MEMORY_FILE_PATH": "${SESSION_DIR}/memory.jsonl"},
        },
        "time": {"command": str(time), "args": ["-m", "mcp_server_time"]},
        "sqlite": {"command": str(sqlite), "args": ["-c", start_sqlite, "--db-path", database]},
    }


@contextmanager
def serving(folder: Path, entries: Entries) -> Generator[Serving]:
    """Run a gateway with these servers beside the bundled environments."""
    folder.mkdir()
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    home = folder / "home"
    temporary = folder / "tmp"  # where a killed gateway leaves the folders of its sessions
    temporary.mkdir()
    command = [sys.executable, "-P", "-m", "astra_mcp", "serve", "--port", "0", "--json"]
    errors = folder / "stderr.txt"
    with (
        errors.open("w") as log,
        subprocess.Popen(
            [*command, "--mcp-config", str(file)],
            env={**os.environ, "ASTRA_MCP_HOME": str(home), "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, errors.read_text()
            yield Serving(url=json.loads(line)["url"], home=home, process=process)
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


@pytest.fixture(scope="session")
def start_gateway() -> StartGateway:
    """Starts a gateway in a new folder with chosen servers."""
    return serving


@pytest.fixture(scope="session")
def gateway(entries: Entries, tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A gateway with all of the servers."""
    with serving(tmp_path_factory.mktemp("real") / "gateway", entries) as running:
        yield running


@pytest.fixture(params=list(ERAS))
def era(request: pytest.FixtureRequest) -> str:
    """One of the protocol's eras, as the SDK's client names it."""
    return ERAS[request.param]


OpenClient = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def open_client(url: str, mode: str, **callbacks: Any) -> AsyncGenerator[Client]:
    """Open the SDK's client at a URL."""
    async with (
        httpx2.AsyncClient(timeout=30, trust_env=False) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,  # pyright: ignore[reportArgumentType] - a literal of the SDK
            cache=None,
            read_timeout_seconds=30,
            **callbacks,
        ) as client,
    ):
        yield client


@pytest.fixture
def sdk() -> OpenClient:
    """Opens the SDK's client: URL, era, and its callbacks."""
    return open_client


@pytest.fixture
async def control(gateway: Serving, anyio_backend: str) -> AsyncGenerator[GatewayClient]:
    """The control plane of the gateway."""
    async with gateway.control() as client:
        yield client
