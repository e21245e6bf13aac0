"""The account of what was played: each process writes a line for each episode, and the run reads them all.

Where phases learn from episodes, their trajectories stand beside it until the run has put them together.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from statistics import fmean, pvariance
from typing import Any

import orjson

from astra_mcp.trajectory import Trajectory
from training.rl.native.settings import Earned
from training.signals.health.structure import Reason, State, Structure
from training.signals.supervision.errors import group_number
from training.signals.supervision.guidance import Help

__all__ = ["Account", "Line", "figures_of_lines", "last_failure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One episode."""

    step: int
    """As verl counts: 0 is a validation before the first step."""
    kind: str
    """``train``, ``greedy`` or ``sampled``."""
    help: Help = Help.NONE
    """How the policy was helped."""
    group: int
    sample: int
    episode: str | None
    """Its id; None where it was never opened."""
    reward: float | None = None
    recall: float | None = None
    precision: float | None = None
    calls: int = 0
    """That the policy made, whatever became of them."""
    turns: int = 0
    tokens: int = 0
    """That the policy wrote."""
    response_tokens: int = 0
    stop: str | None = None
    failure: str | None = None
    structures: Sequence[Structure] = ()
    """Of each turn of the policy in training, its form."""

    def earned(self, kind: Earned) -> float | None:
        """What of its reward a run trains by; None where it failed."""
        return self.reward if kind == "f1" or self.reward is None else getattr(self, kind)


class Account:
    """What one process writes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._name = f"{os.getpid()}-{token_hex(4)}.jsonl"

    def note(self, line: Line) -> None:
        """Append a line, whole."""
        _append(self._folder / self._name, json.dumps(asdict(line), ensure_ascii=False).encode())

    def keep(self, step: int, trajectory: Trajectory) -> None:
        """Append the trajectory of an episode, whole."""
        folder = _kept(self._folder, step)
        folder.mkdir(exist_ok=True)
        _append(folder / self._name, orjson.dumps(trajectory.as_line()))

    @staticmethod
    def read(folder: Path) -> Iterator[Line]:
        """Read what all processes wrote; a line that is being written is not there yet."""
        for text in _texts(folder):
            found: dict[str, Any] = json.loads(text)
            found["help"] = Help(found["help"])
            found["structures"] = [*map(_structure, found["structures"])]
            yield Line(**found)

    @staticmethod
    def trajectories(folder: Path, step: int) -> list[Trajectory]:
        """Read what all processes kept of a step, in the order of groups and samples."""
        lines = _texts(_kept(folder, step))
        found = [Trajectory.from_line(orjson.loads(text)) for text in lines]
        return sorted(found, key=lambda each: (group_number(each), each.sample or 0))

    @staticmethod
    def forget_trajectories(folder: Path, step: int) -> None:
        """Remove what was kept of a step, which stands elsewhere by now."""
        if _kept(folder, step).exists():
            rmtree(_kept(folder, step))


def _kept(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def _append(file: Path, text: bytes) -> None:
    with file.open("ab", buffering=0) as lines:
        lines.write(text + b"\n")


def _texts(folder: Path) -> Iterator[bytes]:
    for file in sorted(folder.glob("*.jsonl")):
        yield from file.read_bytes().split(b"\n")[:-1]


def _structure(found: Mapping[str, Any]) -> Structure:
    return Structure(
        state=State(found["state"]),
        reasons=tuple(map(Reason, found["reasons"])),
        num_calls=found["num_calls"],
        controls=found["controls"],
        num_tokens=found["num_tokens"],
    )


def last_failure(lines: Iterable[Line]) -> str:
    """Say what failed last, in the order of reading."""
    failures = [line.failure for line in lines if line.failure is not None]
    return failures[-1] if failures else "a process that played was lost"


def figures_of_lines(
    lines: Sequence[Line], prefix: str, kind: Earned = "f1"
) -> Mapping[str, float]:
    """Give the figures of some episodes, by the names of the native trainer.

    Args:
        lines: The episodes.
        prefix: Of the names.
        kind: What of their rewards counts.
    """
    played = [line for line in lines if line.reward is not None]
    rewards = [earned for line in played if (earned := line.earned(kind)) is not None]
    counts = {"episodes": len(lines), "failed": len(lines) - len(played)}
    figures: dict[str, float] = {f"{prefix}{name}": value for name, value in counts.items()}
    if not played:
        return figures
    figures[f"{prefix}reward"] = fmean(rewards)
    if prefix == "rollout/":
        figures[f"{prefix}reward_variance"] = pvariance(rewards)
    for name in ("recall", "precision", "calls", "turns", "tokens", "response_tokens"):
        found = [value for line in played if (value := getattr(line, name)) is not None]
        if found:
            figures[f"{prefix}{name}"] = fmean(found)
    for stop, count in sorted(Counter(str(line.stop) for line in played).items()):
        figures[f"{prefix}stops/{stop}"] = count
    return figures
