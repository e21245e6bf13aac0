"""Why a list or a search of the registry is empty: which value of a filter no server has."""

from typing import Final, Literal

from astra_mcp.report.choices import closest
from registry.store.database import Database
from registry.store.servers import ServerFilter, facet_values

__all__ = ["explain_nothing"]

_FACETS: Final[tuple[Literal["source", "language"], ...]] = ("source", "language")


async def explain_nothing(database: Database, where: ServerFilter) -> str:
    """Say that nothing matches, and which values there are in the place of one that no server has.

    Raises:
        RegistryError: The database failed.
    """
    among = ServerFilter(status=where.status, reason=where.reason)
    found = await database.read(
        lambda session: {facet: facet_values(session, facet, among) for facet in _FACETS}
    )
    for facet, known in found.items():
        asked = where.source if facet == "source" else where.language
        if asked is not None and known and asked not in known:
            close = closest(asked, known)
            hint = f"did you mean {close}? " if close else ""
            return f"nothing matches: no {facet} is {asked!r}; {hint}there are {', '.join(known)}"
    return "nothing matches"
