"""The tools that their servers listed themselves, as texts: what distractors are chosen from."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from sqlalchemy.orm import Session

from astra_mcp.embedding.tool_text import tool_text
from registry.store.batches import batches
from registry.store.servers import load_servers
from registry.store.version import find_published

__all__ = ["LiveTool", "live_tools"]

_SERVERS_AT_ONCE = 50
"""So many are held as values; their tools' texts are many times smaller."""


class LiveTool(NamedTuple):
    """A kept tool of a kept server that was asked for its tools."""

    server: str
    domain: str | None
    """Of the server."""
    name: str
    hash: str
    """Of this version of the tool; its vectors are stored by it."""
    document: str
    """What is embedded of it."""


def live_tools(session: Session, servers: Collection[str]) -> Iterator[LiveTool]:
    """Read tools, by the names of their servers and their places there; crawled servers have none.

    Args:
        session: Sees one state of the database.
        servers: Their names; what is not kept or not live is left out.
    """
    kept = find_published(session, crawled=False).revisions
    for names in batches(sorted(kept.keys() & set(servers)), _SERVERS_AT_ONCE):
        for server in load_servers(session, names):
            for tool in server.tools:
                if tool.status == "kept" and tool.spec is not None and tool.hash is not None:
                    yield LiveTool(
                        server=server.name,
                        domain=server.domain,
                        name=tool.spec.name,
                        hash=tool.hash,
                        document=tool_text(tool.spec),
                    )
