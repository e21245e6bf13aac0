"""The rows that prepared servers become; values in, values out."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from astra_mcp.types import JsonObject
from registry.documents.prepared import PreparedServer, PreparedTool, of_tools
from registry.documents.sources import MIN_TOOLS, Rejection, ServerReason
from registry.documents.texts import storable_text

__all__ = ["place_rows", "server_row", "stored_hash", "tool_rows", "verdict"]


def stored_hash(server: PreparedServer) -> str:
    """Hash a document with what was made of it: an import of an equal one changes nothing.

    What a judge decides, and what other rules make of the same document, is a change.
    """
    tools = [[t.hash, t.rejection and t.rejection.reason, t.notes] for t in server.tools]
    reason = server.rejection and server.rejection.reason
    if reason is ServerReason.TOO_FEW_TOOLS and server.min_tools != MIN_TOOLS:
        reason = f"{reason} of {server.min_tools}"  # which its detail says
    made = [server.document_hash, server.domain, server.language, reason, tools]
    return sha256(json.dumps(made).encode()).hexdigest()


def server_row(server: PreparedServer, rejection: Rejection | None) -> dict[str, Any]:
    """What a document says of its server, with its verdict; without what the registry gives it."""
    document = server.document
    return {
        "source": document.source,
        "key": document.key,
        "title": storable_text(document.name),
        "description": storable_text(document.description),
        "version": None if document.version is None else storable_text(document.version),
        "labels": list(document.labels),
        "domain": server.domain,
        "domain_by": None if server.domain is None else "label",
        "language": server.language,
        "provenance": document.provenance,
        "origin": _storable(document.origin),
        "document_hash": stored_hash(server),
        "tools_hash": server.tools_hash,
        **verdict(rejection),
    }


def tool_rows(servers: Iterable[PreparedServer]) -> list[dict[str, Any]]:
    """The versions of tools that servers list, each once; rejected ones that have a spec too."""
    versions = {tool.hash: tool for server in servers for tool in server.tools}
    return [
        {
            "hash": tool.hash,
            "name": tool.spec.name,
            "description": storable_text(tool.spec.description),
            "input_schema": tool.spec.input_schema,
            "output_schema": tool.spec.output_schema,
            "extra": tool.spec.extra,
            "words": storable_text(tool.words),
        }
        for tool in versions.values()
        if tool.spec is not None
    ]


def place_rows(
    server_id: int, server: PreparedServer, rejection: Rejection | None
) -> list[dict[str, Any]]:
    """The places of a server's list of tools, with their verdicts.

    Args:
        server_id: Of its row.
        server: With the rejections of tools for their own faults.
        rejection: Of the server, with which all its tools fall.
    """
    return [
        {
            "server_id": server_id,
            "position": position,
            "original_name": storable_text(tool.document.name),
            "tool_hash": tool.hash,
            "document": _raw(tool),
            "notes": list(tool.notes),
            **verdict(tool.rejection or of_tools(rejection)),
        }
        for position, tool in enumerate(server.tools)
    ]


def verdict(rejection: Rejection | None) -> dict[str, Any]:
    """The columns that say whether something is kept."""
    if rejection is None:
        return {"status": "kept", "reason": None, "detail": ""}
    detail = storable_text(rejection.detail)
    return {"status": "rejected", "reason": rejection.reason, "detail": detail}


def _raw(tool: PreparedTool) -> JsonObject | None:
    """The document of a tool that could not be converted."""
    if tool.spec is not None:
        return None
    document = tool.document
    found: JsonObject = {
        "name": document.name,
        "description": document.description,
        "input_schema": document.input_schema,
        "output_schema": document.output_schema,
        **document.extra,
    }
    return _storable(found)


def _storable(value: JsonObject) -> JsonObject:
    """Copy a value whose numbers may be none that JSON has, such as those that YAML writes as ``.nan``."""
    return json.loads(json.dumps(value), parse_constant=str)
