"""Interleaved rounds: in each all targets by turns, so that the machine's moods meet all of them alike.

Latency and rate are those of the load generator, processor time is what the kernel has booked on the
measured processes while the calls ran.
"""

import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from load_generator import Job, Outcome
from measured_programs import SUPPORT, stop
from measured_targets import Target
from process_accounts import cpu_seconds

__all__ = ["TURNS", "Cell", "LoadProcess", "measure_rounds", "open_generator", "summarise"]

TURNS = 16
"""How often each target has its turn in a round: a shared machine changes its speed within seconds."""


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

    def call(self, seconds: float) -> int:
        """Call for so long; answers how often that went well."""
        self._send(orjson.dumps(seconds))
        return self._receive()["calls"]

    def finish(self) -> Outcome:
        """Disconnect; answers what came of all calls."""
        self._send(b"null")
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


class _Course:
    """The calls to one target in one round."""

    def __init__(self, target: Target, generator: LoadProcess) -> None:
        self.target = target
        self._generator = generator
        self._cpu_seconds = 0.0

    async def open(self, connections: int, seed: int, stack: AsyncExitStack) -> None:
        """Connect; what is opened for it is closed with the stack."""
        target = self.target
        self._cpu_seconds = 0.0
        paths = await stack.enter_async_context(target.paths(connections))
        job = Job(
            host=target.host,
            port=target.port,
            paths=paths,
            era=target.era,
            tool=target.tool,
            seed=seed,
        )
        try:
            self._generator.prepare(job)
        except RuntimeError as error:
            msg = f"{target.name}: {error}"
            raise RuntimeError(msg) from None

    def call(self, seconds: float) -> None:
        """Have a turn."""
        target = self.target
        before = cpu_seconds(target.pid, with_children=target.with_children)
        self._generator.call(seconds)
        self._cpu_seconds += cpu_seconds(target.pid, with_children=target.with_children) - before

    def finish(self, connections: int, index: int) -> Cell:
        """Disconnect, and sum up."""
        outcome = self._generator.finish()
        return Cell(
            target=self.target.name,
            connections=connections,
            round=index,
            outcome=outcome,
            cpu_ms=self._cpu_seconds * 1e3 / max(1, outcome.calls),
        )


async def measure_rounds(
    targets: Sequence[Target],
    *,
    connections: Sequence[int],
    rounds: int,
    seconds: float,
    seed: int,
    tell: Callable[[str], None],
) -> list[Cell]:
    """Measure every target at every number of connections, in interleaved rounds.

    Args:
        targets: In the order of a round's odd turns; the even ones go back.
        connections: How many at once.
        rounds: How often each cell is measured; a shorter round before them is thrown away.
        seconds: Length of one cell, the sum of its turns.
        seed: Part of every nonce.
        tell: Told of every finished cell.

    Raises:
        RuntimeError: A target could not be called at all.
    """
    cells: list[Cell] = []
    with ExitStack() as stack:
        courses = [_Course(t, stack.enter_context(open_generator())) for t in targets]
        for number in connections:
            wanted = [course for course in courses if course.target.max_connections >= number]
            await _measure(wanted, number, index=-1, seconds=seconds / 4, seed=seed)
            for index in range(rounds):
                found = await _measure(wanted, number, index=index, seconds=seconds, seed=seed)
                cells += found
                for cell in found:
                    tell(_line(cell))
    return cells


async def _measure(
    courses: Sequence[_Course], connections: int, *, index: int, seconds: float, seed: int
) -> list[Cell]:
    """Measure one round."""
    async with AsyncExitStack() as stack:
        for course in courses:
            await course.open(connections, seed, stack)
        for turn in range(TURNS):
            for course in courses if turn % 2 == 0 else reversed(courses):
                course.call(seconds / TURNS)
        return [course.finish(connections, index) for course in courses]


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
