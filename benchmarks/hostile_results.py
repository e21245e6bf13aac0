"""How long others wait while one episode gets results of 1 MiB that are made to be costly.

    python -P benchmarks/hostile_results.py [--seconds S] [--json FILE]

A gateway in a process of its own, one caller whose calls are timed one after another, and one that gets a
hostile result again and again, with an answer to look for. Figures are the caller's p99 as a ratio to that
of the same caller alone, before and after, in the same run.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402

from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question, open_test_gateway  # noqa: E402
from gateway.api.client import EpisodeClient, GatewayClient, open_http  # noqa: E402
from gateway.api.wire import (  # noqa: E402
    EpisodeLimits,
    EpisodeRequest,
    SourceEnvironment,
    SourceServers,
)

from circumstances import conditions  # noqa: E402 - after the search path is right

SIZE = 1 << 20
FAMILIES = ("a+", "2025年1月", "-7kg ", "plain words ")
"""What is repeated; the last one is ordinary text of the same size."""
PAUSE = 0.25
"""Seconds between two hostile results: a caller that waits for its own."""


def fill(unit: str) -> str:
    """Return a text of 1 MiB."""
    return unit * (SIZE // len(unit.encode()))


def add(number: int) -> str:
    """Return a small result."""
    return f"the sum is {number + 1}"


async def serve() -> None:
    """Serve both tools until the standard input ends."""
    asked = Question("How heavy is it?", "7 kg", gold=[("fill", {"unit": "7 kg"})])
    server = InMemoryServer("costly", fill)
    catalog = InMemoryCatalog(server, InMemoryServer("small", add), questions={"costly": asked})
    async with open_test_gateway(catalog) as gateway:
        print(json.dumps([gateway.url, gateway.key]), flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)


async def disturb(url: str, unit: str) -> None:
    """Get large results again and again until killed."""
    async with open_http() as http:
        agent = EpisodeClient(url, http)
        print(flush=True)
        while True:
            await agent.call("fill", {"unit": unit})
            await anyio.sleep(PAUSE)


async def measure(seconds: float) -> dict[str, float]:
    """Time a caller alone and beside each family."""
    with child("--serve") as line:
        url, key = json.loads(line)
        async with GatewayClient(url, key) as control:
            small = await opened(control, SourceServers(kind="servers", names=("small",)))
            costly = await opened(control, SourceEnvironment(kind="environment", name="costly"))
            agent = EpisodeClient(small, control.http)
            await p99(agent, 1)
            figures: dict[str, float] = {}
            for unit in FAMILIES:
                idle = [await p99(agent, seconds)]
                with child("--disturb", costly, unit):
                    beside = await p99(agent, seconds)
                idle.append(await p99(agent, seconds))
                figures[unit] = round(beside / (sum(idle) / 2), 2)
    return figures


async def opened(control: GatewayClient, source: SourceEnvironment | SourceServers) -> str:
    """Open an episode without a limit of calls; returns its address."""
    limits = EpisodeLimits(calls=None)
    return (await control.create_episode(EpisodeRequest(source=source, limits=limits))).mcp_url


async def p99(agent: EpisodeClient, seconds: float) -> float:
    """The 99th percentile of a call's time, in seconds."""
    spent: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        await agent.call("add", {"number": len(spent)})
        spent.append(time.perf_counter() - began)
    return sorted(spent)[int(len(spent) * 0.99)]


@contextmanager
def child(*arguments: str) -> Generator[str]:
    """Run this script in another role until it is not needed; yields its first line too."""
    command = [sys.executable, "-P", __file__, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield next(iter(process.stdout or ()))
        finally:
            process.kill()


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round (5)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--disturb", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        anyio.run(serve)
    elif options.disturb:
        anyio.run(disturb, *options.disturb)
    else:
        circumstances = conditions(seconds=options.seconds, pause=PAUSE, size=SIZE, seed=0)
        figures = anyio.run(measure, options.seconds)
        print(json.dumps(figures, indent=4, ensure_ascii=False))
        if options.json:
            text = json.dumps(figures | {"conditions": circumstances.finished()}, indent=2)
            options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
