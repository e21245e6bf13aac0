"""A gateway over in-memory servers on a real socket; and ``astra-mcp serve`` as a real process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.serving.http.server import bind, listen, url_of
from astra_mcp.testing import InMemoryCatalog, Question
from astra_mcp.types import (
    CallOutcome,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from gateway.api.seams import ServerDirectory
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import Episodes, open_episodes

from tools_only import ToolsOnly

CONTROL_KEY = "a control key for tests"
START_SECONDS = 60.0


class CounterSession:
    """Adds up; echoes; waits until it is told to go on."""

    def __init__(self, server: "CounterServer", past: Sequence[PastCall]) -> None:
        self.server = server
        self.total = 0
        for call in past:
            if call.outcome is CallOutcome.APPLIED:
                self._apply(call.tool, call.arguments)

    def _apply(self, tool: str, arguments: Mapping[str, JsonValue]) -> str:
        if tool == "add":
            self.total += int(str(arguments.get("amount", 1)))
            return f"total {self.total}"
        return str(arguments.get("text", ""))

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        del exchange
        self.server.executed += 1
        if tool == "wait":
            self.server.waiting.set()
            await self.server.release.wait()
        return UpstreamReply(
            result=ToolResult.from_text(self._apply(tool, arguments)),
            origin=Origin.TOOL,
            outcome=CallOutcome.APPLIED,
        )

    async def aclose(self) -> None:
        pass


TOOLS = tuple(
    ToolSpec(name=name, description=description, input_schema={"type": "object", "properties": {}})
    for name, description in (
        ("add", "Add coins to the purse"),
        ("echo", "Say a text again"),
        ("wait", "Wait for a friend"),
    )
)


@dataclass
class CounterServer(ToolsOnly):
    """A server whose sessions count."""

    name: str
    tools: tuple[ToolSpec, ...] = TOOLS
    version: str = "v1"
    kind: ServerKind = ServerKind.ENVIRONMENT
    warnings: tuple[str, ...] = ()
    executed: int = 0
    keys: list[str] = field(default_factory=list[str])
    waiting: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)

    def open_session(self, *, key: str, seed: int, past: Sequence[PastCall] = ()) -> CounterSession:
        del seed
        self.keys.append(key)
        return CounterSession(self, past)


@pytest.fixture
def counter_server() -> type[CounterServer]:
    """Makes a server of a chosen name and tool list."""
    return CounterServer


class CounterCatalog(InMemoryCatalog):
    """Environments whose answer is ``total 3``, solved by ``add``."""

    def __init__(self, *servers: CounterServer) -> None:
        self.servers = {server.name: server for server in servers}
        asked = Question("How many?", "total 3", gold=[("add", {"amount": 3})])
        super().__init__(*servers, questions=dict.fromkeys(self.servers, asked))


@dataclass(frozen=True, kw_only=True)
class Served:
    """A gateway in this process, and how to reach it."""

    url: str
    home: Path
    episodes: Episodes
    catalog: CounterCatalog
    control: httpx.AsyncClient
    """Sends the control key."""
    stranger: httpx.AsyncClient
    """Sends no key."""
    key: str = CONTROL_KEY

    async def episode(self, **body: Any) -> dict[str, Any]:
        """Create an episode of ``coins``."""
        source = {"kind": "environment", "name": "coins"}
        answer = await self.control.post("/v1/episodes", json={"source": source, **body})
        assert answer.status_code == 201, answer.text
        return answer.json()


OpenGateway = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def open_gateway(tmp_path: Path) -> OpenGateway:
    """Opens a gateway with chosen servers and rules; with the same home each time."""

    @asynccontextmanager
    async def open_it(
        *servers: CounterServer,
        max_open: int = 100,
        max_body_bytes: int = 65536,
        readiness: Callable[[], Sequence[str]] = tuple,
        directories: Sequence[ServerDirectory] = (),
        **rules: Any,
    ) -> AsyncGenerator[Served]:
        catalog = CounterCatalog(*(servers or (CounterServer("coins"), CounterServer("notes"))))
        metrics = Metrics()
        checked = access_rules(
            host="127.0.0.1", control_key=CONTROL_KEY, max_body_bytes=max_body_bytes, **rules
        )
        headers = {"Authorization": f"Bearer {CONTROL_KEY}"}
        with bind("127.0.0.1", 0) as listener:
            url = url_of(listener)
            async with (
                open_episodes(
                    catalog,
                    tmp_path / "home",
                    secret=derive_secret(CONTROL_KEY),
                    max_open=max_open,
                    sinks=(metrics,),
                ) as episodes,
                open_app(
                    catalog,
                    episodes,
                    rules=checked,
                    metrics=metrics,
                    directories=directories,
                    readiness=readiness,
                ) as app,
                listen(app, listener),
                httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as control,
                httpx.AsyncClient(base_url=url, trust_env=False) as stranger,
            ):
                yield Served(
                    url=url,
                    home=tmp_path / "home",
                    episodes=episodes,
                    catalog=catalog,
                    control=control,
                    stranger=stranger,
                )

    return open_it


@pytest.fixture
async def gateway(open_gateway: OpenGateway) -> AsyncIterator[Served]:
    """A gateway with the servers ``coins`` and ``notes``."""
    async with open_gateway() as served:
        yield served


ERAS = {"2025": "legacy", "2026": "2026-07-28"}


@pytest.fixture(params=list(ERAS))
def era(request: pytest.FixtureRequest) -> str:
    """One of the protocol's eras, as the SDK's client names it."""
    return ERAS[request.param]


OpenSdk = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def sdk() -> OpenSdk:
    """Opens the SDK's client at a URL."""

    @asynccontextmanager
    async def open_it(url: str, mode: str, *, key: str | None = None) -> AsyncGenerator[Client]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
            Client(
                streamable_http_client(url, http_client=http),
                mode=mode,  # pyright: ignore[reportArgumentType] - a literal of the SDK
                cache=None,
                read_timeout_seconds=30,
            ) as client,
        ):
            yield client

    return open_it


@dataclass(kw_only=True)
class ServeProcess:
    """``astra-mcp serve``, running."""

    process: subprocess.Popen[str]
    url: str
    home: Path

    @property
    def key(self) -> str:
        """The control key that it made."""
        return (self.home / "control.key").read_text().strip()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return self.process.wait(START_SECONDS)


StartServe = Callable[..., ServeProcess]


def command(*options: str) -> list[str]:
    """Name the command as a child process starts it."""
    return [sys.executable, "-P", "-m", "astra_mcp", "serve", *options]


def environment_of(home: Path, **variables: str) -> dict[str, str]:
    """Set the variables of a child process with an own home."""
    return {**os.environ, "ASTRA_MCP_HOME": str(home), **variables}


@contextmanager
def serve_processes() -> Generator[StartServe]:
    """Start ``astra-mcp serve --port 0 --json`` any number of times; all are stopped at the end."""
    started: list[ServeProcess] = []

    def start(home: Path, *options: str) -> ServeProcess:
        process = subprocess.Popen(
            command("--port", "0", "--json", *options),
            env=environment_of(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home.parent,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            _, errors = process.communicate(timeout=START_SECONDS)
            pytest.fail(f"serve did not start: {errors}")
        found = ServeProcess(process=process, url=json.loads(line)["url"], home=home)
        started.append(found)
        return found

    try:
        yield start
    finally:
        for running in started:
            if running.process.poll() is None:
                running.stop(signal.SIGKILL)
            running.process.communicate()


@pytest.fixture(scope="module")
def start_serve() -> Generator[StartServe]:
    """Starts gateway processes, which end with the module."""
    with serve_processes() as start:
        yield start


@pytest.fixture(scope="session")
def served(
    counter_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Generator[ServeProcess]:
    """One gateway process with the bundled environments and the purse; tests do not stop it."""
    home = tmp_path_factory.mktemp("serve") / "home"
    with serve_processes() as start:
        yield start(home, "--environments", str(counter_bundle))


RunServe = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_serve(tmp_path: Path) -> RunServe:
    """Runs ``serve`` to its end in this process, for starts that must fail."""

    def run(*options: str, home: Path | None = None, **variables: str) -> Any:
        settings = {"ASTRA_MCP_HOME": str(home or tmp_path / "home"), **variables}
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            done = CliRunner().invoke(app, ["serve", *options], env=settings)
        return subprocess.CompletedProcess(options, done.exit_code, done.stdout, done.stderr)

    return run


COUNTER_TOOLS = '''"""Counts, wherever its calls come from."""

TOTAL = {"total": 0}


def add(amount: int) -> dict:
    """Add to the total."""
    TOTAL["total"] += amount
    return dict(TOTAL)


def say(text: str, times: int = 1) -> dict:
    """Repeat a text."""
    return {"said": text * times}
'''


@pytest.fixture(scope="session")
def counter_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with a state that tells how many calls took effect."""
    folder = tmp_path_factory.mktemp("bundles") / "purse"
    folder.mkdir()
    integer, text = {"type": "integer"}, {"type": "string"}

    def tool(name: str, required: list[str], **properties: Any) -> dict[str, Any]:
        schema = {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        return {"name": name, "description": f"Tool {name}.", "input_schema": schema}

    document: dict[str, Any] = {
        "schema_version": 1,
        "name": "purse",
        "title": "A purse",
        "description": "Counts what is put into it.",
        "domain": "finance",
        "language": "en",
        "question": "How much is in the purse?",
        "sub_tasks": [{"id": 1, "answer": "never reached", "tool": "add"}],
        "tools": [
            tool("add", ["amount"], amount=integer),
            tool("say", ["text"], text=text, times={**integer, "default": 1}),
        ],
        "provenance": {"source": "original"},
    }
    server = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "dev.example/purse",
        "description": "A purse",
        "version": "1.0.0",
    }
    (folder / "environment.json").write_text(json.dumps(document))
    (folder / "server.json").write_text(json.dumps(server))
    (folder / "tools.py").write_text(COUNTER_TOOLS)
    return folder
