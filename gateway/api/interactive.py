"""What interactive endpoints show of a catalog: every server, none, or those that are named.

Episodes are counted, recorded and scored; what is tried at an interactive endpoint is not. Where environments
are trained on or measured with, these endpoints are closed, so that nobody explores them beside the count.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from astra_mcp.errors import UnknownNameError
from gateway.api.seams import ServerCatalog, Upstream, shown_together

__all__ = ["InteractiveCatalog"]


@dataclass(frozen=True, slots=True)
class InteractiveCatalog:
    """A catalog as interactive endpoints show it; the rest of it is open to episodes alone."""

    _catalog: ServerCatalog
    _shown: Literal["all"] | Collection[str]

    def shows(self, name: str) -> bool:
        """Tell whether a server of this name is shown; whether there is one is not asked."""
        return self._shown == "all" or name in self._shown

    def unpublished(self) -> tuple[str, ...]:
        """The names of which there is no server at the moment."""
        known = {upstream.name for upstream in self._catalog.upstreams()}
        return () if self._shown == "all" else tuple(n for n in self._shown if n not in known)

    def upstreams(self) -> Sequence[Upstream]:
        """The shown servers, by name."""
        every = self._catalog.upstreams()
        return every if self._shown == "all" else [u for u in every if self.shows(u.name)]

    def together(self) -> Sequence[Upstream]:
        """Those of them that the endpoint of all servers shows; who names servers sees them there too."""
        if self._shown == "all":
            return self._catalog.together()
        return shown_together(self.upstreams())

    def upstream(self, name: str) -> Upstream:
        """One server; ``UnknownNameError`` also for one that is not shown, and says how it would be."""
        found = self._catalog.upstream(name)
        if self.shows(name):
            return found
        raise UnknownNameError(
            f"{name} is open to episodes alone: interactive endpoints show it where the gateway is "
            "started with `astra-mcp serve --interactive` and its name, or all (serve.interactive)"
        )

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told of the shown servers that change."""

        def hear_of_shown(name: str) -> None:
            if self.shows(name):
                hear(name)

        return self._catalog.watch(hear_of_shown)
