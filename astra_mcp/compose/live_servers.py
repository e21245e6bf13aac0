"""Asking a running MCP server for its tools, once: the registry's ``ToolLister`` over deployed servers."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from astra_mcp.errors import UpstreamError
from registry.importers.running_server import LiveServer, LiveTarget
from servers.deployed.card import CardFile
from servers.deployed.collection import open_deployed
from servers.deployed.config import Entry, ServerEntry

__all__ = ["list_live_tools"]

_SECRET_LENGTH = 6
"""Shorter values are no secrets, and replacing them would garble messages."""


async def list_live_tools(target: LiveTarget) -> LiveServer:
    """Start or reach a server, ask it for its tools, and end it.

    Raises:
        UpstreamError: It cannot be started or reached, or does not list its tools.
    """
    entry = Entry(target.shown, _server_entry(target), _secrets(target.env, target.headers))
    with tempfile.TemporaryDirectory() as home:
        async with open_deployed(None, home=Path(home)) as servers:
            servers.publish([entry], source=Path(home))
            server = servers.find(target.shown)
            assert server is not None  # noqa: S101 - it was published above
            await server.prepare()
        card = CardFile(Path(home) / "cards", entry.config_hash).read()
    if card.tools is None or card.facts is None:
        raise UpstreamError(f"{target.shown} did not list its tools")
    return LiveServer(
        tools=card.tools,
        info=card.facts.server_info or {},
        instructions=card.facts.instructions,
    )


def _server_entry(target: LiveTarget) -> ServerEntry:
    if target.url is not None:
        return ServerEntry(url=target.url, headers=dict(target.headers))
    program, *args = target.command
    return ServerEntry(command=program, args=tuple(args), env=dict(target.env))


def _secrets(*named: Mapping[str, str]) -> tuple[str, ...]:
    values = {value for each in named for value in each.values() if len(value) >= _SECRET_LENGTH}
    return tuple(sorted(values, key=len, reverse=True))
