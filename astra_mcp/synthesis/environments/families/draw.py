"""Draws by integers of our own: the same on every machine and with every Python."""

from collections.abc import Sequence
from typing import TypeVar

from astra_mcp.errors import DrawError

__all__ = ["Draw"]

T = TypeVar("T")

_MASK = (1 << 64) - 1


class Draw:
    """A sequence of draws (SplitMix64, Steele et al. 2014) that one seed decides."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """Begin at a seed in [0, 2**64)."""
        self._state = seed & _MASK

    def number(self) -> int:
        """Draw an integer in [0, 2**64)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, limit: int) -> int:
        """Draw an integer in [0, limit)."""
        return (self.number() * limit) >> 64

    def between(self, low: int, high: int) -> int:
        """Draw an integer in [low, high]."""
        return low + self.below(high - low + 1)

    def chance(self, numerator: int, denominator: int) -> bool:
        """Be true in ``numerator`` of ``denominator`` draws."""
        return self.below(denominator) < numerator

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of several.

        Raises:
            DrawError: There is none.
        """
        if not options:
            raise DrawError("nothing is left to draw from")
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """Draw several of several, each at most once, in the order of the draws.

        Raises:
            DrawError: There are fewer than ``count``.
        """
        if count > len(options):
            raise DrawError(f"cannot draw {count} of {len(options)}")
        left = [*options]
        for place in range(count):
            other = place + self.below(len(left) - place)
            left[place], left[other] = left[other], left[place]
        return left[:count]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Draw an order."""
        return self.some(options, len(options))
