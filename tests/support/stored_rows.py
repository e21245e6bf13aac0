"""A small registry, written row by row: two sources, kept and rejected servers, every kind of place."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from astra_mcp.types import ToolSpec, canonical_json, tools_hash
from registry.documents.search_words import search_words
from registry.store.tables import ServerRow, ServerToolRow, ToolRow
from registry.store.version import next_version

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)

RAIN = ToolSpec(
    name="rain",
    description="Tell how much rain falls",
    # The order of the properties is part of the document.
    input_schema={"type": "object", "properties": {"z": {}, "a": {"default": None}}},
    output_schema={"type": "object"},
    extra={"title": "雨", "annotations": {"readOnlyHint": True}},
)
WIND = ToolSpec(
    name="wind", description="Tell the wind", input_schema={"type": "object", "properties": {}}
)
BROKEN = {"name": "", "half": "\ud83d", "many": 1e300}


def hash_of(tool: ToolSpec) -> str:
    """Name a version of a tool."""
    return tools_hash([tool])


def server(id_: int, name: str, **members: Any) -> ServerRow:
    """Make a kept server."""
    row: dict[str, Any] = {
        "id": id_,
        "source": "harbours",
        "key": f"key of {name}",
        "name": name,
        "title": name.title(),
        "description": "Weather at the harbour",
        "version": None,
        "labels": ["Weather"],
        "domain": "weather",
        "domain_by": "label",
        "language": "en",
        "provenance": "live",
        "status": "kept",
        "reason": None,
        "detail": "",
        "origin": {"url": "https://harbour.example", "license": "MIT"},
        "document_hash": canonical_json([name, members]).hex()[:64],
        "tools_hash": tools_hash([RAIN, WIND]),
        "revision": 1,
        "imported_at": NEW_YEAR,
        "changed_at": NEW_YEAR,
    }
    return ServerRow(**{**row, **members})


def place(server_id: int, position: int, tool: ToolSpec | None, **members: Any) -> ServerToolRow:
    """Make a kept place in a server's list of tools."""
    row: dict[str, Any] = {
        "server_id": server_id,
        "position": position,
        "original_name": f"the {tool.name}" if tool else "",
        "tool_hash": hash_of(tool) if tool else None,
        "status": "kept",
        "reason": None,
        "detail": "",
        "document": None,
        "notes": [],
    }
    return ServerToolRow(**{**row, **members})


def tool_row(tool: ToolSpec) -> ToolRow:
    """Make a stored tool."""
    return ToolRow(
        hash=hash_of(tool),
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        extra=tool.extra,
        words=search_words(tool),
    )


def store_rows(session: Session, ids: tuple[int, ...] = (1, 2, 3, 4)) -> None:
    """Fill an empty registry.

    Args:
        session: Of a writing transaction.
        ids: Of the servers, which are stored in this order.
    """
    assert next_version(session) == 1, "the registry is empty"
    session.add_all(tool_row(tool) for tool in (RAIN, WIND))
    refused = {"status": "rejected", "reason": "too_few_tools", "detail": "1 is left"}
    crawled = {"provenance": "crawled", "domain": None, "domain_by": None, "language": None}
    servers = {
        1: server(1, "wind-and-rain"),
        2: server(2, "Ärger-風", source="ports", **refused),
        3: server(3, "pages", **crawled),
        4: server(4, "again", status="rejected", reason="duplicate", detail="as wind-and-rain"),
    }
    no_form = {"status": "rejected", "reason": "not_convertible", "detail": "name: is empty"}
    of_rejected = {"status": "rejected", "reason": "server_rejected"}
    session.add_all(servers[id_] for id_ in ids)
    session.flush()
    session.add_all(
        [
            place(1, 0, RAIN),
            place(1, 1, None, document=BROKEN, **no_form),
            place(1, 2, WIND, notes=["a: the default null is left out"]),
            place(2, 0, WIND, **of_rejected),
            place(3, 0, RAIN),
            place(4, 0, RAIN, **of_rejected),
        ]
    )
