"""The manifest of an MCPB archive (``manifest.json``, version 0.3): what it is and how a client starts it."""

from typing import Final

from astra_mcp.environments.bundle import EnvironmentDocument
from astra_mcp.types import JsonObject

__all__ = ["ENTRY_POINT", "MANIFEST_VERSION", "manifest_of"]

MANIFEST_VERSION: Final = "0.3"
ENTRY_POINT: Final = "server/main.py"
_NOTICE = (
    "Its tools run as plain Python with your own rights, without a sandbox: install it only if you trust "
    "where it comes from. It needs Python 3.11 or later and no network. The data is made up. Nothing is "
    "scored or recorded."
)


def manifest_of(document: EnvironmentDocument) -> JsonObject:
    """Describe an environment to whoever installs its archive; no answer and no gold call is in it."""
    python: JsonObject = {
        "args": ["-B", f"${{__dirname}}/{ENTRY_POINT}"],
        "env": {"PYTHONHASHSEED": "0"},
    }
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": document.name,
        "display_name": document.title,
        "version": document.version,
        "description": document.description,
        "long_description": f"{document.description}\n\nTo try: {document.question}\n\n{_NOTICE}",
        "author": {"name": ", ".join(document.provenance.authors) or "unknown"},
        "server": {
            "type": "python",
            "entry_point": ENTRY_POINT,
            "mcp_config": {
                "command": "python3",
                **python,
                "platform_overrides": {"win32": {"command": "python", **python}},
            },
        },
        "tools": [{"name": t.name, "description": t.description} for t in document.tools],
        "keywords": ["environment", document.language],
        "license": document.provenance.license,
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": ">=3.11"},
        },
    }
