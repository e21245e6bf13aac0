"""The account of what was played: each process writes a line for each episode, and the run reads them all."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from statistics import fmean, pvariance
from typing import Any

from training.rl.native.settings import Earned
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

    def earned(self, kind: Earned) -> float | None:
        """What of its reward a run trains by; None where it failed."""
        return self.reward if kind == "f1" or self.reward is None else getattr(self, kind)


class Account:
    """What one process writes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"{os.getpid()}-{token_hex(4)}.jsonl"

    def note(self, line: Line) -> None:
        """Append a line, whole."""
        text = json.dumps(asdict(line), ensure_ascii=False) + "\n"
        with self._file.open("ab", buffering=0) as file:
            file.write(text.encode())

    @staticmethod
    def read(folder: Path) -> Iterator[Line]:
        """Read what all processes wrote; a line that is being written is not there yet."""
        for file in sorted(folder.glob("*.jsonl")):
            for text in file.read_bytes().split(b"\n")[:-1]:
                found: dict[str, Any] = json.loads(text)
                found["help"] = Help(found["help"])
                yield Line(**found)


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
