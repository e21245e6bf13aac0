"""A gateway with all that can make one step of its event loop long: long records and lists, many tools.

Starts the real ``astra-mcp serve`` and sends it plain requests. Knows no load; see ``loop_loads``.
"""

import itertools
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import orjson

from gateway.api.client import PROTOCOL_VERSION, EpisodeClient, GatewayClient
from gateway.api.connections import Answer
from gateway.api.wire import EpisodeCreated, EpisodeRequest

from measured_programs import SUPPORT, run_serve

__all__ = ["ENVIRONMENT", "MANY_TOOLS", "STDIO", "LoopBench", "open_bench", "write_environments"]

ENVIRONMENT = "costly-00000"
STDIO, MANY_TOOLS = "stdio", "many-tools"
LIMITS = {"calls": 100_000, "idle_seconds": 604_800}
TOOLS_OF_ONE = 3_000
BATCH = 1_024
_AT = "2026-11-27T00:00:00.000000Z"
_ids = itertools.count(1)


@dataclass(slots=True)
class LoopBench:
    """The gateway under load, and what is asked of it."""

    control: GatewayClient
    pid: int
    url: str
    key: str
    home: Path
    first_line: bytes
    """Of the record of an episode that is open; others are made of it."""
    first_id: str
    long_episode: str
    """Id of an episode whose record is long."""
    draw: Random
    """Names the episodes that are made of files."""
    faults: dict[str, int] = field(default_factory=dict[str, int])
    """Answers that were none or not what was asked for, by what they were."""

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        expected: tuple[int, ...] = (200, 201),
    ) -> Answer:
        """Ask with the control key; counts answers of another status."""
        fields = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        url = f"{self.url}{path}"
        answer = await self.control.http.send(method, url, fields | dict(headers or {}), body)
        if answer.status not in expected:
            self.count_fault(f"{method} {path.split('?', maxsplit=1)[0][:24]}: {answer.status}")
        return answer

    async def post_mcp(
        self,
        path: str,
        method: str,
        params: Mapping[str, Any],
        *,
        expected: tuple[int, ...] = (200,),
    ) -> Answer:
        """Send one request of MCP 2026-07-28 by hand, with whatever parameters."""
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {**params, "_meta": {**meta, **params.get("_meta", {})}}
        body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL_VERSION,
            "Mcp-Method": method,
        }
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        return await self.send("POST", path, orjson.dumps(body), headers, expected=expected)

    def agent(self, episode: EpisodeCreated) -> EpisodeClient:
        """Speak to an episode."""
        return EpisodeClient(episode.mcp_url, self.control.http)

    def path_of(self, episode: EpisodeCreated) -> str:
        """The path of an episode's endpoint."""
        return urlsplit(episode.mcp_url).path

    def write_record(self, calls: int) -> str:
        """Write the record of an open episode with so many calls, yet to be read; gives its id."""
        id = f"{self.draw.getrandbits(128):032x}"
        first = self.first_line.replace(self.first_id.encode(), id.encode())
        path = self.home / "records" / f"{id}.jsonl"
        with path.open("wb") as file:
            file.write(first)
            for n in range(calls):
                file.writelines(_lines_of(n))
        return id

    def count_fault(self, what: str) -> None:
        """Note that an answer was not what was asked for."""
        self.faults[what] = self.faults.get(what, 0) + 1


def request_of(source: Mapping[str, object], **members: object) -> EpisodeRequest:
    """Ask for an episode that outlives the run."""
    return EpisodeRequest.model_validate({"source": source, "limits": LIMITS, **members})


def _lines_of(n: int) -> tuple[bytes, bytes]:
    text = f"words of call {n}"
    started = {
        "at": _AT,
        "event": "call_started",
        "n": n,
        "call_id": f"c{n}",
        "seq": None,
        "server": ENVIRONMENT,
        "tool": "echo",
        "shown": "echo",
        "arguments": {"text": text},
        "is_over_limit": False,
        "fault": None,
        "distractor": False,
    }
    result = {"content": [{"type": "text", "text": text}], "structured": None, "is_error": False}
    finished: dict[str, Any] = {
        "at": _AT,
        "event": "call_finished",
        "n": n,
        "origin": "tool",
        "outcome": "applied",
        "solved": [],
        "latency_ms": 1.5,
        "result": result,
    }
    return orjson.dumps(started) + b"\n", orjson.dumps(finished) + b"\n"


def write_environments(folder: Path, count: int) -> None:
    """Write environments of equal tools, whose results may be long and hold something to look for."""
    for number in range(count):
        name = f"costly-{number:05}"
        bundle = folder / name
        bundle.mkdir(parents=True)
        document = _DOCUMENT | {"name": name, "title": f"Costly {number}"}
        (bundle / "environment.json").write_bytes(orjson.dumps(document))
        (bundle / "server.json").write_bytes(
            orjson.dumps(_SERVER | {"name": f"example.org/{name}"})
        )
        (bundle / "tools.py").write_text(_CODE, encoding="utf-8")


def _tool(name: str, description: str, **properties: str) -> dict[str, object]:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": [*properties],
    }
    return {"name": name, "description": description, "input_schema": schema}


_DOCUMENT: dict[str, object] = {
    "schema_version": 1,
    "description": "Tools that say texts again; for measurements.",
    "status": "unverified",
    "domain": "education",
    "language": "en",
    "question": "How heavy is it, and when was it weighed?",
    "sub_tasks": [
        {"id": 1, "answer": "7319 kg", "tool": "fill"},
        {"id": 2, "answer": "14 March 2025", "tool": "fill"},
        {"id": 3, "answer": "Rolf Hagedorn", "tool": "echo"},
    ],
    "tools": [
        _tool("echo", "Say a text again.", text="string"),
        _tool("fill", "Say a text again and again.", unit="string", times="integer"),
        _tool("rows", "Make a table of so many rows.", number="integer"),
    ],
    "provenance": {"source": "original"},
}
_SERVER = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "description": "Says texts again.",
    "version": "1.0.0",
}
_CODE = '''"""Texts and tables."""


def echo(text: str) -> str:
    """Say a text again."""
    return text


def fill(unit: str, times: int) -> str:
    """Say a text again and again."""
    return unit * times


def rows(number: int) -> list:
    """Make a table."""
    return [{"row": n, "name": "a row of a table", "value": n * 1.5} for n in range(number)]
'''


@asynccontextmanager
async def open_bench(
    folder: Path, *, environments: int, episodes: int, long_calls: int, seed: int
) -> AsyncGenerator[LoopBench]:
    """Start the gateway, open episodes, and write a long record.

    Args:
        folder: Empty; takes the home and the environments.
        environments: How many there are.
        episodes: How many are open all the time.
        long_calls: Calls of the long record.
        seed: Decides the ids of the episodes that are made of files.
    """
    write_environments(folder / "environments", environments)
    command = [sys.executable, "-P", str(SUPPORT / "stdio_echo.py")]
    servers = {
        STDIO: {"command": command[0], "args": command[1:], "max_processes": 16},
        MANY_TOOLS: {"command": command[0], "args": [*command[1:], str(TOOLS_OF_ONE)]},
    }
    config = folder / "servers.json"
    config.write_bytes(orjson.dumps({"mcpServers": servers}))
    home = folder / "home"
    options = ("--environments", str(folder / "environments"), "--mcp-config", str(config))
    with run_serve(home, *options, log=folder / "log.txt") as program:
        key = str(program.hello["key"])
        async with GatewayClient(program.url, key) as control:
            request = request_of({"kind": "environment", "name": ENVIRONMENT})
            [first] = await control.create_episodes([request])
            for begin in range(1, episodes, BATCH):
                await control.create_episodes([request] * min(BATCH, episodes - begin))
            record = home / "records" / f"{first.id}.jsonl"
            line = record.read_bytes().splitlines(keepends=True)[0]
            bench = LoopBench(
                control=control,
                pid=program.pid,
                url=program.url,
                key=key,
                home=home,
                first_line=line,
                first_id=first.id,
                long_episode="",
                draw=Random(seed),  # noqa: S311 - no secret
            )
            bench.long_episode = bench.write_record(long_calls)
            yield bench
