"""Documents as their authors published them; they lie beside the repository, never in it."""

from pathlib import Path

import pytest

from registry.documents.preparation import prepare_server
from registry.documents.prepared import PreparedServer
from registry.documents.sources import ServerDocument

NOT_PRESENT = "real MCP documents not present"
TOUCAN = "toucan-mcp-servers.dev.jsonl.gz"

_FOLDER = Path(__file__).parents[3] / "shared" / "data"
_prepared: dict[str, PreparedServer] = {}


def real_data(name: str) -> Path:
    """The path of a file of real documents; skips the test where it is not there."""
    path = _FOLDER / name
    if not path.exists():
        pytest.skip(f"{NOT_PRESENT}: ../shared/data/{name}")
    return path


def prepare_once(document: ServerDocument) -> PreparedServer:
    """Prepare each document of the Toucan data set once for all tests; the whole takes seconds."""
    if document.key not in _prepared:
        _prepared[document.key] = prepare_server(document)
    return _prepared[document.key]
