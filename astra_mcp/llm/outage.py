"""When to stop asking a model that takes no call: the one rule of all who work through many items."""

from typing import Final

from astra_mcp.errors import ModelFault

__all__ = ["LOST", "MAX_LOST", "Outage"]

LOST: Final = frozenset({ModelFault.DENIED, ModelFault.UNREACHABLE})
"""Faults of an endpoint that is not there, or takes no call of anybody."""
MAX_LOST: Final = 16
"""Items that fail in a row because their model takes no call, before none is begun any more."""


class Outage:
    """Counts items that were lost one after another because their model takes no call."""

    def __init__(self) -> None:
        self._num_lost = 0

    def note(self, *, is_lost: bool, was_asked: bool) -> bool:
        """Take note of what became of an item.

        Args:
            is_lost: It failed because the model takes no call.
            was_asked: A call was made for it; one that the cache answered says nothing of the model.

        Returns:
            True where no further item should begin.
        """
        if is_lost:
            self._num_lost += 1
        elif was_asked:
            self._num_lost = 0
        return self._num_lost >= MAX_LOST
