"""Where the product keeps what outlives a process, and how the paths that people write are resolved.

Needs the standard library and ``platformdirs`` alone, so that a TAB may ask it.
"""

import os
from pathlib import Path

import platformdirs

from astra_mcp.errors import ConfigError

__all__ = ["home_folder", "user_path"]


def home_folder() -> Path:
    """Locate ``$ASTRA_MCP_HOME``, by default the platform's data folder; the settings refuse a wrong one."""
    named = os.path.expanduser(os.environ.get("ASTRA_MCP_HOME", ""))
    return Path(named) if named else platformdirs.user_data_path("astra-mcp")


def user_path(path: Path) -> Path:
    """Resolve the ``~`` or ``~USER`` that a path may begin with.

    Raises:
        ConfigError: There is no such user.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        msg = f"{path}: {path.parts[0]} is no user's folder; write ./{path} for one of that name"
        raise ConfigError(msg) from None
