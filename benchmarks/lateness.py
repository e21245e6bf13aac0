"""How long one step of a gateway's event loop makes all others wait, by the kind of load.

    python -P benchmarks/lateness.py [--seconds 20] [--json FILE]

A real ``astra-mcp serve`` with thousands of open episodes. Each kind of load has its time alone; then all
kinds take turns, two at a time, while 64 episodes are at work. Steps are those of the gateway's own metrics,
by the processor time of its process, so that other programs of the machine are not counted; beside them how
late the loop was by the clock, and what a client with a cheap call saw from outside. Exits 1 where a step may
have been longer than 50 ms, or an answer was not what was asked for.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here has the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right
from loop_bench import ENVIRONMENT, LoopBench, open_bench, request_of  # noqa: E402
from loop_loads import LOADS, Load, open_workers  # noqa: E402

from gateway.api.client import EpisodeClient, open_http  # noqa: E402

from circumstances import conditions  # noqa: E402

SEED = 0
BOUND = 0.05
WORKERS = 64
PAUSE = 0.05
"""Seconds between two rounds of a load, and two calls of the client outside."""
_STEPS, _LATE = "astra_mcp_event_loop_step_seconds", "astra_mcp_event_loop_late_seconds"

Buckets = Mapping[float, int]
"""How often something took longer than the bound before and no longer than this."""


def main() -> None:
    """Run, print, and write the figures where asked to."""
    options = _options()
    if options.outside:
        anyio.run(_call_on, options.outside, backend_options={"use_uvloop": True})
        return
    with tempfile.TemporaryDirectory(prefix="astra-mcp-lateness-") as folder:
        run = _run, options, Path(folder)
        figures = anyio.run(*run, backend_options={"use_uvloop": True})
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    if figures["steps_above_50_ms"] or figures["faults"]:
        sys.exit(f"{figures['steps_above_50_ms']} steps above 50 ms; faults: {figures['faults']}")


async def _run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    circumstances = conditions(
        seed=SEED,
        seconds=options.seconds,
        open_episodes=options.episodes,
        environments=options.environments,
        long_calls=options.long_calls,
    )
    wanted = {name: load for name, load in LOADS.items() if name in options.only}
    figures: dict[str, Any] = {}
    opening = open_bench(
        folder,
        environments=options.environments,
        episodes=options.episodes,
        long_calls=options.long_calls,
        seed=SEED,
    )
    async with opening as bench:
        with _outside(await _cheap_episode(bench)) as outside:
            for name, load in wanted.items():
                seconds = options.seconds / 2 / len(wanted)
                figures[name] = await _phase(bench, outside, [load], seconds)
                _tell(name, figures[name])
            name = f"all in turn, beside {WORKERS} episodes at work"
            loads = [*wanted.values()]
            figures[name] = await _phase(bench, outside, loads, options.seconds / 2, WORKERS)
            _tell(name, figures[name])
        faults = bench.faults
    return {
        "kinds": figures,
        "steps_above_50_ms": sum(each["steps_above_50_ms"] for each in figures.values()),
        "faults": faults,
        "conditions": circumstances.finished(),
    }


async def _cheap_episode(bench: LoopBench) -> str:
    request = request_of({"kind": "environment", "name": ENVIRONMENT})
    return (await bench.control.create_episode(request)).mcp_url


async def _phase(
    bench: LoopBench, outside: "_Outside", loads: Sequence[Load], seconds: float, workers: int = 0
) -> dict[str, Any]:
    """Put loads on the gateway in turn for so long, and say what its loop made of it."""
    rounds = 0

    async def load_on(first: int) -> None:
        nonlocal rounds
        for load in itertools.cycle([*loads[first:], *loads[:first]]):
            await load(bench)
            rounds += 1
            await anyio.sleep(PAUSE)

    team = await open_workers(bench, workers) if workers else None
    before = await _loop_of(bench)
    outside.begin()
    async with _cancelled_at_end(seconds) as group:
        if team:
            group.start_soon(team.run, bench)
        for first in {0, len(loads) // 2}:
            group.start_soon(load_on, first)
    seen = outside.finish()
    after = await _loop_of(bench)
    steps, late = (_less(after[name], before[name]) for name in (_STEPS, _LATE))
    return {
        "rounds": rounds,
        "calls_of_episodes_at_work": team.calls if team else 0,
        "beats": sum(steps.values()),
        "longest_step_ms_at_most": _longest(steps),
        "steps_above_50_ms": _above(steps),
        "longest_late_ms_at_most": _longest(late),
        "late_above_50_ms": _above(late),
        **seen,
    }


@asynccontextmanager
async def _cancelled_at_end(seconds: float) -> AsyncGenerator[anyio.abc.TaskGroup]:
    async with anyio.create_task_group() as group:
        yield group
        await anyio.sleep(seconds)
        group.cancel_scope.cancel()


async def _loop_of(bench: LoopBench) -> dict[str, Buckets]:
    """Read the two histograms of the event loop."""
    text = (await bench.control.metrics()).decode()
    found: dict[str, dict[float, int]] = {_STEPS: {}, _LATE: {}}
    before = {_STEPS: 0, _LATE: 0}
    for line in text.splitlines():
        name, _, rest = line.partition('_bucket{le="')
        if name in found and rest:
            bound, _, count = rest.partition('"} ')
            number = int(float(count))
            found[name][float(bound)] = number - before[name]
            before[name] = number
    return {name: dict(buckets) for name, buckets in found.items()}


def _less(after: Buckets, before: Buckets) -> Buckets:
    return {bound: number - before[bound] for bound, number in after.items()}


def _longest(buckets: Buckets) -> float:
    """The bound of the highest bucket that something is in, in milliseconds."""
    return max((bound * 1e3 for bound, number in buckets.items() if number), default=0.0)


def _above(buckets: Buckets) -> int:
    return sum(number for bound, number in buckets.items() if bound > BOUND)


class _Outside:
    """The client that sees the gateway from outside, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self) -> None:
        """Forget what was seen so far."""
        self._ask()

    def finish(self) -> dict[str, float]:
        """Tell what was seen since."""
        return self._ask()

    def _ask(self) -> dict[str, float]:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def _outside(mcp_url: str) -> Generator[_Outside]:
    command = [sys.executable, "-P", __file__, "--outside", mcp_url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield _Outside(process)
        finally:
            process.kill()


async def _call_on(mcp_url: str) -> None:
    """Call a cheap tool again and again; at each line of the input tell of the calls since the one before."""
    spent: list[float] = []

    async def call() -> None:
        async with open_http() as http:
            agent = EpisodeClient(mcp_url, http)
            while True:
                began = time.perf_counter()
                await agent.call("echo", {"text": "a word"})
                spent.append(time.perf_counter() - began)
                await anyio.sleep(PAUSE)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        while await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            seen = sorted(spent) or [0.0]
            spent.clear()
            milliseconds = {
                "outside_calls": len(seen),
                "outside_p50_ms": round(seen[len(seen) // 2] * 1e3, 2),
                "outside_p99_ms": round(seen[int(len(seen) * 0.99)] * 1e3, 2),
                "outside_longest_ms": round(seen[-1] * 1e3, 2),
            }
            print(json.dumps(milliseconds), flush=True)
        group.cancel_scope.cancel()


def _tell(name: str, figures: Mapping[str, Any]) -> None:
    print(
        f"{name:46} {figures['rounds']:5} rounds  steps: longest at most "
        f"{figures['longest_step_ms_at_most']:g} ms, {figures['steps_above_50_ms']} above 50 ms  "
        f"late: at most {figures['longest_late_ms_at_most']:g} ms, {figures['late_above_50_ms']} above "
        f"50 ms  outside: p99 {figures['outside_p99_ms']} ms, longest {figures['outside_longest_ms']} ms",
        file=sys.stderr,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--seconds", type=float, default=20.0, help="of the whole run (20)")
    parser.add_argument("--episodes", type=int, default=2_000, help="that are open all the time")
    parser.add_argument("--environments", type=int, default=1_000)
    parser.add_argument("--long-calls", type=int, default=50_000, help="of the long record")
    parser.add_argument("--only", nargs="+", choices=LOADS, default=tuple(LOADS), metavar="KIND")
    parser.add_argument("--outside", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
