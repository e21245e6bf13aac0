"""What can be computed, subject by subject: plain functions and the names that tools have for them.

Each subject ends in its ``COMPUTATIONS``. A subject knows operands and its own field, nothing of tools or
sessions. To read: :mod:`~.arithmetic`, :mod:`~.expressions`, :mod:`~.aggregates`, :mod:`~.matrices`,
:mod:`~.units`, :mod:`~.notations`, :mod:`~.money`, :mod:`~.dates`, :mod:`~.texts`, :mod:`~.encodings`,
:mod:`~.json_texts`, :mod:`~.patterns`, :mod:`~.pattern_texts`, :mod:`~.chance`.
"""

from typing import Final

from servers.emulated.offline.computing.computation import Computation
from servers.emulated.offline.computing.subjects import (
    aggregates,
    arithmetic,
    chance,
    dates,
    encodings,
    expressions,
    json_texts,
    matrices,
    money,
    notations,
    pattern_texts,
    texts,
    units,
)

__all__ = ["COMPUTATIONS", "between"]

COMPUTATIONS: Final[tuple[Computation, ...]] = (
    *arithmetic.COMPUTATIONS,
    *expressions.COMPUTATIONS,
    *aggregates.COMPUTATIONS,
    *matrices.COMPUTATIONS,
    *notations.COMPUTATIONS,
    *units.COMPUTATIONS,
    *money.COMPUTATIONS,
    *dates.COMPUTATIONS,
    *texts.COMPUTATIONS,
    *encodings.COMPUTATIONS,
    *json_texts.COMPUTATIONS,
    *pattern_texts.COMPUTATIONS,
    *chance.COMPUTATIONS,
)


def between(source: str, target: str) -> Computation | None:
    """What a tool does that is named for two forms, such as ``binary_to_decimal`` or ``km_to_miles``."""
    return notations.between(source, target) or units.between(source, target)
