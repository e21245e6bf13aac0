"""Answers of models, kept by everything that they depend on; equal ones under way are asked for once."""

import copy
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

import anyio

from astra_mcp.errors import AstraError
from astra_mcp.types import JsonObject

__all__ = ["CompletionCache", "SingleFlight"]

Result = TypeVar("Result")


class _SharedWork(Generic[Result]):
    """Work under way, and those who wait for it."""

    def __init__(self) -> None:
        self.is_over = anyio.Event()
        self.results: list[Result] = []
        """The one result, once it is there."""
        self.error: AstraError | None = None


class SingleFlight(Generic[Result]):
    """Work under way, by what it is about."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _SharedWork[Result]] = {}

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
        flight = self._flights[key] = _SharedWork()
        try:
            flight.results.append(await work())
        except AstraError as error:
            flight.error = error
            raise
        finally:
            del self._flights[key]
            flight.is_over.set()
        return flight.results[0], False


class CompletionCache(Protocol):
    """Keeps completions by their keys; satisfied by ``registry``. Only answers of use are put into it."""

    async def get(self, key: str) -> JsonObject | None:
        """Find what was put last, or None."""
        ...

    async def put(self, key: str, value: JsonObject) -> None:
        """Keep a value; replaces an earlier one."""
        ...
