"""Floors: the least score of a trajectory that becomes training data. The paper gives no values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from astra_mcp.trajectory import StopReason, Trajectory
from training.rewards.score import Dimension, Score, State

__all__ = ["MIN_CALLS", "MIN_TOTAL", "NO_ANSWER", "NO_SCORE", "UNSCORED", "Floors"]

MIN_TOTAL: Final = 0.7
"""Unless another floor of the total is asked for."""
MIN_CALLS: Final = 1
"""Where there are floors: all samples of the paper involve tool calling (A.1.1)."""
NO_SCORE: Final = "no-score"
"""What leaves a trajectory out on which there is no line."""
UNSCORED: Final = "unscored"
"""What leaves one out that the judge did not decide, or that is not to be scored."""
NO_ANSWER: Final = "no-answer"
"""What leaves one out that was cut before the agent's last word: the total does not know what is missing."""
_WHOLE: Final = frozenset({StopReason.ANSWER, StopReason.USER_TURNS})
"""Stops at which an answer is the agent's last word."""
_WHOLE_IN_DIALOGUE: Final = frozenset({StopReason.TURNS, StopReason.TIME, StopReason.TOKENS})
"""Those that may come while the agent waits for what the user says to a whole answer."""
_ROUNDS: Final = frozenset({Dimension.TCU, Dimension.TCP})
"""Not defined for a single round of calls, which is no fault."""


@dataclass(frozen=True, slots=True)
class Floors:
    """The least scores."""

    least: Mapping[Dimension, float] = field(
        default_factory=lambda: MappingProxyType(dict[Dimension, float]())
    )
    min_total: float = MIN_TOTAL

    @property
    def names(self) -> Sequence[str]:
        """Everything that may leave a trajectory out, in the order in which it is asked."""
        floors = [_name(dimension) for dimension in self._asked]
        return [NO_SCORE, UNSCORED, NO_ANSWER, *floors, "min-total"]

    @property
    def told(self) -> Mapping[str, float]:
        """The least scores by their names."""
        return {**{_name(d): self.least[d] for d in self._asked}, "min-total": self.min_total}

    def refusing(self, score: Score | None, trajectory: Trajectory) -> str | None:
        """Name the first floor that leaves a trajectory out; None where it passes.

        Args:
            score: None where there is none.
            trajectory: What it is a score of.
        """
        if score is None:
            return NO_SCORE
        if score.state is not State.SCORED or score.total is None:
            return UNSCORED
        if Dimension.FA not in score.values() or _is_cut(trajectory):
            return NO_ANSWER
        return self.missed(score)

    def missed(self, score: Score) -> str | None:
        """Name the first least score that a scored trajectory does not reach; None where there is none.

        A floor of TCU or TCP takes a trajectory in which it is not defined, which has a single round of
        calls; every other floor refuses what is not defined.
        """
        values = score.values()
        for dimension in self._asked:
            value = values.get(dimension)
            if value is None and dimension in _ROUNDS:
                continue
            if value is None or value < self.least[dimension]:
                return _name(dimension)
        return "min-total" if score.total is None or score.total < self.min_total else None

    @property
    def _asked(self) -> Sequence[Dimension]:
        return [dimension for dimension in Dimension if dimension in self.least]


def _is_cut(trajectory: Trajectory) -> bool:
    if trajectory.stop in _WHOLE:
        return False
    return trajectory.user is None or trajectory.stop not in _WHOLE_IN_DIALOGUE


def _name(dimension: Dimension) -> str:
    return f"min-{dimension.value}"
