"""Under which seeds and clock a bundle is examined: derived from its content.

Tool code that knew them could behave while it is examined. It cannot know them: they follow from a hash
over the code itself.
"""

from dataclasses import dataclass
from datetime import timedelta

from astra_mcp.environments.bundle import Bundle
from astra_mcp.seeds import derive_seed, generator

__all__ = ["Conditions", "conditions_of"]

_NUM_OTHER_SEEDS = 8
"""Enough that an answer which one seed in two gives is seen through."""
_SHORTEST, _LONGEST = 90, 4 * 3600
"""Seconds: the virtual clock stands that much later after some fifty wrong calls, or after pauses."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Seeds of the episodes, and how much later the later clock stands."""

    seed: int
    other_seeds: tuple[int, ...]
    later: timedelta


def conditions_of(bundle: Bundle) -> Conditions:
    """Derive the conditions of one bundle; equal contents have equal ones."""
    root = int(bundle.content_hash, 16)
    seconds = generator(root, "acceptance", "clock").randint(_SHORTEST, _LONGEST)
    seeds = [derive_seed(root, "acceptance", "seed", i) for i in range(_NUM_OTHER_SEEDS + 1)]
    return Conditions(seeds[0], tuple(seeds[1:]), timedelta(seconds=seconds))
