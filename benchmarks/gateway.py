"""What the gateway costs: processor time and latency of a call, as ratios to the SDK's bare server.

    python benchmarks/gateway.py [--json FILE] [--svg FILE] [--targets gateway,sandboxed] [--peers]

Every target and the load generator run in processes of their own; processor time is the kernel's account of
the measured processes, their children included where they do the work (the sandbox). In a round
all targets are called by turns; a ratio compares cells of one round, and a figure is the median of the
rounds. Each answer is checked against the nonce of its call.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This file would hide the package of its own name; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from circumstances import conditions  # noqa: E402
from figures_report import chart, table  # noqa: E402
from measured_peers import open_peers  # noqa: E402
from measured_rounds import TURNS, measure_rounds, summarise  # noqa: E402
from measured_targets import NAMES, open_targets  # noqa: E402

SEED = 0
CONNECTIONS = (1, 32, 128)


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        figures = anyio.run(_measure, options, Path(folder))
    print(table(figures, options.connections))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if options.svg:
        options.svg.write_text(chart(figures, 32), encoding="utf-8")
    wrong = sum(int(n) for key, n in figures.items() if "_errors_" in key)
    if wrong:
        sys.exit(f"{wrong} calls were answered wrongly or not at all")


async def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    names = ["baseline", *(name for name in options.targets if name != "baseline")]
    circumstances = conditions(
        seed=SEED, rounds=options.rounds, seconds=options.seconds, turns=TURNS
    )
    with open_targets(names, folder) as targets, open_peers(options.peers) as (peers, absent):
        for line in absent:
            print(f"not measured: {line}", file=sys.stderr)
        cells = await measure_rounds(
            [*targets, *peers],
            connections=options.connections,
            rounds=options.rounds,
            seconds=options.seconds,
            seed=SEED,
            tell=lambda line: print(line, file=sys.stderr),
        )
    return {**summarise(cells), "conditions": circumstances.finished(absent)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--svg", type=Path, help="also draw the CPU ratios at 32 connections")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one cell in all")
    parser.add_argument(
        "--connections", type=_numbers, default=CONNECTIONS, help="such as 1,32,128"
    )
    parser.add_argument(
        "--targets", type=_targets, default=tuple(NAMES), help=f"of {', '.join(NAMES)}"
    )
    parser.add_argument(
        "--peers",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="also measure other gateways: on PATH, or in FOLDER/bin and FOLDER/node_modules/.bin",
    )
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _targets(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        msg = f"{', '.join(unknown)}: choose of {', '.join(NAMES)}"
        raise argparse.ArgumentTypeError(msg)
    return names


if __name__ == "__main__":
    main()
