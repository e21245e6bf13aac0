"""Values in batches: databases bound how many stand in one statement."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["batches"]

Value = TypeVar("Value")


def batches(values: Iterable[Value], size: int) -> Iterator[list[Value]]:
    """Cut values into lists of at most so many, in their order."""
    remaining = iter(values)
    while batch := list(islice(remaining, size)):
        yield batch
