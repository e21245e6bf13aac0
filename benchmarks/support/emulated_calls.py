"""Every tool of a registry, called once at its own server's endpoint of a running gateway.

Starts ``astra-mcp serve`` over a home of its own and speaks MCP of the modern era to it, with no SDK in
between. Arguments are made from the tools' schemas. Knows the registry's database and the wire.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from astra_mcp.concurrency import map_concurrently
from astra_mcp.mcp.request_context import Era
from astra_mcp.types import JsonValue
from astra_mcp.values.schema_values import ValueMaker
from registry.published.publication import find_publication
from registry.store.database import Database
from registry.store.servers import load_servers

from mcp_wire import Kind, McpWire, open_pool
from process_accounts import resident_bytes

__all__ = [
    "CallOutcomes",
    "PlannedCall",
    "ServingGateway",
    "call_all",
    "plan_calls",
    "serving_gateway",
]

AT_ONCE = 16
STOP_SECONDS = 60.0
_MAX_FAULTS = 20


class PlannedCall(NamedTuple):
    """A call that a tool's schema takes."""

    server: str
    tool: str
    arguments: dict[str, JsonValue]


@dataclass
class CallOutcomes:
    """What became of the calls."""

    kinds: Counter[Kind] = field(default_factory=Counter[Kind])
    faults: list[str] = field(default_factory=list[str])
    """The first answers that are no results, or refuse arguments that are right."""
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ServingGateway:
    """A gateway process that answers."""

    url: str
    pid: int
    ready_seconds: float
    """From the start of the process."""
    emulated: int
    """Servers that it says it emulates."""

    @property
    def resident_mib(self) -> float:
        """Memory that it holds now."""
        return resident_bytes(self.pid) / 2**20


async def plan_calls(database: Database, *, seed: int) -> tuple[list[str], list[PlannedCall]]:
    """Name all kept servers, crawled ones included, and plan one call of each of their tools."""
    publication = await database.read(partial(find_publication, crawled=True))
    names = list(publication.servers)
    servers = await database.read(lambda session: load_servers(session, names))
    calls: list[PlannedCall] = []
    for server in servers:
        for tool in server.specs:
            made = ValueMaker(tool.input_schema).make(seed, language=server.language)
            assert isinstance(made, dict)  # noqa: S101 - the schema of arguments is an object's
            calls.append(PlannedCall(server.name, tool.name, made))
    return names, calls


@contextmanager
def serving_gateway(home: Path, **variables: str) -> Generator[ServingGateway]:
    """Serve a home, crawled servers included, while the block runs.

    Args:
        home: Holds the registry.
        variables: Further environment variables.
    """
    command = [sys.executable, "-P", "-m", "astra_mcp", "serve", "--port", "0", "--json"]
    environment = {
        **os.environ,
        "ASTRA_MCP_HOME": str(home),
        "ASTRA_MCP_EMULATORS__CRAWLED": "true",
        **variables,
    }
    began = time.perf_counter()
    with subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            told = json.loads(process.stdout.readline())
            yield ServingGateway(
                url=told["url"],
                pid=process.pid,
                ready_seconds=time.perf_counter() - began,
                emulated=told["emulated"],
            )
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


async def call_all(url: str, calls: Sequence[PlannedCall]) -> CallOutcomes:
    """Make the calls, several at once, each at the endpoint of its server.

    Args:
        url: Of the gateway.
        calls: In their order.
    """
    outcomes = CallOutcomes()
    began = time.perf_counter()
    async with open_pool() as pool:

        async def call(numbered: tuple[int, PlannedCall]) -> None:
            number, planned = numbered
            wire = McpWire(f"{url}/servers/{planned.server}/mcp", Era.MODERN, pool)
            answer = await wire.call(planned.tool, planned.arguments, f"call-{number}")
            outcomes.kinds[answer.kind] += 1
            is_refused = answer.kind is Kind.ERROR and answer.text.startswith("Invalid arguments")
            is_answered = answer.kind in (Kind.RESULT, Kind.ERROR) and not is_refused
            if not is_answered and len(outcomes.faults) < _MAX_FAULTS:
                place = f"{planned.server}/{planned.tool}"
                outcomes.faults.append(f"{place}: {answer.kind}: {answer.text[:300]}")

        await map_concurrently(call, enumerate(calls), limit=AT_ONCE)
    outcomes.seconds = time.perf_counter() - began
    return outcomes
