"""Floors: the least score of a trajectory that becomes training data. The paper gives no values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from training.rewards.score import Dimension, Score, State

__all__ = ["MIN_CALLS", "MIN_TOTAL", "NO_SCORE", "UNSCORED", "Floors"]

MIN_TOTAL: Final = 0.7
"""Unless another floor of the total is asked for."""
MIN_CALLS: Final = 1
"""Where there are floors: all samples of the paper involve tool calling (A.1.1)."""
NO_SCORE: Final = "no-score"
"""What leaves a trajectory out on which there is no line."""
UNSCORED: Final = "unscored"
"""What leaves one out that the judge did not decide, or that is not to be scored."""
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
        return [NO_SCORE, UNSCORED, *floors, "min-total"]

    @property
    def told(self) -> Mapping[str, float]:
        """The least scores by their names."""
        return {**{_name(d): self.least[d] for d in self._asked}, "min-total": self.min_total}

    def refusing(self, score: Score | None) -> str | None:
        """Name the first floor that leaves a trajectory out; None where it passes.

        A floor of TCU or TCP takes a trajectory in which it is not defined, which has a single round of
        calls; every other floor refuses what is not defined.

        Args:
            score: None where there is none.
        """
        if score is None:
            return NO_SCORE
        if score.state is not State.SCORED or score.total is None:
            return UNSCORED
        values = score.values()
        for dimension in self._asked:
            value = values.get(dimension)
            if value is None and dimension in _ROUNDS:
                continue
            if value is None or value < self.least[dimension]:
                return _name(dimension)
        return "min-total" if score.total < self.min_total else None

    @property
    def _asked(self) -> Sequence[Dimension]:
        return [dimension for dimension in Dimension if dimension in self.least]


def _name(dimension: Dimension) -> str:
    return f"min-{dimension.value}"
