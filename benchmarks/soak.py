"""Makes a million calls in many episodes, opened and closed on the way, and watches what the gateway keeps.

    python benchmarks/soak.py [--calls 1000000] [--json FILE]

After a warm-up its resident memory must stay within 5 %, and its open files must not grow. Exits 1
where they do not, or where a call was answered wrongly.
"""

import argparse
import json
import sys
import tempfile
import time
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
from load_generator import Job  # noqa: E402
from measured_rounds import LoadProcess, open_generator  # noqa: E402
from measured_targets import Target, open_targets  # noqa: E402
from process_accounts import open_files, resident_bytes  # noqa: E402

SEED = 0
CONNECTIONS = 32
SECONDS = 1.0
"""So long the episodes of one generation live."""
WARM_SHARE = 0.1
LEVEL = 0.05
MIB = 1 << 20
SPARE_FILES = 8


def main() -> None:
    """Run, print, and write the figures where asked to."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="astra-mcp-soak-") as folder:
        figures = anyio.run(_soak, options, Path(folder))
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    if figures["faults"]:
        sys.exit("; ".join(figures["faults"]))


async def _soak(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    circumstances = conditions(seed=SEED, connections=CONNECTIONS, target=options.target)
    began = time.perf_counter()
    figures: dict[str, Any] = {"calls": 0, "episodes": 0, "errors": 0}
    samples: list[tuple[int, int, int]] = []
    with (
        open_targets([options.target, f"{options.target}_handshake"], folder) as targets,
        open_generator() as generator,
    ):
        while figures["calls"] < options.calls:
            for target in targets:
                await _generation(target, generator, figures)
                pid = target.pid
                samples.append((figures["calls"], resident_bytes(pid), open_files(pid)))
            if len(samples) % 50 == 0:
                calls, resident, files = samples[-1]
                print(f"{calls} calls, {resident / MIB:.1f} MiB, {files} files", file=sys.stderr)
    figures["seconds"] = round(time.perf_counter() - began, 1)
    figures |= _judge(samples, options.calls)
    if figures["errors"]:
        figures["faults"].append(f"{figures['errors']} calls were answered wrongly or not at all")
    return {**figures, "conditions": circumstances.finished()}


async def _generation(target: Target, generator: LoadProcess, figures: dict[str, Any]) -> None:
    """Open episodes, use them for a while, close them."""
    async with target.paths(CONNECTIONS) as paths:
        job = Job(
            host=target.host,
            port=target.port,
            paths=paths,
            era=target.era,
            warm_calls=1,
            seed=figures["episodes"],
        )
        generator.prepare(job)
        generator.call(SECONDS)
        outcome = generator.finish()
    figures["calls"] += outcome.calls
    figures["episodes"] += len(paths)
    figures["errors"] += sum(outcome.errors.values())


def _judge(samples: list[tuple[int, int, int]], calls: int) -> dict[str, Any]:
    """Compare everything after the warm-up with its end."""
    warm = next(s for s in samples if s[0] >= calls * WARM_SHARE)
    later = [s for s in samples if s[0] >= warm[0]]
    resident = [s[1] for s in later]
    files = [s[2] for s in later]
    faults: list[str] = []
    if max(resident) > warm[1] * (1 + LEVEL) or min(resident) < warm[1] * (1 - LEVEL):
        faults.append(f"resident memory left the band of {LEVEL:.0%} after the warm-up")
    if files[-1] > files[0] + SPARE_FILES:
        faults.append(f"open files grew from {files[0]} to {files[-1]}")
    return {
        "warm_up_calls": warm[0],
        "resident_mib_at_start": round(samples[0][1] / MIB, 1),
        "resident_mib_after_warm_up": round(warm[1] / MIB, 1),
        "resident_mib_least": round(min(resident) / MIB, 1),
        "resident_mib_most": round(max(resident) / MIB, 1),
        "resident_mib_at_end": round(resident[-1] / MIB, 1),
        "open_files_after_warm_up": files[0],
        "open_files_at_end": files[-1],
        "faults": faults,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument(
        "--target",
        choices=("gateway", "sandboxed", "http_upstream", "stdio_upstream"),
        default="gateway",
        help="what the calls go to; see gateway.py",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
