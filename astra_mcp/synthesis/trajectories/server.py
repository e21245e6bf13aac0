"""The documents of a server, as synthesis is given them and shows them to models."""

from collections.abc import Iterable, Mapping
from typing import Final

from astra_mcp.errors import PipelineError
from astra_mcp.types import FrozenModel, JsonObject, ToolSpec, canonical_json

__all__ = ["DocumentedServer", "Documents", "ServerItem", "document_of", "shown_server"]

_MAX_BYTES: Final = 48_000
"""Of one server's documents in a prompt, as JSON; what is longer is cut by its descriptions."""
_SHORTEST: Final = 80
"""Characters that a description keeps."""


class DocumentedServer(FrozenModel):
    """A server, known by its documents."""

    name: str
    title: str = ""
    description: str = ""
    domain: str | None = None
    """Out of :mod:`astra_mcp.domains`."""
    language: str | None = None
    """ISO 639-1; None where there is too little text."""
    version: str
    """Content hash: documents that changed are those of another server."""
    tools: tuple[ToolSpec, ...]

    def tool(self, name: str) -> ToolSpec | None:
        """The tool of a name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


Documents = Mapping[str, DocumentedServer]
"""The servers of a run by name; items name servers, so that documents are not kept with each."""


class ServerItem(FrozenModel):
    """A server as the source of a run."""

    name: str
    version: str


def document_of(documents: Documents, name: str, version: str | None) -> DocumentedServer:
    """Find the documents that an item was made of.

    Raises:
        PipelineError: The run has others, or none, of this server.
    """
    server = documents.get(name)
    if server is None or server.version != version:
        raise PipelineError(
            f"an item was made of other documents of the server {name!r} than this run has: begin with the"
            " servers again"
        )
    return server


def shown_server(server: DocumentedServer, tools: Iterable[str] | None = None) -> JsonObject:
    """Write the documents of a server down for a prompt.

    Long descriptions are cut alike where all of it would be longer than 48,000 bytes.

    Args:
        server: Is shown.
        tools: Names of those that are shown, in the order of the server's list; None for all.
    """
    wanted = None if tools is None else set(tools)
    listed = [tool for tool in server.tools if wanted is None or tool.name in wanted]
    limit = 4000
    while True:
        document = _document(server, listed, limit)
        if limit <= _SHORTEST or len(canonical_json(document)) <= _MAX_BYTES:
            return document
        limit //= 2


def _document(server: DocumentedServer, tools: Iterable[ToolSpec], limit: int) -> JsonObject:
    return {
        "server": server.name,
        "title": server.title,
        "description": _cut(server.description, limit),
        "tools": [_tool(tool, limit) for tool in tools],
    }


def _tool(tool: ToolSpec, limit: int) -> JsonObject:
    shown: JsonObject = {
        "name": tool.name,
        "description": _cut(tool.description, limit),
        "parameters": _shortened(tool.input_schema, limit),
    }
    return shown if tool.output_schema is None else {**shown, "returns": tool.output_schema}


def _shortened(schema: JsonObject, limit: int) -> JsonObject:
    """Cut the descriptions of the parameters; nothing else of a schema is left out."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    cut: JsonObject = {}
    for name, prop in properties.items():
        if isinstance(prop, dict) and isinstance(words := prop.get("description"), str):
            prop = {**prop, "description": _cut(words, limit)}  # noqa: PLW2901
        cut[name] = prop
    return {**schema, "properties": cut}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
