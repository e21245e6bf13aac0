"""Servers and tools put straight into a database, for tests of what is made of them later."""

from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count

from sqlalchemy.orm import Session
from sqlmodel import SQLModel

from astra_mcp.domains import Domain
from astra_mcp.types import ToolSpec, canonical_json
from registry.documents.search_words import search_words
from registry.documents.sources import Provenance
from registry.store.database import Database
from registry.store.statements import insert_missing
from registry.store.tables import ServerRow, ServerToolRow
from registry.store.version import lock_catalog, next_version

__all__ = ["hash_of", "spec", "store_server"]

_numbers = count(1)
_IMPORTED = datetime(2026, 1, 1, tzinfo=UTC)


def spec(name: str, description: str, *parameters: str) -> ToolSpec:
    """A tool whose parameters are texts."""
    properties: dict[str, object] = {name: {"type": "string"} for name in parameters}
    return ToolSpec(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties},
    )


def hash_of(tool: ToolSpec) -> str:
    """What a tool is stored by in these tests."""
    return sha256(canonical_json(tool.model_dump())).hexdigest()


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
    tools = list(tools)
    server = ServerRow(
        id=number,
        source="tests",
        key=name,
        name=name,
        title=name.replace("-", " ").title(),
        description=description,
        labels=[],
        domain=domain,
        domain_by=None if domain is None else "label",
        language=language,
        provenance=provenance,
        status=status,
        origin={},
        document_hash=f"{number:064x}",
        revision=0,
        imported_at=_IMPORTED,
        changed_at=_IMPORTED,
    )
    places = [
        ServerToolRow(
            server_id=number,
            position=position,
            original_name=tool.name,
            tool_hash=hash_of(tool),
            status=status,
            notes=[],
        )
        for position, tool in enumerate(tools)
    ]

    def store(session: Session) -> None:
        lock_catalog(session)
        server.revision = next_version(session)
        session.add(server)
        insert_missing(session, SQLModel.metadata.tables["tool"], [_row(tool) for tool in tools])
        session.flush()
        session.add_all(places)

    await database.write(store)


def _row(tool: ToolSpec) -> dict[str, object]:
    return {
        "hash": hash_of(tool),
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "extra": tool.extra,
        "words": search_words(tool),
    }
