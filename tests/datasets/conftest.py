"""A row as others publish them, and a command line in a home of its own."""

from pathlib import Path
from typing import Any

import pytest

from command_line import Cli
from published_rows import published_row


@pytest.fixture
def row() -> dict[str, Any]:
    """A row that becomes a bundle."""
    return published_row()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in an empty home."""
    return Cli(tmp_path / "home")
