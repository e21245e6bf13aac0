"""Documents as their authors published them; they lie beside the repository, never in it."""

from pathlib import Path

import pytest

NOT_PRESENT = "real MCP documents not present"
TOUCAN = "toucan-mcp-servers.dev.jsonl.gz"

_FOLDER = Path(__file__).parents[3] / "shared" / "data"


def real_data(name: str) -> Path:
    """The path of a file of real documents; skips the test where it is not there."""
    path = _FOLDER / name
    if not path.exists():
        pytest.skip(f"{NOT_PRESENT}: ../shared/data/{name}")
    return path
