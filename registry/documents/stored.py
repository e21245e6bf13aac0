"""Servers and the places in their lists of tools, as the registry stores them and as it exports them."""

from astra_mcp.types import FrozenModel, JsonObject

__all__ = ["ServerFacts", "ToolPlace"]


class ToolPlace(FrozenModel):
    """A place in a server's list of tools, kept or rejected."""

    position: int
    original_name: str
    tool_hash: str | None
    """None where it could not be converted."""
    status: str
    reason: str | None
    detail: str
    document: JsonObject | None
    """As found, where it could not be converted."""
    notes: tuple[str, ...]


class ServerFacts(FrozenModel):
    """A server, kept or rejected, without its tools."""

    source: str
    key: str
    name: str
    title: str
    description: str
    version: str | None
    labels: tuple[str, ...]
    domain: str | None
    domain_by: str | None
    language: str | None
    provenance: str
    status: str
    reason: str | None
    detail: str
    origin: JsonObject
