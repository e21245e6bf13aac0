"""Packs an environment into an MCPB archive: manifest, a server of the standard library, tools.

The same bundle gives the same bytes: entries are sorted, stored and dated alike. What only the acceptance
and the reward need stays out: sub-tasks, answers, gold calls.
"""

import json
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from astra_mcp.environments.archive.manifest import ENTRY_POINT, manifest_of
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.worlds import World
from astra_mcp.types import JsonObject, ToolSpec

__all__ = ["archive_of"]

_PROGRAM = Path(__file__).parent / "server_program.py"
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_UNIX, _PLAIN_FILE = 3, 0o100644 << 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SEED = 0
"""As `astra-mcp run` opens its sessions."""


def archive_of(bundle: Bundle) -> bytes:
    """Give the bytes of a bundle's archive."""
    texts = {
        "manifest.json": _json(manifest_of(bundle.document)),
        ENTRY_POINT: _PROGRAM.read_text(encoding="utf-8"),
        "server/environment.json": _json(_served(bundle)),
        "server/tools.py": bundle.code,
    }
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name, text in sorted(texts.items()):
            entry = ZipInfo(name, _EARLIEST)
            entry.create_system, entry.external_attr = _UNIX, _PLAIN_FILE
            archive.writestr(entry, text.encode())
    return packed.getvalue()


def _served(bundle: Bundle) -> JsonObject:
    """Say what the server has to know: what it says of itself, its tools, and its two worlds."""
    document = bundle.document
    world = World.of(bundle.content_hash, document.clock, _SEED)
    return {
        "name": document.name,
        "version": document.version,
        "instructions": f"{document.title}. {document.description}",
        "tools": [_tool(tool) for tool in document.tools],
        "load": {"seed": document.load_seed, "clock": _nanoseconds(document.clock)},
        "session": {"seed": world.seed, "clock": _nanoseconds(world.clock)},
    }


def _tool(tool: ToolSpec) -> JsonObject:
    schemas: JsonObject = {"inputSchema": tool.input_schema}
    if tool.output_schema is not None:
        schemas["outputSchema"] = tool.output_schema
    return {**tool.extra, "name": tool.name, "description": tool.description, **schemas}


def _nanoseconds(clock: datetime) -> int:
    return (clock - _EPOCH) // timedelta(microseconds=1) * 1000


def _json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
