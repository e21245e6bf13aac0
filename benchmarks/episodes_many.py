"""Thousands of episodes open at once behind several workers: does each answer, and with its own state?

    python -P benchmarks/episodes_many.py [--episodes 2048] [--workers 2] [--json FILE]

Starts ``astra-mcp serve --workers N`` under an empty home. Every episode gets a nonce that no other has:
one call writes it into the episode's state, a second one, after all episodes have theirs, reads it back. An
answer that holds another nonce is counted as wrong, anything but an answer as an error. Memory is the fall of
MemAvailable from before the gateway starts to all episodes alive, gateway included.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from astra_mcp import __version__
from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import AstraError
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.connections import Connections
from gateway.api.wire import EpisodeCreated, EpisodeRequest

SEED = 0
CONCURRENCY = 32
BATCH = 512
START_SECONDS = 120.0
KIB = 1024
NAME = "nonce-keeper"

TOOLS = '''"""Keeps what it is given."""

KEPT = {"nonce": ""}


def keep(nonce: str) -> dict:
    """Keep a nonce."""
    KEPT["nonce"] = nonce
    return dict(KEPT)


def show(mark: str) -> dict:
    """Show the nonce."""
    return {"mark": mark, **KEPT}
'''


def write_bundle(folder: Path) -> Path:
    """Write an environment whose state is one nonce."""
    text = {"type": "string"}

    def tool(name: str, parameter: str) -> dict[str, Any]:
        schema = {
            "type": "object",
            "properties": {parameter: text},
            "required": [parameter],
            "additionalProperties": False,
        }
        return {"name": name, "description": f"Tool {name}.", "input_schema": schema}

    document: dict[str, Any] = {
        "schema_version": 1,
        "name": NAME,
        "title": "A nonce",
        "description": "Keeps what it is given.",
        "domain": "finance",
        "language": "en",
        "question": "Which nonce is kept?",
        "sub_tasks": [{"id": 1, "answer": "never reached", "tool": "show"}],
        "tools": [tool("keep", "nonce"), tool("show", "mark")],
        "provenance": {"source": "original"},
    }
    server = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"dev.example/{NAME}",
        "description": "A nonce",
        "version": "1.0.0",
    }
    bundle = folder / NAME
    bundle.mkdir()
    (bundle / "environment.json").write_text(json.dumps(document), encoding="utf-8")
    (bundle / "server.json").write_text(json.dumps(server), encoding="utf-8")
    (bundle / "tools.py").write_text(TOOLS, encoding="utf-8")
    return bundle


def mem_available() -> int:
    """Read MemAvailable, in bytes."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * KIB for line in lines if line.startswith("MemAvailable:"))


@contextmanager
def gateway(home: Path, workers: int, bundle: Path) -> Generator[dict[str, Any]]:
    """Run a gateway; yields what it printed at its start."""
    command = [sys.executable, "-P", "-m", "astra_mcp", "serve", "--port", "0", "--json"]
    command += ["--workers", str(workers), "--environments", str(bundle)]
    environment = {**os.environ, "ASTRA_MCP_HOME": str(home)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    try:
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        yield json.loads(server.stdout.readline())
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(START_SECONDS)


@dataclass(slots=True)
class Round:
    """What came of one call to every episode."""

    num_answers: int = 0
    num_wrong: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])
    latencies_ms: list[float] = field(default_factory=list[float])

    def p(self, percent: int) -> float:
        """A percentile of the latency, in ms."""
        return statistics.quantiles(self.latencies_ms, n=100)[percent - 1]


async def play_round(
    http: Connections, created: list[EpisodeCreated], tool: str, parameter: str
) -> Round:
    """Call every episode once; its nonce is made of its place."""
    outcome = Round()

    async def call(place: int) -> None:
        nonce = f"nonce-{place:06d}-{created[place].tools_hash[:6]}"
        value = nonce if tool == "keep" else f"mark-{place:06d}"
        began = time.perf_counter()
        try:
            result = await EpisodeClient(created[place].mcp_url, http).call(
                tool, {parameter: value}
            )
        except AstraError as error:
            outcome.errors[type(error).__name__] += 1
            return
        outcome.latencies_ms.append((time.perf_counter() - began) * 1000)
        if result.is_error:
            outcome.errors[result.text[:80]] += 1
            return
        answer = json.loads(result.text)
        outcome.num_answers += 1
        outcome.num_wrong += answer["nonce"] != nonce or answer.get("mark", value) != value

    await map_concurrently(call, range(len(created)), limit=CONCURRENCY)
    return outcome


async def measure(num_episodes: int, num_workers: int) -> dict[str, Any]:
    """Run the whole benchmark."""
    request = EpisodeRequest.model_validate(
        {"source": {"kind": "environment", "name": NAME}, "seed": SEED, "limits": {"calls": None}}
    )
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        bundle = write_bundle(Path(folder))
        before = mem_available()
        with gateway(home, num_workers, bundle) as started:
            key = (home / "control.key").read_text(encoding="ascii").strip()
            async with GatewayClient(started["url"], key) as client:
                began = time.perf_counter()
                created: list[EpisodeCreated] = []
                while len(created) < num_episodes:
                    wanted = min(BATCH, num_episodes - len(created))
                    created += await client.create_episodes([request] * wanted)
                opened_s = time.perf_counter() - began
                began = time.perf_counter()
                kept = await play_round(client.http, created, "keep", "nonce")
                first_s = time.perf_counter() - began
                used = before - mem_available()
                began = time.perf_counter()
                shown = await play_round(client.http, created, "show", "mark")
                second_s = time.perf_counter() - began
                workers = await client.workers()
    return {
        "episodes": num_episodes,
        "workers": num_workers,
        "open_per_worker": [w.open_episodes for w in workers],
        "answers": kept.num_answers + shown.num_answers,
        "errors": sum(kept.errors.values()) + sum(shown.errors.values()),
        "answers_to_the_wrong_episode": kept.num_wrong + shown.num_wrong,
        "kinds_of_errors": dict(kept.errors + shown.errors),
        "created_per_second": round(num_episodes / opened_s, 1),
        "first_calls_per_second": round(num_episodes / first_s, 1),
        "second_calls_per_second": round(num_episodes / second_s, 1),
        "first_call_p50_ms": round(kept.p(50), 3),
        "first_call_p99_ms": round(kept.p(99), 3),
        "second_call_p50_ms": round(shown.p(50), 3),
        "second_call_p99_ms": round(shown.p(99), 3),
        "memory_gib": round(used / 2**30, 3),
        "memory_per_episode_mib": round(used / 2**20 / num_episodes, 3),
        "conditions": {
            "astra_mcp": __version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "date": datetime.now(UTC).date().isoformat(),
            "seed": SEED,
            "concurrency": CONCURRENCY,
        },
    }


def main() -> None:
    """Measure, print, and write the figures where asked to; fail where an answer is missing or wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=2048, help="open at once")
    parser.add_argument("--workers", type=int, default=2, help="processes of the gateway")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    figures = anyio.run(measure, options.episodes, options.workers)
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    if figures["errors"] or figures["answers_to_the_wrong_episode"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
