"""Servers of others behind ``astra-mcp serve --mcp-config FILE``, and clients of the SDK in both eras.

The servers are the published packages in the versions named here, unchanged, each started by the gateway.
"""

import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from mcp import Client

from astra_mcp.types import JsonObject
from gateway.api.client import GatewayClient

from command_line import ServedHome, served_home
from installed_programs import node_path, npm_folder, python_of
from relayed_servers import open_client

NPM_VERSION = "2026.8.31"
TIME_VERSION = "2026.10.19"
SQLITE_VERSION = "2025.4.25"
ERAS = {"handshake": "legacy", "modern": "2026-07-28"}


Entries = dict[str, JsonObject]
StartGateway = Callable[[Path, Entries], AbstractContextManager[ServedHome]]


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
def serving(folder: Path, entries: Entries) -> Generator[ServedHome]:
    """Run a gateway with these servers beside the bundled environments."""
    file = folder / "servers.json"
    temporary = folder / "tmp"  # where a killed gateway leaves the folders of its sessions
    temporary.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": entries}))
    options = ("--mcp-config", str(file))
    with served_home(folder / "home", *options, TMPDIR=str(temporary)) as served:
        yield served


@pytest.fixture(scope="session")
def start_gateway() -> StartGateway:
    """Starts a gateway in a new folder with chosen servers."""
    return serving


@pytest.fixture(scope="session")
def gateway(entries: Entries, tmp_path_factory: pytest.TempPathFactory) -> Generator[ServedHome]:
    """A gateway with all of the servers."""
    with serving(tmp_path_factory.mktemp("real") / "gateway", entries) as running:
        yield running


@pytest.fixture(params=list(ERAS))
def era(request: pytest.FixtureRequest) -> str:
    """One of the protocol's eras, as the SDK's client names it."""
    return ERAS[request.param]


OpenClient = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def sdk() -> OpenClient:
    """Opens the SDK's client: URL, era, and its callbacks."""
    return open_client


@pytest.fixture
async def control(gateway: ServedHome, anyio_backend: str) -> AsyncGenerator[GatewayClient]:
    """The control plane of the gateway."""
    async with gateway.control() as client:
        yield client
