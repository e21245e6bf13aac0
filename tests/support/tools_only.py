"""What an upstream says of itself that has tools and nothing else; base of the tests' own servers."""

from collections.abc import Mapping

from astra_mcp.types import JsonValue, ServerStatus


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
        """None."""
        return None

    @property
    def status(self) -> tuple[ServerStatus, str]:
        """Always ready."""
        return ServerStatus.READY, ""

    async def prepare(self) -> None:
        """Nothing is unknown."""
