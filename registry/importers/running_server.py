"""A running MCP server as a document: its tools as it lists them itself.

Knows what a server says of itself; how one is started or reached is known to who lists its tools, which
the composition root brings in. A command comes from the person at the command line alone, never from the
store or the API, and nothing of it is kept but the name of its program.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

import anyio

from astra_mcp.errors import ConfigError, SourceError, UpstreamError
from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import Provenance, ServerDocument
from registry.documents.texts import public_url
from registry.importers.formats import tool_entry

__all__ = ["LiveServer", "LiveTarget", "fetch_live"]

SOURCE: Final = "live"
LIST_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTarget:
    """A server to ask: a program to start, or an address."""

    name: str | None = None
    """What to call it; None for what it calls itself."""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the program, besides what every server inherits."""
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            ConfigError: The command is empty, or the address is none.
        """
        if self.url is None and not (self.command and self.command[0]):
            raise ConfigError("the command of the server is empty: name a program")
        if self.url is not None and public_url(self.url) is None:
            raise ConfigError("the address of the server must begin with http:// or https://")

    @property
    def shown(self) -> str:
        """What may be told of it: no argument, password or query."""
        return public_url(self.url) or PurePath(self.command[0]).name


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServer:
    """What a server says of itself."""

    tools: tuple[JsonValue, ...]
    """As it lists them, all pages."""
    info: JsonObject = field(default_factory=dict[str, JsonValue])
    """``serverInfo``: ``name``, ``title``, ``version`` …"""
    instructions: str | None = None


ToolLister = Callable[[LiveTarget], Awaitable[LiveServer]]
"""Starts or reaches a server, asks for its tools, and leaves nothing of it running; raises an
:class:`UpstreamError` that names the server as it is shown, where it does not list them."""


async def fetch_live(
    target: LiveTarget, lister: ToolLister, *, seconds: float = LIST_SECONDS
) -> ServerDocument:
    """Make a document of a running server.

    Args:
        target: The server.
        lister: Asks it.
        seconds: For all of it.

    Raises:
        SourceError: It cannot be started or reached, or did not answer in time.
    """
    try:
        with anyio.fail_after(seconds):
            server = await lister(target)
    except TimeoutError:
        raise SourceError(f"{target.shown} did not list its tools within {seconds:g} s") from None
    except UpstreamError as error:
        raise SourceError(str(error)) from None
    return _document(target, server)


def _document(target: LiveTarget, server: LiveServer) -> ServerDocument:
    url = public_url(target.url)
    name = target.name or _text(server.info, "name") or target.shown
    origin: JsonObject = {"url": url} if url else {"program": target.shown}
    if website := public_url(server.info.get("websiteUrl")):
        origin["website"] = website
    return ServerDocument(
        source=SOURCE,
        key=target.name or url or f"{target.shown}#{name}",
        name=target.name or _text(server.info, "title") or name,
        description=_text(server.info, "description") or server.instructions or "",
        version=_text(server.info, "version") or None,
        provenance=Provenance.LIVE,
        tools=tuple(
            tool_entry(tool, schema_member="inputSchema", output_member="outputSchema")
            for tool in server.tools
        ),
        origin=origin,
    )


def _text(info: JsonObject, name: str) -> str:
    value = info.get(name)
    return value if isinstance(value, str) else ""
