"""Those who want to be told of something: one of a server's changes, a notification, a name.

Knows nothing of what is told.
"""

from collections.abc import Callable
from typing import Generic, ParamSpec

__all__ = ["Listeners"]

_Told = ParamSpec("_Told")


class Listeners(Generic[_Told]):
    """All who listen to one thing; false where there are none."""

    def __init__(self) -> None:
        self._hears: dict[object, Callable[_Told, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._hears)

    def add(self, hear: Callable[_Told, None]) -> Callable[[], None]:
        """Tell one more; the same function may be added several times.

        Args:
            hear: Must not raise and must not block.

        Returns:
            Ends it, and may be called twice.
        """
        token = object()
        self._hears[token] = hear

        def end() -> None:
            self._hears.pop(token, None)

        return end

    def tell(self, *told: _Told.args, **named: _Told.kwargs) -> None:
        """Tell all who listen now; those who come or go meanwhile change nothing."""
        for hear in tuple(self._hears.values()):
            hear(*told, **named)
