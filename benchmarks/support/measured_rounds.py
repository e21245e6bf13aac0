"""Interleaved rounds: every target once per round, so that the machine's moods meet all of them alike.

Latency and rate are those of the load generator, processor time is what the kernel has booked on the
measured processes while the calls ran.
"""

import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from load_generator import Job, Outcome
from measured_programs import SUPPORT, stop
from measured_targets import Target
from process_accounts import cpu_seconds

__all__ = ["Cell", "LoadProcess", "measure_rounds", "open_generator", "summarise"]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One target at one number of connections in one round."""

    target: str
    connections: int
    round: int
    outcome: Outcome
    cpu_ms: float
    """Processor time of the measured processes per call."""


class LoadProcess:
    """The load generator's process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def prepare(self, job: Job) -> None:
        """Connect.

        Raises:
            RuntimeError: A connection or a first call failed.
        """
        self._send(orjson.dumps(asdict(job)))
        answer = self._receive()
        if not answer["ready"]:
            msg = f"port {job.port}, {len(job.paths)} connections: {answer['error']}"
            raise RuntimeError(msg)

    def run(self) -> Outcome:
        """Call until the time of the job is over."""
        self._send(b"go")
        return Outcome(**self._receive())

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            msg = "the load generator ended"
            raise RuntimeError(msg)
        return orjson.loads(line)


@contextmanager
def open_generator() -> Generator[LoadProcess]:
    """Start a load generator."""
    command = [sys.executable, "-P", str(SUPPORT / "load_generator.py")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield LoadProcess(process)
    finally:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.close()
        stop(process)


async def measure_rounds(
    targets: Sequence[Target],
    generator: LoadProcess,
    *,
    connections: Sequence[int],
    rounds: int,
    seconds: float,
    seed: int,
    tell: Callable[[str], None],
) -> list[Cell]:
    """Measure every target at every number of connections, in interleaved rounds.

    Args:
        targets: In the order of each round.
        generator: Makes the calls.
        connections: How many at once.
        rounds: How often each cell is measured; a shorter round before them is thrown away.
        seconds: Length of one cell.
        seed: Part of every nonce.
        tell: Told of every finished cell.

    Raises:
        RuntimeError: A target could not be called at all.
    """
    cells: list[Cell] = []
    for number in connections:
        for index in range(-1, rounds):
            for target in (t for t in targets if t.max_connections >= number):
                length = seconds if index >= 0 else seconds / 4
                async with target.paths(number) as paths:
                    job = Job(
                        host=target.host,
                        port=target.port,
                        paths=paths,
                        era=target.era,
                        tool=target.tool,
                        seconds=length,
                        seed=seed,
                    )
                    cell = _measure(target, generator, job, index)
                if index >= 0:
                    cells.append(cell)
                    tell(_line(cell))
    return cells


def _measure(target: Target, generator: LoadProcess, job: Job, index: int) -> Cell:
    try:
        generator.prepare(job)
    except RuntimeError as error:
        msg = f"{target.name}: {error}"
        raise RuntimeError(msg) from None
    before = cpu_seconds(target.pid, with_children=target.with_children)
    outcome = generator.run()
    used = cpu_seconds(target.pid, with_children=target.with_children) - before
    return Cell(
        target=target.name,
        connections=len(job.paths),
        round=index,
        outcome=outcome,
        cpu_ms=used * 1e3 / max(1, outcome.calls),
    )


def _line(cell: Cell) -> str:
    outcome = cell.outcome
    errors = sum(outcome.errors.values())
    return (
        f"round {cell.round + 1}  {cell.target:20} {cell.connections:4} connections  "
        f"{outcome.calls / outcome.seconds:7.0f} calls/s  {cell.cpu_ms:7.3f} ms CPU  "
        f"p50 {outcome.p50_ms:8.2f} ms  p99 {outcome.p99_ms:8.2f} ms  errors {errors}"
    )


def summarise(cells: Sequence[Cell]) -> dict[str, float | int]:
    """Reduce the rounds to medians with their spread, and to ratios to the baseline of the same round.

    Keys are ``{target}_{figure}_{connections}``; ``_min`` and ``_max`` give the spread over the rounds.
    """
    figures: dict[str, float | int] = {}
    for name, number in dict.fromkeys((c.target, c.connections) for c in cells):
        own = [c for c in cells if (c.target, c.connections) == (name, number)]
        errors = Counter[str]()
        for cell in own:
            errors.update(cell.outcome.errors)
        series = {
            "cpu_ms": [c.cpu_ms for c in own],
            "calls_per_second": [c.outcome.calls / c.outcome.seconds for c in own],
            "p50_ms": [c.outcome.p50_ms for c in own],
            "p99_ms": [c.outcome.p99_ms for c in own],
        } | _ratios(own, cells)
        for figure, values in series.items():
            figures |= _spread(f"{name}_{figure}_{number}", values)
        figures[f"{name}_calls_{number}"] = sum(c.outcome.calls for c in own)
        figures[f"{name}_errors_{number}"] = errors.total()
    return figures


def _ratios(own: Sequence[Cell], cells: Sequence[Cell]) -> dict[str, list[float]]:
    base = {(c.connections, c.round): c for c in cells if c.target == "baseline"}
    pairs = [(c, base[c.connections, c.round]) for c in own if (c.connections, c.round) in base]
    if not pairs or own[0].target == "baseline":
        return {}
    return {
        "cpu_ratio": [c.cpu_ms / b.cpu_ms for c, b in pairs],
        "p99_ratio": [c.outcome.p99_ms / b.outcome.p99_ms for c, b in pairs],
    }


def _spread(key: str, values: Sequence[float]) -> dict[str, float | int]:
    return {
        key: round(statistics.median(values), 3),
        f"{key}_min": round(min(values), 3),
        f"{key}_max": round(max(values), 3),
    }
