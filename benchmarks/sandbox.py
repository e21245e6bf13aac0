"""Measures the locked sandbox: start of a session, a call, memory of an idle session.

    python benchmarks/sandbox.py [--sessions 200] [--json FILE]

Two modules: ``tiny``, and ``rows`` with 500 dictionaries and 2,000 dataclass rows. Memory is told twice:
the fall of MemAvailable (whole machine, so others' work disturbs it) and the proportional set size of the
sessions (only root may read that of a process that hides its memory; else null).
"""

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from astra_mcp.sandbox import SandboxLimits, examine_machine
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.sandbox.session import ProcessSession

SEED = 0
CALLS = 1000
MODULES = {
    "tiny": "def get(key): return {'key': key}\n",
    "rows": """
import dataclasses

@dataclasses.dataclass
class Order:
    id: str
    customer: str
    total: float
    status: str = "open"

CUSTOMERS = {f"c{i}": {"name": f"Customer {i}", "tier": i % 3, "tags": ["a", str(i)]} for i in range(500)}
ORDERS = {f"o{i}": Order(f"o{i}", f"c{i % 500}", i * 1.37) for i in range(2000)}

def get(key):
    return dataclasses.asdict(ORDERS[key])
""",
}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sessions", type=int, default=200, help="idle sessions at once")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    figures = anyio.run(measure, options.sessions)
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n", encoding="utf-8")


async def measure(count: int) -> dict[str, Any]:
    """Measure both modules, each in a fresh sandbox."""
    report = examine_machine()
    figures: dict[str, Any] = {"conditions": conditions(count, report.model_dump())}
    for name, code in MODULES.items():
        async with open_locked(SandboxLimits(), report, Runtime.default()) as sandbox:
            measured = await measure_module(sandbox, code, count)
        figures |= {f"{name}_{figure}": value for figure, value in measured.items()}
    return figures


async def measure_module(sandbox: LockedSandbox, code: str, count: int) -> dict[str, float | None]:
    """Open sessions, call one of them, weigh them all."""
    started = time.perf_counter()
    module = await sandbox.load(code, clock=datetime(2026, 1, 5, 9, 0, tzinfo=UTC))
    first_load = time.perf_counter() - started
    await (await sandbox.open_session(module, seed=SEED)).aclose()
    available = memory_available()
    sessions: list[ProcessSession] = []
    starts: list[float] = []
    for seed in range(count):
        started = time.perf_counter()
        sessions.append(await sandbox.open_session(module, seed=seed))
        starts.append(time.perf_counter() - started)
    first_calls = [await call_seconds(session) for session in sessions]
    fall = available - memory_available()
    resident = [proportional_set_size(session.pid) for session in sessions]
    calls = [await call_seconds(sessions[0]) for _ in range(CALLS)]
    return {
        "zygote_and_template_ms": round(first_load * 1e3, 2),
        "session_start_p50_ms": percentile(starts, 50),
        "session_start_p99_ms": percentile(starts, 99),
        "first_call_p50_ms": percentile(first_calls, 50),
        "call_p50_ms": percentile(calls, 50),
        "call_p99_ms": percentile(calls, 99),
        "idle_session_available_fall_kib": round(fall / count, 1),
        "idle_session_pss_kib": mean_of(resident),
    }


async def call_seconds(session: ProcessSession) -> float:
    """Make one call; returns the seconds that it took."""
    started = time.perf_counter()
    await session.call("get", {"key": "o7"})
    return time.perf_counter() - started


def percentile(values: list[float], rank: int) -> float:
    """A percentile of times in seconds, as milliseconds."""
    return round(statistics.quantiles(values, n=100, method="inclusive")[rank - 1] * 1e3, 3)


def mean_of(values: list[int | None]) -> float | None:
    """The mean; None where a value could not be read."""
    known = [value for value in values if value is not None]
    return round(statistics.mean(known), 1) if len(known) == len(values) else None


def memory_available() -> int:
    """MemAvailable in KiB."""
    return field(Path("/proc/meminfo").read_text(encoding="ascii"), "MemAvailable:")


def proportional_set_size(pid: int) -> int | None:
    """PSS of a process in KiB; None where this user may not read it."""
    try:
        return field(Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"), "Pss:")
    except PermissionError:
        return None


def field(text: str, name: str) -> int:
    """The number after a name in a file of the kernel."""
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name))


def conditions(count: int, report: dict[str, Any]) -> dict[str, Any]:
    """Where and how the figures were taken."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": sys.version.split()[0],
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "seed": SEED,
        "sessions": count,
        "calls": CALLS,
        "sandbox": report,
    }


if __name__ == "__main__":
    main()
