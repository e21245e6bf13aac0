"""Runs a few bounded steps to their end although the caller is cancelled."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio

__all__ = ["shielded"]


@contextmanager
def shielded() -> Generator[None]:
    """Hold a cancellation back until the block is left; the block must have deadlines of its own."""
    with anyio.CancelScope(shield=True):
        yield
