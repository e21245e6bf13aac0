"""Servers and tools put straight into a database, for tests of what is made of them later."""

from collections.abc import Iterable
from itertools import count
from typing import Any

from sqlalchemy.orm import Session

from astra_mcp.domains import Domain
from astra_mcp.types import ToolSpec
from registry.documents.sources import Provenance
from registry.store.database import Database
from registry.store.statements import insert_missing
from registry.store.tables import ToolRow, table_of
from registry.store.version import lock_catalog, next_version

from stored_rows import place, server, tool_row

_numbers = count(1)


def spec(name: str, description: str, *parameters: str) -> ToolSpec:
    """A tool whose parameters are texts."""
    properties: dict[str, object] = {name: {"type": "string"} for name in parameters}
    return ToolSpec(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties},
    )


async def store_server(
    database: Database,
    name: str,
    tools: Iterable[ToolSpec],
    *,
    status: str = "kept",
    provenance: Provenance = Provenance.LIVE,
    domain: Domain | None = None,
    language: str | None = "en",
    description: str = "",
) -> None:
    """Store a server; its tools have its status."""
    number = next(_numbers)
    told: dict[str, Any] = {"description": description, "language": language, "labels": []}
    told |= {"domain": domain, "domain_by": domain and "label", "provenance": provenance}
    told |= {"status": status, "tools_hash": None}
    tools = list(tools)

    def store(session: Session) -> None:
        lock_catalog(session)
        title = name.replace("-", " ").title()
        revision = next_version(session)
        session.add(server(number, name, title=title, revision=revision, **told))
        insert_missing(session, table_of(ToolRow), [tool_row(t).model_dump() for t in tools])
        session.flush()
        session.add_all(place(number, i, tool, status=status) for i, tool in enumerate(tools))

    await database.write(store)
