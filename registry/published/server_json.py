"""Servers as the MCP registry writes them (``server.json``), and back, without loss for the tools.

The official format has no place for tools: they stand, in MCP's own form, in the part of ``_meta`` that it
gives to publishers, with whatever else it has no place for or cuts short. Knows documents; knows neither
files nor the database.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from astra_mcp.environments.server_document import SERVER_SCHEMA
from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject, JsonValue, ToolSpec
from registry.documents.sources import Provenance, ServerDocument, ToolDocument
from registry.documents.texts import public_url

__all__ = [
    "NAMESPACE",
    "PUBLISHER_KEY",
    "SOURCE",
    "PublishedServer",
    "official_name",
    "official_version",
    "parse_server",
    "render_server",
    "render_tools",
]

NAMESPACE: Final = "dev.astra-mcp"
PUBLISHER_KEY: Final = "io.modelcontextprotocol.registry/publisher-provided"
SOURCE: Final = "server_json"
NO_VERSION: Final = "0.0.0"
"""Stands where the format wants a version and there is none that it takes."""

_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
_MAX_NAME: Final = 200
_MAX_TEXT: Final = 100
_MAX_VERSION: Final = 255
_RANGE: Final = re.compile(r"[\^~<>=*|\s]|(^|\.)[xX](\.|$)|^latest$")
"""What makes a version a range of versions, which the official registry refuses."""
_ORIGIN: Final = ("name", "packages", "remotes", "repository", "websiteUrl")
_SECRET_NAME: Final = re.compile(r"auth|cookie|credential|key|passw|secret|token", re.IGNORECASE)
_USER: Final = re.compile(r"//[^/]*@")
"""Name and password in an address that is no plain one, such as a template or that of a repository."""
_SECRET_MEMBERS: Final = ("choices", "default", "placeholder", "value")
_WHOLE: Final = "whole"
"""Member of ours: the texts that the format has no place for or cuts short."""
_TOOL_MEMBERS: Final = ("name", "description", "inputSchema", "outputSchema")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedServer:
    """What is told of a server that is published."""

    name: str
    """Provider-safe; the official name puts the namespace before it."""
    title: str
    description: str = ""
    version: str | None = None
    kind: str | None = None
    """Of :class:`astra_mcp.types.ServerKind`, where it is served."""
    domain: str | None = None
    language: str | None = None
    labels: tuple[str, ...] = ()
    provenance: Provenance = Provenance.LIVE
    origin: JsonObject = field(default_factory=dict[str, JsonValue])
    tools: tuple[ToolSpec, ...] = ()


def official_name(name: str) -> str:
    """Name a server in our namespace.

    Raises:
        ConfigError: The format does not allow it.
    """
    official = f"{NAMESPACE}/{name}"
    if not _NAME.fullmatch(name) or len(official) > _MAX_NAME:
        msg = f"{name!r} is no name for a server: use up to 180 letters, digits, '.', '_' and '-'"
        raise ConfigError(msg)
    return official


def official_version(version: str | None) -> str:
    """The version that the document says: ``0.0.0`` where there is none, or one that the format refuses."""
    is_taken = version and len(version) <= _MAX_VERSION and not _RANGE.search(version)
    return version if version and is_taken else NO_VERSION


def render_tools(tools: Sequence[ToolSpec]) -> list[JsonValue]:
    """Render tools in MCP's form, for ``_meta[PUBLISHER_KEY]["tools"]``."""
    rendered: list[JsonValue] = []
    for tool in tools:
        output = {} if tool.output_schema is None else {"outputSchema": tool.output_schema}
        own = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        rendered.append({**tool.extra, **own, **output})
    return rendered


def render_server(server: PublishedServer) -> JsonObject:
    """Render the ``server.json`` of a server.

    Raises:
        ConfigError: Its name is none that the format allows.
    """
    official: JsonObject = {
        "name": official_name(server.name),
        "title": _cut(server.title),
        "description": _cut(server.description or server.title or server.name),
        "version": official_version(server.version),
    }
    texts = ("title", "description", "version")
    told: JsonObject = {
        "kind": server.kind,
        "domain": server.domain,
        "language": server.language,
        "provenance": server.provenance.value,
        "labels": [*server.labels],
        "origin": server.origin,
        _WHOLE: {t: getattr(server, t) for t in texts if getattr(server, t) != official[t]},
    }
    published: JsonObject = {
        **{name: value for name, value in told.items() if value not in (None, [], {})},
        "tools": render_tools(server.tools),
    }
    if not server.title:
        del official["title"]
    return {"$schema": SERVER_SCHEMA, **official, "_meta": {PUBLISHER_KEY: published}}


def parse_server(document: JsonObject) -> ServerDocument:
    """Read a ``server.json``, of ours or of anyone: one without tools has none here either.

    How the server is installed or reached is kept in the origin, without the values of secrets.

    Raises:
        ConfigError: It has no name with a namespace; names the field.
    """
    name = document.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[^/]+/[^/]+", name):
        raise ConfigError("name: must be a text such as org.example/weather")
    meta = document.get("_meta")
    published = meta.get(PUBLISHER_KEY) if isinstance(meta, dict) else None
    told = published if isinstance(published, dict) else {}
    tools = told.get("tools")
    whole = told.get(_WHOLE)
    said = {**document, **(whole if isinstance(whole, dict) else {})}
    return ServerDocument(
        source=SOURCE,
        key=name,
        name=_text(said.get("title")) or name.rpartition("/")[2],
        description=_text(said.get("description")),
        version=_text(said.get("version")) or None,
        labels=_labels(told),
        provenance=Provenance.CRAWLED if told.get("provenance") == "crawled" else Provenance.LIVE,
        tools=tuple(_parse_tool(tool) for tool in (tools if isinstance(tools, list) else ())),
        origin=_origin(document, told.get("origin")),
    )


def _parse_tool(tool: JsonValue) -> ToolDocument:
    """Read a tool; what has no name is kept for the reason of its rejection."""
    if isinstance(tool, str):
        return ToolDocument(name=tool, description=None, input_schema=None)
    name = tool.get("name") if isinstance(tool, dict) else None
    if not isinstance(tool, dict) or not isinstance(name, str):
        return ToolDocument(name="", description=None, input_schema=tool)
    description = tool.get("description")
    return ToolDocument(
        name=name,
        description=description if isinstance(description, str) else None,
        input_schema=tool.get("inputSchema"),
        output_schema=tool.get("outputSchema"),
        extra={name: value for name, value in tool.items() if name not in _TOOL_MEMBERS},
    )


def _labels(told: JsonObject) -> tuple[str, ...]:
    labels = told.get("labels")
    said = [told.get("domain"), *(labels if isinstance(labels, list) else ())]
    return tuple(dict.fromkeys(label for label in said if isinstance(label, str) and label))


def _origin(document: JsonObject, told: JsonValue) -> JsonObject:
    facts = {name: document[name] for name in _ORIGIN if name in document}
    origin = _without_secrets({**facts, **(told if isinstance(told, dict) else {})})
    assert isinstance(origin, dict)  # noqa: S101 - an object stays one
    return origin


def _without_secrets(value: JsonValue, member: str = "") -> JsonValue:
    """Leave out the values of inputs that are secret, and what addresses carry besides the place."""
    if isinstance(value, dict):
        name = value.get("name")
        is_secret = value.get("isSecret") is True or (
            isinstance(name, str) and _SECRET_NAME.search(name) is not None
        )
        return {
            key: _without_secrets(part, key)
            for key, part in value.items()
            if not (is_secret and key in _SECRET_MEMBERS)
        }
    if isinstance(value, list):
        return [_without_secrets(part, member) for part in value]
    if isinstance(value, str) and member in ("url", "websiteUrl"):
        return public_url(value) or _USER.sub("//", value.partition("?")[0].partition("#")[0])
    return value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."
