"""Equal work that is asked for at the same time is done once."""

import copy
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import anyio

from astra_mcp.errors import AstraError

__all__ = ["Flights"]

Result = TypeVar("Result")


class _Flight(Generic[Result]):
    """Work under way, and those who wait for it."""

    def __init__(self) -> None:
        self.is_over = anyio.Event()
        self.results: list[Result] = []
        """The one result, once it is there."""
        self.error: AstraError | None = None


class Flights(Generic[Result]):
    """Work under way, by what it is about."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[Result]] = {}

    async def share(
        self, key: Hashable, work: Callable[[], Awaitable[Result]]
    ) -> tuple[Result, bool]:
        """Do work, or wait for equal work that is under way and take what comes of it, also its failure.

        Where whoever does it is cancelled, one of those who wait does it in its place.

        Returns:
            The result, and whether another did the work.
        """
        while (flight := self._flights.get(key)) is not None:
            await flight.is_over.wait()
            if flight.error is not None:
                raise copy.copy(flight.error)
            if flight.results:
                return flight.results[0], True
        flight = self._flights[key] = _Flight()
        try:
            flight.results.append(await work())
        except AstraError as error:
            flight.error = error
            raise
        finally:
            del self._flights[key]
            flight.is_over.set()
        return flight.results[0], False
