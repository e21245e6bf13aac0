"""Where the product keeps what outlives a process: keys, records, trajectories, the registry.

Needs the standard library and ``platformdirs`` alone, so that a TAB may ask it.
"""

import os
from pathlib import Path

import platformdirs

__all__ = ["home_folder"]


def home_folder() -> Path:
    """Locate ``$ASTRA_MCP_HOME``, by default the platform's data folder."""
    named = os.environ.get("ASTRA_MCP_HOME")
    return Path(named).expanduser() if named else platformdirs.user_data_path("astra-mcp")
