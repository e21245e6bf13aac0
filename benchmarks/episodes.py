"""First figures of the gateway: creation, first call, call, and the memory of 1,000 live episodes.

    python benchmarks/episodes.py [--episodes 1000] [--json FILE]

Starts ``astra-mcp serve`` in a process of its own, under an empty home, and plays gold calls over real
HTTP. The environment is the bundled one whose episodes have the median anonymous memory. Memory is the
fall of MemAvailable from before the gateway starts to all episodes alive, gateway included.
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
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from astra_mcp import __version__
from astra_mcp.concurrency import map_concurrently
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.seams import GoldCall
from gateway.api.wire import EpisodeCreated, EpisodeRequest

SEED = 0
CONCURRENCY = 32
START_SECONDS = 60.0
REPEATS = 200
KIB = 1024


def mem_available() -> int:
    """Read MemAvailable, in bytes."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * KIB for line in lines if line.startswith("MemAvailable:"))


def descendants(root: int) -> dict[int, int]:
    """Map every descendant of a process to its anonymous resident memory, in bytes."""
    parents: dict[int, int] = {}
    anonymous: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "status").read_text(encoding="utf-8", errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue
            fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            parents[int(folder.name)] = int(fields["PPid"])
            anonymous[int(folder.name)] = int(fields.get("RssAnon", "0 kB").split()[0]) * KIB
    found: set[int] = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return {pid: anonymous[pid] for pid in found - {root}}
        found |= more


@contextmanager
def gateway(home: Path) -> Generator[dict[str, Any]]:
    """Run a gateway; yields what it printed at its start."""
    command = [sys.executable, "-P", "-m", "astra_mcp", "serve", "--port", "0", "--json"]
    environment = {**os.environ, "ASTRA_MCP_HOME": str(home)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    try:
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        yield {**json.loads(server.stdout.readline()), "pid": server.pid}
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(START_SECONDS)


def request(name: str) -> EpisodeRequest:
    """Ask for an episode that outlives the benchmark."""
    return EpisodeRequest.model_validate(
        {"source": {"kind": "environment", "name": name}, "seed": SEED, "limits": {"calls": None}}
    )


async def call_gold(client: GatewayClient, episode: EpisodeCreated, step: GoldCall) -> bool:
    """Play one gold call; tells whether it was answered without an error."""
    agent = EpisodeClient(episode.mcp_url, client.http)
    result = await agent.call(step.tool, step.arguments)
    return not result.is_error


async def median_environment(client: GatewayClient, pid: int) -> str:
    """Find the bundled environment whose episode process has the median anonymous memory."""
    sizes: list[tuple[int, str]] = []
    for info in await client.environments():
        [step, *_] = await client.gold(info.name)
        warm = await client.create_episode(request(info.name))
        await call_gold(client, warm, step)
        before = descendants(pid)
        episode = await client.create_episode(request(info.name))
        await call_gold(client, episode, step)
        sizes.append(
            (sum(size for p, size in descendants(pid).items() if p not in before), info.name)
        )
        await client.close_episode(warm.id)
        await client.close_episode(episode.id)
    return sorted(sizes)[len(sizes) // 2][1]


async def timed(work: Any) -> tuple[float, Any]:
    """Await; answers the milliseconds that it took, and its result."""
    began = time.perf_counter()
    result = await work
    return (time.perf_counter() - began) * 1000, result


async def sequential(client: GatewayClient, name: str, step: GoldCall) -> dict[str, float]:
    """Time creation, first call and further calls, one at a time."""
    creation: list[float] = []
    first: list[float] = []
    again: list[float] = []
    for _ in range(REPEATS // 4):
        took, episode = await timed(client.create_episode(request(name)))
        creation.append(took)
        first.append((await timed(call_gold(client, episode, step)))[0])
        again.extend([(await timed(call_gold(client, episode, step)))[0] for _ in range(4)])
        await client.close_episode(episode.id)
    return {
        "creation_p50_ms": statistics.median(creation),
        "warm_first_call_p50_ms": statistics.median(first),
        "call_p50_ms": statistics.median(again),
    }


async def measure(num_episodes: int) -> dict[str, Any]:
    """Run the whole benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        before = mem_available()
        with gateway(home) as started:
            key = (home / "control.key").read_text(encoding="ascii").strip()
            async with GatewayClient(started["url"], key) as client:
                name = await median_environment(client, started["pid"])
                [step, *_] = await client.gold(name)
                figures = await sequential(client, name, step)

                async def live(_: int) -> bool:
                    episode = await client.create_episode(request(name))
                    return await call_gold(client, episode, step)

                began = time.perf_counter()
                answered = await map_concurrently(live, range(num_episodes), limit=CONCURRENCY)
                took = time.perf_counter() - began
                used = before - mem_available()
                processes = len(descendants(started["pid"]))
    return {
        "environment": name,
        **{key: round(value, 3) for key, value in figures.items()},
        "live_episodes": num_episodes,
        "live_processes": processes,
        "answered_fraction": sum(answered) / num_episodes,
        "open_and_call_per_second": round(num_episodes / took, 1),
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
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000, help="live at once")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    figures = anyio.run(measure, options.episodes)
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
