"""What a server says of itself that has tools and nothing else: the base of environments and emulations.

Satisfies a part of the gateway's ``Upstream`` structurally. Knows neither tools nor sessions.
"""

from collections.abc import Mapping

from astra_mcp.types import JsonValue, ServerStatus

__all__ = ["ToolsOnly"]


class ToolsOnly:
    """Always ready; never relays."""

    @property
    def relays(self) -> bool:
        """Tools are all there is."""
        return False

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """Tools."""
        return {"tools": {}}

    @property
    def instructions(self) -> str | None:
        """None: the question, or the description of each tool, says what to do."""
        return None

    @property
    def status(self) -> tuple[ServerStatus, str]:
        """Always ready; what fails later is a failure of its episode."""
        return ServerStatus.READY, ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """None."""
        return ()

    async def prepare(self) -> None:
        """Everything is known."""
