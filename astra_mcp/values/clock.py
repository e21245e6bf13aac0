"""Times of a session: they begin at a moment that its seed decides, and pass with its calls."""

from datetime import UTC, datetime
from typing import Final

from astra_mcp.values.dice import Dice

__all__ = ["DAY", "VirtualClock", "written"]

_FIRST: Final = int(datetime(2025, 2, 3, 8, tzinfo=UTC).timestamp())
_DAYS: Final = 360
_CALL_SECONDS: Final = 37
DAY: Final = 86_400


class VirtualClock:
    """The time of one session; no other clock is read."""

    def __init__(self, dice: Dice) -> None:
        """Begin on a day and in a working hour that are thrown."""
        place = dice.at("clock")
        self.start = _FIRST + place.at("day").below(_DAYS) * DAY + place.below(10 * 3600)

    def after(self, calls: int) -> int:
        """Seconds since 1970, after so many calls."""
        return self.start + calls * _CALL_SECONDS


def written(moment: int) -> str:
    """A moment as APIs write it, in UTC: ``2025-03-01T09:30:00Z``."""
    return f"{datetime.fromtimestamp(moment, UTC).isoformat()[:19]}Z"
