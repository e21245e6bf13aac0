"""A gateway over servers that go wrong, everything in real processes; keeps account of every call.

The ledger of the servers says what was executed, the records say what the gateway knows, and the account here
says what clients were told. :meth:`FaultBench.verdict` holds the three against each other.
"""

import itertools
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import orjson

from astra_mcp.environments.creation import create_bundle
from astra_mcp.mcp.request_context import Era
from gateway.api.client import GatewayClient
from gateway.api.wire import EpisodeCreated, EpisodeRequest
from gateway.episodes.record import read_record

from mcp_wire import Answer, Kind, McpWire, open_pool
from measured_programs import SUPPORT, Program, run_program, run_serve

__all__ = ["ENVIRONMENT", "SERVERS", "Asked", "FaultBench", "Told", "Verdict", "open_bench"]

SERVERS = {
    "stdio-episode": ("stdio", "episode"),
    "stdio-shared": ("stdio", "shared"),
    "http-episode": ("http", "episode"),
    "http-shared": ("http", "shared"),
}
"""Servers that go wrong: their wire and their isolation."""
SENTINELS = ("quiet-stdio", "quiet-http")
"""Servers that never do."""
ENVIRONMENT = "numbered"
"""An environment whose ``count`` answers a nonce and its number in the episode."""
Serve = Callable[..., AbstractContextManager[Program]]
"""Starts a gateway: :func:`measured_programs.run_serve`, or what takes the same."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Asked:
    """One call, as a client made it."""

    call_id: str
    nonce: str
    fault: str = ""

    @property
    def arguments(self) -> dict[str, str]:
        """Of ``count``."""
        return {"nonce": self.nonce} | ({"fault": self.fault} if self.fault else {})


@dataclass(frozen=True, slots=True)
class Told:
    """What its client was told."""

    asked: Asked
    answer: Answer

    @property
    def is_right(self) -> bool:
        """True where the answer is the one that belongs to the call."""
        return self.answer.kind is Kind.RESULT and self.answer.text == self.asked.nonce


@dataclass(kw_only=True)
class Verdict:
    """What does not fit together; all empty where everything does."""

    executed_twice: list[str] = field(default_factory=list[str])
    """Nonces that the ledger has more than once."""
    never_executed: list[str] = field(default_factory=list[str])
    """Nonces of calls that were answered rightly."""
    unrecorded: list[str] = field(default_factory=list[str])
    """Call ids that were answered with a result, without a record of that result."""
    wrong: list[str] = field(default_factory=list[str])
    """Answers with a result that belongs to another call."""
    wordless: list[str] = field(default_factory=list[str])
    """Call ids whose error has no text."""
    traceback: str = ""
    """End of the gateway's log, where it holds a traceback."""
    calls: int = 0
    right: int = 0

    @property
    def faults(self) -> dict[str, Any]:
        """Whatever is not empty."""
        counted = {"calls", "right"}
        return {k: v for k, v in vars(self).items() if v and k not in counted}


class FaultBench:
    """One gateway's life among faults."""

    def __init__(self, folder: Path, pool: httpx2.AsyncClient, serve: Serve) -> None:
        self._folder = folder
        self._serve = serve
        self._pool = pool
        self._told: list[Told] = []
        self._executed: Counter[str] = Counter()
        self._read_to = 0
        self.gateway: Program | None = None
        """The running gateway; replaced where a scenario kills it."""
        self.upstream: Program | None = None
        """The running HTTP server."""

    @property
    def home(self) -> Path:
        """The gateway's home."""
        return self._folder / "home"

    @property
    def ledger(self) -> Path:
        """What the servers have executed."""
        return self._folder / "ledger"

    @property
    def log(self) -> Path:
        """The gateway's standard error."""
        return self._folder / "gateway.log"

    @property
    def url(self) -> str:
        """The gateway's address."""
        assert self.gateway is not None  # noqa: S101 - set by open_bench
        return self.gateway.url

    @contextmanager
    def run_upstream(self, port: int = 0) -> Generator[Program]:
        """Run the HTTP server."""
        script = [sys.executable, "-P", "-S", str(SUPPORT / "faulty_server.py")]
        options = ["--ledger", str(self.ledger), "--http", str(port)]
        with run_program([*script, *options]) as self.upstream:
            yield self.upstream

    @contextmanager
    def run_gateway(self, port: int = 0) -> Generator[Program]:
        """Run ``astra-mcp serve`` over the servers; the HTTP one runs already."""
        assert self.upstream is not None  # noqa: S101 - run_upstream comes first
        config = self._folder / "servers.json"
        config.write_bytes(orjson.dumps({"mcpServers": self._entries(self.upstream.url)}))
        options = ("--mcp-config", str(config), "--environments", str(self._folder / ENVIRONMENT))
        with self._serve(self.home, *options, log=self.log, port=port) as self.gateway:
            yield self.gateway

    def _entries(self, url: str) -> dict[str, dict[str, Any]]:
        script = ["-P", "-S", str(SUPPORT / "faulty_server.py"), "--ledger", str(self.ledger)]
        process = {"command": sys.executable, "args": script, "max_processes": 256}
        address = {"url": f"{url}/mcp"}
        wires = {"stdio": process, "http": address}
        entries = {
            name: {**wires[wire], "isolation": isolation}
            for name, (wire, isolation) in SERVERS.items()
        }
        return entries | {name: wires[name.removeprefix("quiet-")] for name in SENTINELS}

    @asynccontextmanager
    async def control(self) -> AsyncGenerator[GatewayClient]:
        """Open the control plane of the running gateway."""
        assert self.gateway is not None  # noqa: S101 - set by run_gateway
        async with GatewayClient(self.url, str(self.gateway.hello["key"])) as client:
            yield client

    async def episode(
        self, client: GatewayClient, server: str, *, call_seconds: float = 30.0
    ) -> EpisodeCreated:
        """Open an episode of one server, or of the environment."""
        limits = {"calls": None, "call_seconds": call_seconds}
        servers = {"kind": "servers", "names": [server]}
        environment = {"kind": "environment", "name": server}
        body = {"source": environment if server == ENVIRONMENT else servers, "limits": limits}
        return await client.create_episode(EpisodeRequest.model_validate(body))

    def wire(self, url: str, era: Era) -> McpWire:
        """Make a client of one endpoint."""
        return McpWire(url, era, self._pool)

    @staticmethod
    def ask(fault: str = "") -> Asked:
        """Think of a call that nobody has made yet."""
        number = next(_numbers)
        return Asked(call_id=f"call-{number}", nonce=f"nonce-{number}", fault=fault)

    async def tell(self, wire: McpWire, asked: Asked) -> Told:
        """Make a call, and note what came of it."""
        told = Told(asked, await wire.call("count", asked.arguments, asked.call_id))
        self._told.append(told)
        return told

    def executed(self) -> Counter[str]:
        """Count the executions of every nonce."""
        if self.ledger.exists():
            with self.ledger.open("rb") as file:
                file.seek(self._read_to)
                text = file.read()
            self._read_to += len(text)
            self._executed.update(text.decode().split())
        return self._executed

    def verdict(self) -> Verdict:
        """Hold the ledger, the records and what clients were told against each other."""
        executed = self.executed()
        recorded = self._recorded()
        found = Verdict(calls=len(self._told), right=sum(told.is_right for told in self._told))
        found.executed_twice = [nonce for nonce, times in executed.items() if times > 1]
        for told in self._told:
            asked, answer = told.asked, told.answer
            if answer.kind is Kind.RESULT:
                if not told.is_right:
                    found.wrong.append(f"{asked.nonce}: {answer.text[:100]}")
                if executed[asked.nonce] == 0:
                    found.never_executed.append(asked.nonce)
                if recorded.get(asked.call_id) != answer.text:
                    found.unrecorded.append(asked.call_id)
            elif not answer.text.strip():
                found.wordless.append(asked.call_id)
        found.traceback = self.traceback()
        return found

    def traceback(self) -> str:
        """The first traceback of the gateway's log; empty where there is none."""
        log = self.log.read_text(encoding="utf-8", errors="replace")
        return log[log.index("Traceback") :][:4000] if "Traceback" in log else ""

    def _recorded(self) -> dict[str, str]:
        """Map the id of every finished call to the text of its recorded result."""
        texts: dict[str, str] = {}
        for path in (self.home / "records").rglob("*.jsonl"):
            for call in read_record(path).finished_calls:
                texts[call.call_id] = call.result.text
        return texts


@asynccontextmanager
async def open_bench(folder: Path, serve: Serve = run_serve) -> AsyncGenerator[FaultBench]:
    """Start the servers and the gateway; they stop with the context.

    Args:
        folder: Empty; takes the home, the environment, the ledger and the log.
        serve: Starts gateways.
    """
    _write_environment(folder)
    async with open_pool() as pool:
        bench = FaultBench(folder, pool, serve)
        with ExitStack() as stack:
            stack.enter_context(bench.run_upstream())
            stack.enter_context(bench.run_gateway())
            yield bench


def _write_environment(folder: Path) -> None:
    bundle = create_bundle(ENVIRONMENT, folder)
    file = bundle / "environment.json"
    nonce = {"type": "object", "properties": {"nonce": {"type": "string"}}, "required": ["nonce"]}
    changes = {
        "status": "unverified",
        "scenario_type": None,
        "gold": [],
        "sub_tasks": [{"id": 1, "answer": "never reached", "tool": "count"}],
        "tools": [{"name": "count", "description": "Count.", "input_schema": nonce}],
    }
    file.write_bytes(orjson.dumps(orjson.loads(file.read_bytes()) | changes))
    (bundle / "tools.py").write_text(_COUNTING, encoding="utf-8")


_COUNTING = '''"""Numbers its calls."""

NONCES = []


def count(nonce: str) -> str:
    """Say a nonce again, and how many there were."""
    NONCES.append(nonce)
    return f"{nonce} is number {len(NONCES)}"
'''
