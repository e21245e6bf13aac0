"""Runs of ``train rl --backend verl`` in the environment that the Makefile makes."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.api.client import GatewayClient
from gateway.edge.keys import read_control_key
from training.rl.verl.account import Account, Line
from training.rl.verl.processes import FIGURES_VARIABLE
from training.sft.run_folder import METRICS, read_metrics

__all__ = ["Gateway", "VerlRun", "find_verl", "open_gateway", "played_in", "wait_for"]

_MINUTES = 60
_SUPPORT = str(Path(__file__).parent)
"""Where parts of verl's that a test names are found by its processes."""


def find_verl() -> Path:
    """Find the programs of the environment, or skip."""
    folder = Path(os.environ.get("VERL_VENV", ".venv-verl")) / "bin"
    if not (folder / "astra-mcp").exists():
        pytest.skip("there is no .venv-verl: `make test-rl` makes it")
    return folder.absolute()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerlRun:
    """One folder of a run, and what it plays."""

    programs: Path
    place: Path
    environments: Path
    name: str = "run"

    @property
    def out(self) -> Path:
        """The run's folder."""
        return self.place / self.name

    @property
    def metrics(self) -> Sequence[Mapping[str, float]]:
        """The figures of all steps."""
        return read_metrics(self.out / METRICS)

    def figures(self, step: int) -> Mapping[str, float]:
        """The figures of a step."""
        return next(line for line in self.metrics if line["step"] == step)

    @property
    def config(self) -> Path:
        """The file with its settings."""
        return self.place / f"{self.name}.toml"

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of its programs."""
        return {
            **os.environ,
            "ASTRA_MCP_HOME": str(self.place / "home"),
            "ASTRA_MCP_ENVIRONMENTS": json.dumps([str(self.environments)]),
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": os.pathsep.join(
                [_SUPPORT, *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
        }

    @property
    def lines(self) -> Iterator[Line]:
        """The accounts of all starts."""
        return self.lines_of("from-*")

    def lines_of(self, start: str) -> Iterator[Line]:
        """The accounts of the starts of that name."""
        for folder in sorted(self.out.glob(f"verl/{start}/episodes")):
            yield from Account.read(folder)

    def processes(self) -> list[int]:
        """Processes that verl or Ray started for it, and that are still there."""
        told = f"{FIGURES_VARIABLE}={self.out.resolve()}/".encode()
        found: list[int] = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended, or is another's
                if told in (place / "environ").read_bytes():
                    found.append(int(place.name))
        return found

    def begin(self, config: Path, *options: str) -> "subprocess.Popen[str]":
        """Start the command."""
        return subprocess.Popen(
            [
                self.programs / "astra-mcp",
                "train",
                "rl",
                "--backend",
                "verl",
                "--config",
                config,
                *options,
            ],
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def train(self, config: Path, *options: str) -> str:
        """Run the command to its end; gives what it said."""
        process = self.begin(config, *options)
        said, _ = process.communicate(timeout=60 * _MINUTES)
        assert process.returncode == 0, said
        return said


class Gateway:
    """Serves the home of a run in a process of its own."""

    def __init__(self, run: VerlRun) -> None:
        self._run = run
        self._port = 0
        self._process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [self._run.programs / "astra-mcp", "serve", "--port", str(self._port), "--json"],
            env=self._run.variables,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        self.url = json.loads(process.stdout.readline())["url"]
        self._port = int(self.url.rpartition(":")[2])
        return process

    def client(self) -> GatewayClient:
        """Make a client of the control plane."""
        return GatewayClient(self.url, read_control_key(self._run.place / "home"))

    def restart(self) -> None:
        """Kill it, and start another one on the same home and port."""
        self.end(signal.SIGKILL)
        self._process = self._start()

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it by a signal."""
        self._process.send_signal(number)
        self._process.communicate()


@contextmanager
def open_gateway(run: VerlRun) -> Generator[Gateway]:
    """Serve the environments of a run while the context is open."""
    gateway = Gateway(run)
    try:
        yield gateway
    finally:
        gateway.end()


def played_in(run: VerlRun, start: str, step: int) -> list[tuple[object, ...]]:
    """What was played for a step of training by one start, in the order of groups and samples."""
    return sorted(
        (line.group, line.sample, line.reward, line.calls, line.tokens)
        for line in run.lines_of(start)
        if (line.kind, line.step) == ("train", step)
    )


def wait_for(is_so: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Wait while the command runs."""
    while not is_so():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.2)
