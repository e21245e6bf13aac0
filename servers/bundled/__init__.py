"""The environments that ship with the package: one folder each, all verified.

Holds data and tool code for the sandbox; nothing here is imported as Python.
"""

from pathlib import Path

__all__ = ["bundled_folder"]


def bundled_folder() -> Path:
    """Locate the folder whose sub-folders are the bundled environments."""
    return Path(__file__).parent
