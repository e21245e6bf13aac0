"""The documents that trajectories are made of: kept servers of the registry, as synthesis takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from astra_mcp.errors import UnknownNameError
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents
from registry.published.publication import Publication, find_publication
from registry.store.database import Database
from registry.store.servers import load_servers

__all__ = ["WantedServers", "read_documents"]

_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedServers:
    """Which servers tasks are made of."""

    names: tuple[str, ...] = ()
    """All where none is named."""
    domain: str | None = None
    crawled: bool = False
    """Also those whose tools were read off a page."""
    limit: int | None = None
    """The first so many, by name."""


async def read_documents(database: Database, wanted: WantedServers) -> Documents:
    """Read the documents of servers, by name.

    Args:
        database: The registry.
        wanted: Which of its kept servers.

    Raises:
        UnknownNameError: One that is named is not kept, or is crawled and such are not asked for.
        RegistryError: The database failed.
    """
    publication = await database.read(partial(find_publication, crawled=wanted.crawled))
    names = _choose(publication, wanted)
    servers = await database.read(lambda session: load_servers(session, names))
    return {
        server.name: DocumentedServer(
            name=server.name,
            title=server.title,
            description=server.description,
            domain=server.domain,
            language=server.language,
            version=publication.servers[server.name].version,
            tools=server.specs,
        )
        for server in servers
    }


def _choose(publication: Publication, wanted: WantedServers) -> Sequence[str]:
    there = publication.servers
    shown = ", ".join(list(there)[:_SHOWN]) + (", ..." if len(there) > _SHOWN else "")
    hint = f"kept are {shown}" if there else "import documents first: `astra-mcp registry import`"
    if not wanted.crawled:
        hint += "; --crawled also takes those whose tools were read off a page"
    for name in wanted.names:
        if name not in there:
            raise UnknownNameError.among("server", name, there, hint)
    names = tuple(dict.fromkeys(wanted.names)) or tuple(there)
    fitting = [name for name in names if wanted.domain in (None, there[name].domain)]
    return fitting[: wanted.limit]
