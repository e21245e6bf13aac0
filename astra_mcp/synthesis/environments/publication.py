"""What synthesis needs of whoever publishes: an acceptance, and a place for what it accepts."""

from collections.abc import Sequence
from typing import Protocol

from astra_mcp.environments.acceptance.verdict import FailedCheck
from astra_mcp.environments.bundle import Bundle

__all__ = ["Acceptance", "Publisher"]


class Acceptance(Protocol):
    """Says of a bundle whether it may be published."""

    async def __call__(self, bundle: Bundle) -> Sequence[FailedCheck]:
        """Name the checks that refuse it; none where it is accepted."""
        ...


class Publisher(Protocol):
    """Takes bundles that are accepted."""

    def holds(self, bundle: Bundle, split: str | None) -> bool:
        """Whether this very bundle is there already.

        Raises:
            ConfigError: Something else has its name.
        """
        ...

    def publish(self, bundle: Bundle, split: str | None) -> None:
        """Take a bundle, whole or not at all.

        Raises:
            ConfigError: It cannot be written.
        """
        ...
