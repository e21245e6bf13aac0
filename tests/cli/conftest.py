"""A home and a working folder of their own, for what is run in the process of the test."""

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is not made yet, in an empty folder without settings, and a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "home"
