"""Is ``server.json`` a valid document of the MCP registry's format, and does it fit the bundle?

Checks the fields that the format requires (schema of 2025-12-11); knows no registry.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from astra_mcp.environments.bundle import EnvironmentDocument
from astra_mcp.errors import BundleFault

__all__ = ["SERVER_SCHEMA", "server_faults"]

SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_fault = partial(BundleFault.at, "server.json")
_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_MAX_TEXT = 100
_FIELDS = frozenset(
    {
        "$schema",
        "_meta",
        "description",
        "icons",
        "name",
        "packages",
        "remotes",
        "repository",
        "title",
        "version",
        "websiteUrl",
    }
)


def server_faults(
    server: dict[str, Any], document: EnvironmentDocument | None
) -> Iterator[BundleFault]:
    """Find every fault of a server document.

    Args:
        server: The contents of ``server.json``.
        document: The environment that it describes; None where that one does not parse.
    """
    for name in sorted(server.keys() - _FIELDS):
        yield _fault(name, f"the format has no such field; it has {', '.join(sorted(_FIELDS))}")
    for name, limit in (("name", 200), ("description", _MAX_TEXT), ("version", 255)):
        yield from _text_faults(server, name, limit)
    if "title" in server:
        yield from _text_faults(server, "title", _MAX_TEXT)
    name = server.get("name")
    if isinstance(name, str) and name and not _NAME.fullmatch(name):
        yield _fault("name", f"{name!r} must look like example.org/{name.rpartition('/')[2]}")
    if document is not None and server.get("version") != document.version:
        message = f"is {server.get('version')!r}, but environment.json says {document.version!r}"
        yield _fault("version", message)


def _text_faults(server: dict[str, Any], name: str, limit: int) -> Iterator[BundleFault]:
    value = server.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= limit:
        found = f"has {len(value)}" if isinstance(value, str) else f"is {value!r}"
        yield _fault(name, f"must be a text of 1 to {limit} characters, but {found}")
