"""The command ``astra-mcp train rl``, whose groups are told what they earned: random weights earn nothing.

python told_run.py rl --config FILE
"""

from functools import partial

from astra_mcp.cli.train import rl
from astra_mcp.cli.train.command import app

__all__ = ["told"]


def told(number: int, earned: tuple[float, ...]) -> tuple[float, ...]:
    """Every third group is told that all earned the same, the others not."""
    return tuple(float((number + at) % 2) if number % 3 else 0.5 for at in range(len(earned)))


if __name__ == "__main__":
    rl.train = partial(rl.train, rewards=told)
    app()
