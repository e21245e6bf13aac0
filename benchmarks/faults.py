"""Breaks servers, clients and the gateway in every way we know, and compares all accounts.

    python benchmarks/faults.py [--count 1000] [--starts 200] [--kills 200] [--seed 0] [--json FILE]

Real ``astra-mcp serve`` processes over servers that go wrong on request, stdio and HTTP, one per episode
and shared. No mutating call may be executed twice, none that was answered may be missing in the record,
episodes of other servers must not notice, and the next episode must be well again. Exits 1 where
anything of that does not hold. Ctrl-C ends it with the figures so far.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here has the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from circumstances import conditions  # noqa: E402
from fault_bench import SERVERS, FaultBench, Serve, open_bench  # noqa: E402
from fault_kills import kill_upstream, vanish  # noqa: E402
from fault_trials import IDLE_KILL, Tally, faults_of, guarded, run_trials  # noqa: E402
from faulty_server import HTTP_FAULTS, STDIO_FAULTS  # noqa: E402
from gateway_kills import kill_gateway  # noqa: E402
from kill_account import KillFigures  # noqa: E402
from measured_programs import run_serve  # noqa: E402
from warm_serve import run_warm_serve  # noqa: E402

WIDTH = 8
VANISH = "vanish"
"""Of clients, in the middle of a call."""


def main() -> None:
    """Run, print, and write the figures where asked to."""
    options = _options()
    figures = _run(options)
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    if figures["violations"]:
        sys.exit(f"{figures['violations']} violations")


class _Report:
    """Figures so far, and everything that was not as it should be."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}
        self.violations: list[str] = []

    def add(self, name: str, tally: Tally | KillFigures) -> None:
        """Take in one scenario."""
        self.figures |= {f"{name}_{key}": value for key, value in tally.summary().items()}
        self.violations += tally.unexpected
        print(name, json.dumps(tally.summary()), file=sys.stderr)
        for line in tally.unexpected[:5]:
            print(f"  {line}", file=sys.stderr)

    def count(self, numbers: Mapping[str, int]) -> None:
        """Add to figures that several benches make."""
        for name, number in numbers.items():
            self.figures[name] = self.figures.get(name, 0) + number

    def judge(self, name: str, bench: FaultBench) -> None:
        """Take in the verdict over all that a bench saw."""
        verdict = bench.verdict()
        self.count({f"{name}_calls": verdict.calls, f"{name}_right_answers": verdict.right})
        for what, found in verdict.faults.items():
            lines = [found] if isinstance(found, str) else [f"{what}: {one}" for one in found]
            self.violations += lines
            print(f"{name} {what}: {len(lines)}; first: {lines[0][:2000]}", file=sys.stderr)


def _run(options: argparse.Namespace) -> dict[str, Any]:
    circumstances = conditions(
        seed=options.seed, count=options.count, starts=options.starts, kills=options.kills
    )
    report = _Report()
    try:
        anyio.run(_run_all, options, report, backend_options={"use_uvloop": True})
    except KeyboardInterrupt:
        report.figures["stopped_early"] = True
    return {
        **report.figures,
        "violations": len(report.violations),
        "first_violations": report.violations[:20],
        "conditions": circumstances.finished(),
    }


async def _run_all(options: argparse.Namespace, report: _Report) -> None:
    for name, run in (("trials", _trials), ("upstream", _upstream), ("gateway", _gateway)):
        if name in options.only:
            await run(options, report)


async def _trials(options: argparse.Namespace, report: _Report) -> None:
    for server in options.servers:
        wire, isolation = SERVERS[server]
        wanted = [f for f in (*faults_of(server), VANISH) if f in (options.faults or [f])]
        # The states of callers keep their processes for a while: each fault finds all places free.
        is_crowded = wire == "stdio" and isolation == "episode"
        for faults in [[fault] for fault in wanted] if is_crowded else [wanted]:
            await _trials_of(server, faults, options, report)


async def _trials_of(
    server: str, faults: Sequence[str], options: argparse.Namespace, report: _Report
) -> None:
    """Let one server go wrong in some ways, behind one gateway."""
    wire, isolation = SERVERS[server]
    async with _fresh_bench() as bench, bench.control() as client:
        async with guarded(bench, client) as sentinels:
            for fault in faults:
                alone = wire == "stdio" and isolation == "shared" and fault in _DEADLY
                starts = alone or (wire == "stdio" and isolation == "episode")
                count = options.starts if starts else options.count
                width = 1 if alone else WIDTH
                if fault == VANISH:
                    tally = await vanish(bench, client, server, count=count, width=width)
                else:
                    tally = await run_trials(bench, client, server, fault, count=count, width=width)
                report.add(f"{server}_{fault}", tally)
        report.count({f"{server}_sentinel_{what}": n for what, n in sentinels.items()})
        if sentinels["wrong"]:
            report.violations.append(f"{server}: a sentinel was answered wrongly")
        report.judge(server, bench)


async def _upstream(options: argparse.Namespace, report: _Report) -> None:
    async with _fresh_bench() as bench, bench.control() as client:
        with ExitStack() as stack:
            tally = await kill_upstream(
                bench, client, stack, count=options.starts, seed=options.seed
            )
        report.add("upstream_killed", tally)
        report.judge("upstream_killed", bench)


async def _gateway(options: argparse.Namespace, report: _Report) -> None:
    async with _fresh_bench(run_warm_serve) as bench:
        figures = KillFigures()
        try:
            await kill_gateway(bench, figures, kills=options.kills, seed=options.seed)
        finally:  # also where somebody stops it
            report.add("gateway_killed", figures)


_DEADLY = {"garbage", *STDIO_FAULTS[STDIO_FAULTS.index("half-line") :], IDLE_KILL}
"""Faults of a shared process that cost it its life, some of them after a while."""


@asynccontextmanager
async def _fresh_bench(serve: Serve = run_serve) -> AsyncGenerator[FaultBench]:
    with tempfile.TemporaryDirectory(prefix="astra-mcp-faults-") as folder:
        async with open_bench(Path(folder), serve) as bench:
            yield bench


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--count", type=int, default=1000, help="trials of each fault")
    parser.add_argument(
        "--starts", type=int, default=200, help="trials where each has to start a process"
    )
    parser.add_argument("--kills", type=int, default=200, help="of the gateway")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of all kills")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=("trials", "upstream", "gateway"),
        default=("trials", "upstream", "gateway"),
    )
    parser.add_argument(
        "--servers", nargs="+", choices=SERVERS, default=SERVERS, help="of the trials, these alone"
    )
    faults = sorted({*STDIO_FAULTS, *HTTP_FAULTS, IDLE_KILL, VANISH})
    parser.add_argument(
        "--faults", nargs="+", choices=faults, metavar="FAULT", help="of the trials, these alone"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
