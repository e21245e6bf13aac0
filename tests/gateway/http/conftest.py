"""A gateway over in-memory servers on a real socket; and ``astra-mcp serve`` as a real process."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

from astra_mcp.environments.creation import create_bundle
from astra_mcp.serving.http.server import bind, listen, url_of
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question
from astra_mcp.testing.server import Function
from astra_mcp.types import PastCall, ServerKind
from gateway.api.directories import ServerDirectory
from gateway.api.seams import UpstreamSession
from gateway.api.settings import Interactive
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import Episodes, open_episodes

from command_line import Cli, Run, ServedHome, served_home
from relayed_servers import LEGACY, MODERN, open_client

CONTROL_KEY = "a control key for tests"


class CounterServer(InMemoryServer):
    """Adds up; echoes; waits until it is told to go on."""

    def __init__(self, name: str) -> None:
        super().__init__(name, make_functions=self._make_session, kind=ServerKind.ENVIRONMENT)
        self.keys: list[str] = []
        self.waiting, self.release = anyio.Event(), anyio.Event()

    def _make_session(self, seed: int) -> Sequence[Function]:
        total = 0

        def add(amount: int = 1) -> str:
            """Add coins to the purse."""
            nonlocal total
            total += amount
            return f"total {total}"

        def echo(text: str) -> str:
            """Say a text again."""
            return text

        async def wait(text: str) -> str:
            """Wait for a friend."""
            self.waiting.set()
            await self.release.wait()
            return text

        return add, echo, wait

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> UpstreamSession:
        self.keys.append(key)
        return super().open_session(key=key, seed=seed, past=past)


@pytest.fixture
def counter_server() -> type[CounterServer]:
    """Makes a server of a chosen name."""
    return CounterServer


ASKED = Question("How many?", "total 3", gold=[("add", {"amount": 3})])
"""What each server asks as an environment."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A gateway in this process, and how to reach it."""

    url: str
    home: Path
    episodes: Episodes
    servers: Mapping[str, CounterServer]
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
        interactive: Interactive = "all",
        **rules: Any,
    ) -> AsyncGenerator[Served]:
        named = {s.name: s for s in servers or (CounterServer("coins"), CounterServer("notes"))}
        catalog = InMemoryCatalog(*named.values(), questions=dict.fromkeys(named, ASKED))
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
                    interactive=interactive,
                ) as app,
                listen(app, listener),
                httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as control,
                httpx.AsyncClient(base_url=url, trust_env=False) as stranger,
            ):
                yield Served(
                    url=url,
                    home=tmp_path / "home",
                    episodes=episodes,
                    servers=named,
                    control=control,
                    stranger=stranger,
                )

    return open_it


@pytest.fixture
async def gateway(open_gateway: OpenGateway) -> AsyncIterator[Served]:
    """A gateway with the servers ``coins`` and ``notes``."""
    async with open_gateway() as served:
        yield served


@pytest.fixture(params=[LEGACY, MODERN], ids=["2025", "2026"])
def era(request: pytest.FixtureRequest) -> str:
    """One of the protocol's eras, as the SDK's client names it."""
    return request.param


@pytest.fixture
def sdk() -> Callable[..., AbstractAsyncContextManager[Client]]:
    """Opens the SDK's client at a URL."""
    return open_client


StartServe = Callable[..., ServedHome]


@pytest.fixture(scope="module")
def start_serve() -> Generator[StartServe]:
    """Starts gateway processes by home, options and variables, which end with the module."""
    with ExitStack() as stack:

        def start(
            home: Path, *options: str, launcher: Sequence[str] = (), **more: str
        ) -> ServedHome:
            running = stack.enter_context(served_home(home, *options, launcher=launcher, **more))
            stack.callback(running.process.kill)  # at once, whatever it has open
            return running

        yield start


@pytest.fixture(scope="session")
def served(counter_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[ServedHome]:
    """One gateway process with the bundled environments and the purse; tests do not stop it."""
    home = tmp_path_factory.mktemp("serve") / "home"
    with served_home(home, "--environments", str(counter_bundle)) as running:
        yield running


@pytest.fixture
def run_serve(tmp_path: Path) -> Callable[..., Run]:
    """Runs ``serve`` to its end in this process, for starts that must fail."""

    def run(*options: str, home: Path = tmp_path / "home", **variables: str) -> Run:
        return Cli(home).run("serve", *options, **variables)

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
    folder = create_bundle("purse", tmp_path_factory.mktemp("bundles"))
    integer, text = {"type": "integer"}, {"type": "string"}

    def tool(name: str, required: str, **properties: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        document = {**schema, "required": [required]}
        return {"name": name, "description": f"Tool {name}.", "input_schema": document}

    file = folder / "environment.json"
    document = json.loads(file.read_text()) | {
        "status": "unverified",
        "scenario_type": None,
        "gold": [],
        "sub_tasks": [{"id": 1, "answer": "never reached", "tool": "add"}],
        "tools": [
            tool("add", "amount", amount=integer),
            tool("say", "text", text=text, times={**integer, "default": 1}),
        ],
    }
    file.write_text(json.dumps(document))
    (folder / "tools.py").write_text(COUNTER_TOOLS)
    return folder
