"""The three bands of similarity: ASTRA (arXiv:2601.21558) eq. (27)."""

from enum import StrEnum

import numpy as np
import numpy.typing as npt

from astra_mcp.distractors.similarity import Floats

__all__ = ["BITS", "HIGH_ABOVE", "MEDIUM_FROM", "Band", "Membership", "membership_of"]

HIGH_ABOVE = 0.85
MEDIUM_FROM = 0.4

Membership = npt.NDArray[np.uint8]
"""One byte for each tool of a pool: the bit of its band, or of several bands after a union; 0 in none."""


class Band(StrEnum):
    """How alike an in-scope tool and another one are, among all that it is compared with."""

    HIGH = "high"
    """Above 0.85."""
    MEDIUM = "medium"
    """From 0.4 to 0.85, both included."""
    LOW = "low"
    """Below 0.4."""


BITS = {Band.HIGH: 1, Band.MEDIUM: 2, Band.LOW: 4}


def membership_of(normalised: Floats, own: int | None) -> Membership:
    """Put every tool but the in-scope one itself into its band, eq. (27).

    Tools of its own domain are taken out at the union (:mod:`astra_mcp.distractors.choosing`): one document
    may stand at servers of several domains.

    Args:
        normalised: S~_i, shape ``(M,)``.
        own: The place of the in-scope tool, which is in no band; None where it is not in the pool.
    """
    membership = np.full(len(normalised), BITS[Band.MEDIUM], dtype=np.uint8)
    membership[normalised > HIGH_ABOVE] = BITS[Band.HIGH]
    membership[normalised < MEDIUM_FROM] = BITS[Band.LOW]
    if own is not None:
        membership[own] = 0
    return membership
