"""The command ``astra-mcp train rl``, whose groups are told what they earned: random weights earn nothing.

python told_run.py rl --config FILE
"""

from collections.abc import Sequence
from functools import partial

from astra_mcp.cli.train import rl
from astra_mcp.cli.train.command import app
from training.rl.core.playing import PolicyTrajectory

__all__ = ["told"]


def told(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
    """Every third group is told that all earned the same, the others not."""
    return [float((number + at) % 2) if number % 3 else 0.5 for at in range(len(played))]


if __name__ == "__main__":
    rl.train = partial(rl.train, rewards=told)
    app()
