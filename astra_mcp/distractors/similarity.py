"""Likeness of tools by their vectors, and its bands: ASTRA (arXiv:2601.21558) eq. (25)-(27), row by row.

A row is what one in-scope tool is compared with; the matrix of all pairs is never made. Vectors stay the
float32 that embedders answer, sums and quotients are float64: rows equal those of a float64 computation of
the whole matrix, up to the rounding of sums.
"""

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from astra_mcp.embedding import Vectors

__all__ = [
    "BITS",
    "Band",
    "Floats",
    "Membership",
    "cosines",
    "lengths_of",
    "membership_of",
    "normalised",
]

Floats = npt.NDArray[np.float64]
_EQUAL_WITHIN = 1e-12
"""Cosines that differ by less are equal: so much may the order of summation make of one and the same."""
_BLOCK_BYTES = 512 << 10
"""So much of the vectors is converted to float64 at once, and read from the processor's cache then."""
_HIGH_ABOVE = 0.85
_MEDIUM_FROM = 0.4
Membership = npt.NDArray[np.uint8]
"""One byte for each tool of a pool: the bit of its band, or of several bands after a union; 0 in none."""


def lengths_of(vectors: Vectors) -> Floats:
    """Euclidean lengths, shape ``(M,)``; not finite where a vector is not."""
    lengths = np.empty(len(vectors))
    for rows, block in _blocks(vectors):
        lengths[rows] = np.sqrt(np.vecdot(block, block))
    return lengths


def cosines(asked: Vectors, vectors: Vectors, lengths: Floats) -> Floats:
    """S_ij = cos(e_i, e_j), eq. (25), for some i and all j.

    Args:
        asked: e_i, shape ``(n, D)``.
        vectors: e_j, shape ``(M, D)``.
        lengths: Of ``vectors``, shape ``(M,)``.

    Returns:
        Shape ``(n, M)``; 0 where one of the two vectors is zero, since its text says nothing.
    """
    rows = asked.astype(np.float64)[:, np.newaxis]
    found = np.empty((len(asked), len(vectors)))
    for places, block in _blocks(vectors):
        # One pair after the other: a product of matrices would start threads for every block, which wait for
        # one another on a busy machine, and a pair's sum would depend on what else is asked for.
        found[:, places] = np.vecdot(rows, block)
    products = np.outer(lengths_of(asked), lengths)
    return np.divide(found, products, out=np.zeros_like(found), where=products > 0)


def normalised(row: Floats, own: int | None) -> Floats:
    """S~_ij = (S_ij - min S_i) / (max S_i - min S_i), eq. (26), min and max over all j != i.

    Args:
        row: S_i, shape ``(M,)``.
        own: The place of i; None where it is not among them, and is compared with all.

    Returns:
        Shape ``(M,)``, in [0, 1] but at the own place, where it means nothing.

    Deviation: where the maximum equals the minimum, which the paper does not define, all are 0.
    """
    others = row if own is None else np.delete(row, own)
    if not len(others):
        return np.zeros_like(row)
    least, most = others.min(), others.max()
    if most - least <= _EQUAL_WITHIN:
        return np.zeros_like(row)
    return (row - least) / (most - least)


def _blocks(vectors: Vectors) -> Iterator[tuple[slice, Floats]]:
    """Convert rows to float64, some at a time."""
    size = max(1, _BLOCK_BYTES // (8 * max(1, vectors.shape[1])))
    for start in range(0, len(vectors), size):
        yield slice(start, start + size), vectors[start : start + size].astype(np.float64)


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
    membership[normalised > _HIGH_ABOVE] = BITS[Band.HIGH]
    membership[normalised < _MEDIUM_FROM] = BITS[Band.LOW]
    if own is not None:
        membership[own] = 0
    return membership
