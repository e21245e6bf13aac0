"""What a request of a rollout costs its own process: our connections beside httpx, in one run, as ratios.

    python -P benchmarks/rollout_client.py [--connections 64] [--calls 2000] [--rounds 5] [--json FILE]

Starts ``astra-mcp serve`` in a process of its own, under an empty home, and opens an episode for each
connection. All of them call at once, each its own episode, with the same client of an episode over both ways
to send; every answer is read and must be no error. Processor time is that of this process, with JSON and
checks on both sides of the request. Rounds go there and back, a ratio compares cells of one round, and a
figure is the median of the rounds with the least and the most in brackets.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE / "support"), *sys.path]

import anyio  # noqa: E402 - after the search path is right
import httpx  # noqa: E402

from gateway.api.client import EpisodeClient, GatewayClient  # noqa: E402
from gateway.api.connections import Answer, Connections, open_http  # noqa: E402
from gateway.api.wire import EpisodeRequest  # noqa: E402

from circumstances import conditions  # noqa: E402

LIMIT_MS = 0.3
"""What we aim at for a request at 64 connections."""
START_SECONDS = 60.0


class GeneralClient(Connections):
    """The same requests by an ``httpx.AsyncClient``."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        super().__init__()
        self._http = http

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Send one request, once."""
        sent = self._http.build_request(method, url, content=body, headers=dict(headers))
        answer = await self._http.send(sent)
        return Answer(url, answer.status_code, dict(answer.headers), answer.content)


@contextmanager
def gateway(home: Path) -> Generator[tuple[str, str]]:
    """Run a gateway; yields its address and its control key."""
    command = [sys.executable, "-P", "-m", "astra_mcp", "serve", "--port", "0", "--json"]
    environment = {**os.environ, "ASTRA_MCP_HOME": str(home)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    try:
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        said = json.loads(server.stdout.readline())
        yield said["url"], (home / "control.key").read_text(encoding="ascii").strip()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(START_SECONDS)


async def measure(connections: int, calls: int, rounds: int) -> dict[str, Any]:
    """Run the whole benchmark."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    with tempfile.TemporaryDirectory() as folder, gateway(Path(folder)) as (url, key):
        async with (
            GatewayClient(url, key) as control,
            open_http() as ours,
            httpx.AsyncClient(limits=limits, trust_env=False, timeout=60) as general,
        ):
            name = (await control.environments())[0].name
            [step, *_] = await control.gold(name)
            wanted = {"source": {"kind": "environment", "name": name}, "limits": {"calls": None}}
            request = EpisodeRequest.model_validate(wanted)
            created = await control.create_episodes([request] * connections)

            async def cell(http: Connections, count: int) -> float:
                """Milliseconds of processor time for each of so many calls over all connections."""

                async def play(mcp_url: str) -> None:
                    agent = EpisodeClient(mcp_url, http)
                    for _ in range(count // connections):
                        if (await agent.call(step.tool, step.arguments)).is_error:
                            raise SystemExit(f"{step.tool} of {name} answered with an error")

                began = process_time()
                async with anyio.create_task_group() as group:
                    for episode in created:
                        group.start_soon(play, episode.mcp_url)
                return (process_time() - began) * 1000 / (count // connections * connections)

            ways = {"kept": ours, "httpx": GeneralClient(general)}
            for way in ways.values():
                await cell(way, connections * 2)
            taken: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(rounds):
                for way in sorted(ways, reverse=bool(number % 2)):
                    taken[way].append(await cell(ways[way], calls))
    return {f"{way}_ms": _spread(found) for way, found in taken.items()} | {
        "ratio": _spread([a / b for a, b in zip(taken["kept"], taken["httpx"], strict=True)])
    }


def _spread(found: list[float]) -> dict[str, float]:
    middle, least, most = statistics.median(found), min(found), max(found)
    return {"median": round(middle, 4), "least": round(least, 4), "most": round(most, 4)}


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--calls", type=int, default=2000, help="of each way in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    if options.connections < 1 or options.rounds < 1 or options.calls < options.connections:
        parser.error("--calls must be at least --connections, and all of them at least 1")
    told = conditions(connections=options.connections, calls=options.calls, rounds=options.rounds)
    found = anyio.run(measure, options.connections, options.calls, options.rounds)
    for name, spread in found.items():
        print(f"{name:10} {spread['median']} ({spread['least']}-{spread['most']})")
    if options.json:
        flat = {
            f"{n}_{part}": value for n, spread in found.items() for part, value in spread.items()
        }
        text = json.dumps({**flat, "conditions": told.finished()}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")
    sys.exit(found["kept_ms"]["median"] > LIMIT_MS)


if __name__ == "__main__":
    main()
