"""Servers that are known by their documents alone, as trajectory synthesis is given them."""

from typing import Any

from astra_mcp.synthesis.trajectories.server import DocumentedServer
from astra_mcp.types import ToolSpec


def tool(
    name: str,
    description: str = "",
    *,
    required: str = "",
    optional: str = "",
    returns: dict[str, Any] | None = None,
    **schemas: Any,
) -> ToolSpec:
    """A tool whose arguments are texts, unless a schema of their name says otherwise."""
    names = [*required.split(), *optional.split()]
    return ToolSpec(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": {each: schemas.get(each, {"type": "string"}) for each in names},
            "required": required.split(),
        },
        output_schema=returns,
    )


def server(
    name: str, *tools: ToolSpec, domain: str | None = "travel", **more: Any
) -> DocumentedServer:
    """A server of tools."""
    return DocumentedServer(name=name, domain=domain, version=f"v-{name}", tools=tools, **more)


def plain_server(name: str, tools: str) -> DocumentedServer:
    """A server of tools that have nothing but names."""
    return server(name, *(tool(each) for each in tools.split()))
