"""Choosing distractors from the bands of several tools, or from other domains at random."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from astra_mcp.distractors.pool import Mask, Pool, PoolTool
from astra_mcp.distractors.similarity import BITS, Band, Membership
from astra_mcp.domains import Domain
from astra_mcp.seeds import generator

__all__ = ["Chosen", "Selection", "choose_banded", "choose_random"]

_RANDOM = "random"
"""What a shortfall is counted by where no bands are."""
_RANDOM_NUMBER = (5, 9)
"""Source: ASTRA sec. 4.1, "5-9 tools are randomly sampled from other domains"."""
_SEED_NAME = "distractors"


class Chosen(NamedTuple):
    """A distractor."""

    tool: PoolTool
    band: Band | None
    """None where it was chosen at random."""


class Selection(NamedTuple):
    """The distractors of an episode."""

    chosen: tuple[Chosen, ...]
    """In the order of their choice: the high band first."""
    shortfall: Mapping[str, int]
    """How many fewer than asked for each band had, or the whole pool at random; only where fewer."""


def choose_banded(
    pool: Pool,
    scope: Iterable[tuple[Domain | None, Membership]],
    *,
    eligible: Mask,
    k: int,
    seed: int,
) -> Selection:
    """Choose up to K tools uniformly from each band's union over the in-scope tools, eq. (28).

    A tool of the in-scope tool's own domain is in none of its bands; it may be in those of an in-scope tool
    of another domain. A tool in several bands is chosen once, for the highest one.

    Args:
        pool: Chosen from.
        scope: Of each in-scope tool: its server's domain, which excludes none where it is not known, and
            its membership in the pool's order.
        eligible: Which tools may be chosen at all.
        k: K, the same for all bands.
        seed: Decides; each band draws by its own name.
    """
    bits = _united(pool, scope)
    bits[~eligible] = 0
    chosen: list[Chosen] = []
    shortfall: dict[str, int] = {}
    for band in Band:
        places = np.flatnonzero(bits & BITS[band])
        number = min(k, len(places))
        if number < k:
            shortfall[band.value] = k - number
        drawn = generator(seed, _SEED_NAME, band).sample(range(len(places)), number)
        taken = places[drawn] if drawn else places[:0]
        bits[taken] = 0
        chosen += [Chosen(pool.tools[place], band) for place in taken]
    return Selection(tuple(chosen), shortfall)


def choose_random(
    pool: Pool, domains: Collection[Domain | None], *, eligible: Mask, seed: int
) -> Selection:
    """Choose 5 to 9 tools of other domains than any in-scope tool's: the ablation of ASTRA sec. 4.1.

    Args:
        pool: Chosen from.
        domains: Of the in-scope tools' servers; None where one is not known.
        eligible: Which tools may be chosen at all.
        seed: Decides, the number too.
    """
    mask = eligible.copy()
    for domain in domains:
        if domain is not None:
            mask &= ~pool.of_domain(domain)
    places = np.flatnonzero(mask)
    draw = generator(seed, _SEED_NAME, _RANDOM)
    wanted = draw.randint(*_RANDOM_NUMBER)
    number = min(wanted, len(places))
    drawn = draw.sample(range(len(places)), number)
    chosen = tuple(Chosen(pool.tools[places[at]], None) for at in drawn)
    return Selection(chosen, {_RANDOM: wanted - number} if number < wanted else {})


def _united(pool: Pool, scope: Iterable[tuple[Domain | None, Membership]]) -> Membership:
    """Unite the memberships over the in-scope tools, each without the tools of its own domain."""
    of_domain: dict[Domain | None, Membership] = {}
    for domain, membership in scope:
        known = of_domain.get(domain)
        of_domain[domain] = membership.copy() if known is None else known | membership
    united = np.zeros(len(pool), dtype=np.uint8)
    for domain, membership in of_domain.items():
        if domain is not None:
            membership[pool.of_domain(domain)] = 0
        united |= membership
    return united
