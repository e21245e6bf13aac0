"""The way of items from one stage to the next: one by one, and each id once."""

from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import contextmanager
from typing import Self

import anyio

from astra_mcp.errors import PipelineError
from astra_mcp.pipeline.item import Item

__all__ = ["Belt"]


class Belt:
    """Hands items over; holds none, so who gives waits until each is taken."""

    def __init__(self, leads_to: str) -> None:
        """Make an empty one.

        Args:
            leads_to: What takes the items, for messages.
        """
        self._leads_to = leads_to
        self._ids: set[str] = set()
        self._giving, self._taking = anyio.create_memory_object_stream[Item](0)

    @contextmanager
    def closing(self) -> Generator[Self]:
        """Close both ends when the block is left."""
        with self._giving, self._taking:
            yield self

    def claim(self, items: Iterable[Item]) -> None:
        """Take the ids of items that will be given.

        Raises:
            PipelineError: One of them was claimed before.
        """
        for item in items:
            if item.id in self._ids:
                msg = (
                    f"two items with the id {item.id!r} go to {self._leads_to}:"
                    " outcomes are found again by the id, so each needs its own"
                )
                raise PipelineError(msg)
            self._ids.add(item.id)

    async def give(self, items: Iterable[Item]) -> None:
        """Hand items over; done when all are taken."""
        for item in items:
            await self._giving.send(item)

    def end(self) -> None:
        """Give nothing any more: whoever takes is told that it was all."""
        self._giving.close()

    def __aiter__(self) -> AsyncIterator[Item]:
        """Take items until the end; several may take at once, and each item goes to one of them."""
        return self._taking
