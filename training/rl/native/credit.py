"""Credit for single turns: which turn of an episode solved something, as a part of its advantage."""

from collections.abc import Sequence
from statistics import fmean

__all__ = ["turn_advantages"]


def turn_advantages(
    advantages: Sequence[float], solved: Sequence[Sequence[int]], *, weight: float
) -> tuple[tuple[float, ...], ...]:
    """Tell the turns of each episode apart by what they solved.

    With s_it the sub-tasks newly solved in turn t of episode i, and T_i its turns:

        d_it = s_it - mean_t(s_it)        A_it = A_i + weight * d_it / sqrt(mean over all turns of d_it ** 2)

    so the mean of A_it over the turns of an episode is A_i, and the share of the turns has unit spread in the
    group. Where no episode has turns that differ, A_it is A_i. The paper gives credit to episodes alone.

    Args:
        advantages: A_i of each member of a group.
        solved: s_it of each member, turn by turn.
        weight: Of the share of the turns.

    Returns:
        A_it of each member, turn by turn.
    """
    means = [fmean(turns) if turns else 0.0 for turns in solved]
    apart = [[s - mean for s in turns] for turns, mean in zip(solved, means, strict=True)]
    squares = [d * d for turns in apart for d in turns]
    spread = fmean(squares) ** 0.5 if squares else 0.0
    return tuple(
        tuple(advantage + (weight * d / spread if spread else 0.0) for d in turns)
        for advantage, turns in zip(advantages, apart, strict=True)
    )
