"""Simulated rollouts: groups by their number, of which a share is degenerate or failed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, pvariance

from astra_mcp.seeds import generator
from training.rl.core.filling import BatchFilling, Group

__all__ = ["ALIKE", "FAILED", "GroupStream", "Sizes", "sizes_of_batches"]

ALIKE, FAILED = (0.5, 0.5), None
"""Rewards of a group that teaches nothing, and of one with an episode that failed."""


@dataclass
class GroupStream:
    """Plays groups, each by itself."""

    degenerate: float
    failed: float = 0.0
    seed: int = 1
    step: int = 0
    played: list[Group[str]] = field(default_factory=list[Group[str]])
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draw = generator(self.seed, "stream")

    async def play(self, count: int) -> Sequence[Group[str]]:
        """Play the next groups."""
        begin = len(self.played)
        self.played += [self._group(begin + n) for n in range(count)]
        return self.played[begin:]

    def _group(self, number: int) -> Group[str]:
        drawn = self.draw.random()
        rewards = (0.0, 1.0 + number)
        if drawn < self.failed:
            rewards = FAILED
        elif drawn < self.failed + self.degenerate:
            rewards = ALIKE
        return Group(number=number, step=self.step, rewards=rewards, members=(f"g{number}",))

    def valid(self) -> list[int]:
        """Numbers of the groups that can teach something."""
        return [g.number for g in self.played if g.rewards not in {ALIKE, FAILED}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Groups that teach in a step, over many steps; a variance is that of a population."""

    filled_mean: float
    filled_variance: float
    filled_rounds: float
    """Rounds of rollouts for a step."""
    plain_mean: float
    plain_variance: float
    computed_mean: float
    """Of the binomial distribution that batches without filling follow."""
    computed_variance: float


async def sizes_of_batches(degenerate: float, *, groups: int, steps: int, seed: int) -> Sizes:
    """Play equal numbers of steps with filling and without it, each against a stream of its own.

    Source of what is compared: ASTRA sec. 3.1 and figure 5.
    """
    filled, filling = GroupStream(degenerate, seed=seed), BatchFilling[str](num_groups=groups)
    plain = GroupStream(degenerate, seed=seed + 1)
    with_filling: list[int] = []
    without: list[int] = []
    for step in range(steps):
        filled.step = plain.step = step
        batch = await filling.fill(step, filled.play)
        with_filling.append(sum(bool(group.spread) for group in batch.groups))
        without.append(sum(bool(group.spread) for group in await plain.play(groups)))
    useful = 1 - degenerate
    return Sizes(
        filled_mean=fmean(with_filling),
        filled_variance=pvariance(with_filling),
        filled_rounds=len(filled.played) / groups / steps,
        plain_mean=fmean(without),
        plain_variance=pvariance(without),
        computed_mean=groups * useful,
        computed_variance=groups * useful * degenerate,
    )
