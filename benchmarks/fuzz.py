"""Sends malformed and random requests to both planes of a gateway: nothing may hang, break or grow.

    python benchmarks/fuzz.py [--frames 1000000] [--cases 100000] [--json FILE]

Frames go to the agent plane by hand-written HTTP, in both eras, at all three kinds of endpoint, with and
without sessions. Cases go to the control plane by schemathesis, from the OpenAPI document of the gateway
itself (the ``dev`` extra). Exits 1 where a request was not answered, was answered with a 5xx, left a
traceback in the log, or where one that was right was answered wrongly. Ctrl-C ends it with
the figures so far.
"""

import argparse
import json
import subprocess
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
import httpx2  # noqa: E402

from circumstances import conditions  # noqa: E402
from frame_runner import FuzzOutcome, fuzz  # noqa: E402
from measured_programs import SUPPORT, Program, run_program  # noqa: E402
from process_accounts import open_files, resident_bytes  # noqa: E402

LANES = 16
WARM_FRAMES = 20_000
TELL_SECONDS = 30.0
_COUNTED = ("frames", "checked", "closed")
MIB = 1 << 20


def main() -> None:
    """Run, print, and write the figures where asked to."""
    options = _options()
    circumstances = conditions(seed=options.seed)
    figures: dict[str, Any] = {}
    violations: list[str] = []
    with tempfile.TemporaryDirectory(prefix="astra-mcp-fuzz-") as folder:
        options.folder = Path(folder)
        log = options.folder / "log"
        command = [sys.executable, "-P", str(SUPPORT / "echo_gateway.py"), f"{folder}/home"]
        with run_program(command, log=log) as program:
            try:
                if options.frames:
                    anyio.run(_frames, options, program, figures, violations)
                if options.cases:
                    _cases(options, program, figures, violations)
            except KeyboardInterrupt:
                figures["stopped_early"] = True
            if (status := program.process.poll()) is not None:
                violations.append(f"the gateway ended: {status}")
            text = log.read_text(
                encoding="utf-8", errors="replace"
            )  # without what the end breaks off
        if "Traceback" in text:
            violations.append(text[text.index("Traceback") :][:4000])
        figures["log_lines"] = len(text.splitlines())
    figures |= {"violations": len(violations), "first_violations": violations[:20]}
    figures["conditions"] = circumstances.finished()
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    if violations:
        sys.exit(f"{len(violations)} violations")


async def _frames(
    options: argparse.Namespace, program: Program, figures: dict[str, Any], violations: list[str]
) -> None:
    key = str(program.hello["key"])

    outcome = FuzzOutcome(violations=violations)

    async def send(frames: int, seed: int) -> None:
        await fuzz(program.url, key, frames=frames, lanes=LANES, seed=seed, outcome=outcome)

    async def tell() -> None:
        while True:
            await anyio.sleep(TELL_SECONDS)
            said = f"{outcome.frames} frames, {outcome.checked} right, {len(violations)} violations"
            print(said, _size(program, "now"), file=sys.stderr)

    began = time.perf_counter()
    warm = min(WARM_FRAMES, options.frames // 2)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(tell)
            await send(warm, options.seed)
            figures |= _size(program, "after_warm_up")
            left, part = options.frames - warm, 0
            while left:
                part += 1
                await send(min(left, 100_000), options.seed + part)
                left -= min(left, 100_000)
            group.cancel_scope.cancel()
    finally:  # also where somebody stops it: what was sent so far is told
        figures |= {f"agent_{name}": getattr(outcome, name) for name in _COUNTED}
        figures |= {f"agent_status_{s}": n for s, n in sorted(outcome.statuses.items())}
        figures |= _size(program, "after_frames")
        figures["agent_seconds"] = round(time.perf_counter() - began, 1)


def _size(program: Program, when: str) -> dict[str, float]:
    return {
        f"resident_mib_{when}": round(resident_bytes(program.pid) / MIB, 1),
        f"open_files_{when}": open_files(program.pid),
    }


def _cases(
    options: argparse.Namespace, program: Program, figures: dict[str, Any], violations: list[str]
) -> None:
    """Let schemathesis loose on the control plane; it makes requests that fit its document, and others."""
    report = options.folder / "schemathesis.json"
    document = httpx2.get(f"{program.url}/openapi.json", trust_env=False, timeout=60).json()
    operations = sum(len(methods) for methods in document["paths"].values())
    command = [str(Path(sys.executable).with_name("st")), "run", f"{program.url}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {program.hello['key']}"]
    # Some operations have so few different requests that the others must have more.
    command += ["--max-examples", str(max(1, options.cases * 7 // 4 // operations))]
    command += ["--phases", "coverage,fuzzing", "--continue-on-failure", "--no-color"]
    # What fits the document may still be refused, such as a name that nothing has.
    command += ["--exclude-checks", "positive_data_acceptance"]
    command += ["--suppress-health-check", "all", "--generation-database", "none"]
    command += ["--seed", str(options.seed), "--report-json-path", str(report)]
    done = subprocess.run(
        command, cwd=options.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if not report.exists():
        msg = f"schemathesis failed: {done.stdout.decode(errors='replace')[-2000:]}"
        raise RuntimeError(msg)
    told = json.loads(report.read_bytes())
    figures["control_cases"] = told["test_cases"]["generated"]
    figures["control_operations"] = told["operations"]["tested"]
    figures["control_seconds"] = round(told["running_time"], 1)
    figures |= _size(program, "after_cases")
    for failure in told["failures"]:
        where = ", ".join(failure["operations"])
        violations.append(f"control plane: {failure['title']} ({failure['count']}): {where}")
    if told["errors"] or not told["complete"]:
        violations.append(f"schemathesis did not finish: {told['errors']}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--frames", type=int, default=1_000_000, help="to the agent plane")
    parser.add_argument("--cases", type=int, default=100_000, help="to the control plane, about")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
