"""Points in time as records have them, for every list of ours: in UTC, with a ``Z`` behind them."""

from datetime import UTC, datetime

__all__ = ["utc_text"]


def utc_text(at: datetime) -> str:
    """Write a point in time, which is aware."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
