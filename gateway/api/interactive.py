"""What interactive endpoints show of a catalog: every server, none, or those that are named.

Episodes are counted, recorded and scored; what is tried at an interactive endpoint is not. Where environments
are trained on or measured with, these endpoints are closed, so that nobody explores them beside the count.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator

from astra_mcp.errors import UnknownNameError
from gateway.api.seams import ServerCatalog, Upstream

__all__ = ["Interactive", "InteractiveCatalog"]

_ALL, _NONE = "all", "none"
_FORM = "write all, none, or the names of servers with commas between them"


def _read(given: object) -> Literal["all"] | tuple[str, ...]:
    """Take a list, or the text that options and variables hold."""
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple):
        raise ValueError(_FORM)  # noqa: TRY004 - only such a one is a fault of the settings
    named = [str(part).strip() for part in cast("Sequence[object]", parts)]
    if named == [_ALL]:
        return _ALL
    if named in ([], [_NONE]):
        return ()
    if not all(named) or not {_ALL, _NONE}.isdisjoint(named):
        raise ValueError(_FORM)
    return tuple(dict.fromkeys(named))


Interactive = Annotated[Literal["all"] | tuple[str, ...], BeforeValidator(_read)]
"""The servers that interactive endpoints show, now or once they are published; an empty list is none."""


@dataclass(frozen=True, slots=True)
class InteractiveCatalog:
    """A catalog as interactive endpoints show it; the rest of it is open to episodes alone."""

    _catalog: ServerCatalog
    _shown: Literal["all"] | Collection[str]

    def shows(self, name: str) -> bool:
        """Tell whether a server of this name is shown; whether there is one is not asked."""
        return self._shown == _ALL or name in self._shown

    def unpublished(self) -> tuple[str, ...]:
        """The names of which there is no server at the moment."""
        known = {upstream.name for upstream in self._catalog.upstreams()}
        return () if self._shown == _ALL else tuple(n for n in self._shown if n not in known)

    def upstreams(self) -> Sequence[Upstream]:
        """The shown servers, by name."""
        every = self._catalog.upstreams()
        return every if self._shown == _ALL else [u for u in every if self.shows(u.name)]

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
