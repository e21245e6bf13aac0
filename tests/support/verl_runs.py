"""Runs of ``train rl --backend verl`` in the environment that the Makefile makes."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from training.rl.verl.account import Account, Line
from training.sft.run_folder import METRICS, read_metrics

__all__ = ["VerlRun", "find_verl"]

_MINUTES = 60


def find_verl() -> Path:
    """Find the programs of the environment, or skip."""
    folder = Path(os.environ.get("ASTRA_MCP_VERL", ".venv-verl")) / "bin"
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
    def lines(self) -> Iterator[Line]:
        """The accounts of all starts."""
        for folder in sorted(self.out.glob("verl/from-*/episodes")):
            yield from Account.read(folder)

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
            env={
                **os.environ,
                "ASTRA_MCP_HOME": str(self.place / "home"),
                "ASTRA_MCP_ENVIRONMENTS": json.dumps([str(self.environments)]),
                "OMP_NUM_THREADS": "1",
                "HF_HUB_OFFLINE": "1",
            },
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
