"""In which order a mixture's examples are seen: a function of the sizes, the weights and one seed.

Nothing is drawn while a model is trained, so a run goes on at any step without a position to restore.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from astra_mcp.errors import ConfigError
from astra_mcp.seeds import generator

__all__ = ["MOST_SEEN", "Mixture", "Part"]

MOST_SEEN = 10_000_000
"""Numbers of an order: some hundred megabytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """One set of a mixture."""

    size: int
    """Examples, which stand one after the other."""
    weight: float
    """How often each is seen in an epoch."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Sets whose examples are numbered through, in the order of the sets."""

    parts: Sequence[Part]
    seed: int

    def num_seen(self, epochs: float) -> Sequence[int]:
        """Say how often examples of each set are seen over so many epochs."""
        return [_reached(part, epochs) for part in self.parts]

    def order(self, epochs: float, most: int | None = None) -> Sequence[int]:
        """Give the numbers of the examples as they are seen over all epochs.

        Each set is an endless row of passes through it, every pass in an order of its own; an epoch takes the
        next ``weight * size`` of them, and then shuffles what it took of all sets. So with a weight of 0.5,
        two epochs see each example once.

        Args:
            epochs: May be no whole number: the last one is then as much shorter.
            most: So many of the first are enough; no epoch is laid down beyond the one that reaches them.

        Raises:
            ConfigError: They are more than can be laid down.
        """
        whole = int(epochs)
        bounds = [float(each) for each in range(whole + 1)]
        if epochs > whole:
            bounds.append(epochs)
        order: list[int] = []
        for number, (begin, end) in enumerate(pairwise(bounds)):
            if most is not None and len(order) >= most:
                break
            num_seen = sum(self.num_seen(end))
            if num_seen > MOST_SEEN:
                raise ConfigError(
                    f"training.epochs and data.weight: {num_seen:,} examples would be seen within"
                    f" {end:g} epochs, and at most {MOST_SEEN:,} are laid down: take fewer epochs or"
                    " smaller weights, or set training.max_steps"
                )
            order += self._epoch(number, begin, end)
        return order if most is None else order[:most]

    def _epoch(self, number: int, begin: float, end: float) -> list[int]:
        taken: list[int] = []
        offset = 0
        for index, part in enumerate(self.parts):
            first, last = _reached(part, begin), _reached(part, end)
            taken += [offset + each for each in self._passed(index, part.size, first, last)]
            offset += part.size
        generator(self.seed, "sft", "epoch", number).shuffle(taken)
        return taken

    def _passed(self, index: int, size: int, first: int, last: int) -> list[int]:
        """Give the members ``first`` to ``last`` of a set's endless row."""
        found: list[int] = []
        for turn in range(first // size, -(-last // size)):
            members = list(range(size))
            generator(self.seed, "sft", "set", index, "pass", turn).shuffle(members)
            found += members[max(first - turn * size, 0) : last - turn * size]
        return found


def _reached(part: Part, epochs: float) -> int:
    """Say how often examples of a set are seen until then."""
    return round(epochs * part.weight * part.size)
