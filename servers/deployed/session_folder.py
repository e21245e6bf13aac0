"""A private folder for each process of a server that keeps its state in files.

An entry names it as ``${SESSION_DIR}`` in ``args`` or ``env``. Two processes never share one, so
two episodes do not either. Knows folders; starts nothing.
"""

import logging
import shutil
import tempfile
from pathlib import Path
from typing import Final

__all__ = [
    "SESSION_DIR",
    "fill_in",
    "make_session_folder",
    "mentions_session_folder",
    "remove_session_folder",
]

SESSION_DIR: Final = "SESSION_DIR"
"""The name of the variable; it stands for the folder, whatever the environment holds of that name."""
_PLACEHOLDER: Final = f"${{{SESSION_DIR}}}"

_log = logging.getLogger(__name__)


def mentions_session_folder(*texts: str) -> bool:
    """Tell whether any text names the folder."""
    return any(_PLACEHOLDER in text for text in texts)


def make_session_folder() -> Path:
    """Make an empty folder that only this user can read.

    Raises:
        OSError: The folder of temporary files takes no more.
    """
    return Path(tempfile.mkdtemp(prefix="astra-mcp-session-"))


def fill_in(text: str, folder: Path) -> str:
    """Put the folder in where a text names it."""
    return text.replace(_PLACEHOLDER, str(folder))


def remove_session_folder(folder: Path | None) -> None:
    """Remove the folder, where there is one, with everything in it; what resists is logged."""
    if folder is None:
        return
    try:
        shutil.rmtree(folder)
    except OSError as error:
        _log.warning("%s cannot be removed: %s", folder, error.strerror)
