"""Rules of alarms: when a stream of figures is no longer as it was. Each keeps a few numbers on the way.

Knows numbers alone; which figures they are, and what they mean, is for :mod:`training.signals.health.alarms`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Protocol

__all__ = ["Above", "Fall", "Jump", "Leap", "Loss", "Memory", "Rule"]

Memory = list[float]
"""What a rule keeps; empty before the first step. Each rule says what stands in it."""
Values = Mapping[str, float]
_NEW_SHARE = 0.1
"""Of a new value in a moving average."""


class Rule(Protocol):
    """Looks at one step after the other."""

    @property
    def figures(self) -> tuple[str, ...]:
        """Over which it looks; it is asked of steps alone that have all of them."""
        ...

    def holds(self, values: Values, memory: Memory) -> bool:
        """Say whether the condition holds with this step, and keep what the next one needs."""
        ...


@dataclass(frozen=True, slots=True)
class Jump:
    """A value above a floor and above a multiple of its moving average; that is the memory."""

    figure: str
    floor: float
    factor: float

    @property
    def figures(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        return (self.figure,)

    def holds(self, values: Values, memory: Memory) -> bool:
        """See :class:`Rule`; the average is that of the steps before, the first step's is its own."""
        value = values[self.figure]
        average = memory[0] if memory else value
        memory[:] = [_moved(average, value)]
        return value > max(self.floor, self.factor * average)


@dataclass(frozen=True, slots=True)
class Above:
    """One of several values above its bound, for so many steps in a row; their number is the memory."""

    bounds: tuple[tuple[str, float], ...]
    steps: int = 1

    @property
    def figures(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        return tuple(figure for figure, _ in self.bounds)

    def holds(self, values: Values, memory: Memory) -> bool:
        """See :class:`Rule`."""
        is_above = any(values[figure] > bound for figure, bound in self.bounds)
        return _lasts(memory, 0, self.steps, is_so=is_above)


@dataclass(frozen=True, slots=True)
class Leap:
    """A value above a multiple of the median of the last steps; those are the memory.

    Before there are so many steps, and where their median is 0, it does not hold.
    """

    figure: str
    factor: float
    window: int

    @property
    def figures(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        return (self.figure,)

    def holds(self, values: Values, memory: Memory) -> bool:
        """See :class:`Rule`."""
        value, usual = values[self.figure], median(memory) if memory else 0.0
        is_full = len(memory) == self.window
        memory[:] = [*memory, value][-self.window :]
        return is_full and 0 < usual * self.factor < value


@dataclass(frozen=True, slots=True)
class Fall:
    """A value below a share of the best moving average, for so many steps in a row.

    The memory is their number, the average and the best of it. Where that is not above 0, it does not hold.
    """

    figure: str
    share: float
    steps: int

    @property
    def figures(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        return (self.figure,)

    def holds(self, values: Values, memory: Memory) -> bool:
        """See :class:`Rule`."""
        value = values[self.figure]
        count, average, best = memory or (0.0, value, value)
        is_low = best > 0 and value < self.share * best
        average = _moved(average, value)
        memory[:] = [count, average, max(best, average)]
        return _lasts(memory, 0, self.steps, is_so=is_low)


@dataclass(frozen=True, slots=True)
class Loss:
    """A value below a share of that of the first step, which is the memory."""

    figure: str
    share: float

    @property
    def figures(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        return (self.figure,)

    def holds(self, values: Values, memory: Memory) -> bool:
        """See :class:`Rule`."""
        value = values[self.figure]
        memory[:] = memory or [value]
        return value < self.share * memory[0]


def _moved(average: float, value: float) -> float:
    return average + _NEW_SHARE * (value - average)


def _lasts(memory: Memory, place: int, steps: int, *, is_so: bool) -> bool:
    """Count the steps in a row in the memory, and say whether they are enough."""
    count = (memory[place] if memory else 0.0) + 1 if is_so else 0.0
    memory[place : place + 1] = [min(count, float(steps))]
    return count >= steps
