"""What a save does to a disk, step by step; a kill between two of them leaves what a reader understands."""

import os
from collections.abc import Callable
from pathlib import Path

from astra_mcp.errors import AstraError

__all__ = ["CheckpointError", "Disk"]


class CheckpointError(AstraError):
    """A checkpoint cannot be written or read; the message names the file. Earlier ones are as they were."""


class Disk:
    """The steps of which saving and pruning consist, each of them final once it returned.

    Tests stand between two steps by a subclass.
    """

    def make_folder(self, path: Path) -> None:
        """Make a folder, and those above it; one that is there is left as it is."""
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, fill: Callable[[Path], object]) -> None:
        """Let a file be written, and see it on the disk.

        Raises:
            OSError: The disk refuses; it names the file.
        """
        try:
            fill(path)
            self.settle(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error

    def settle(self, path: Path) -> None:
        """Wait until the content of a file, or the names in a folder, would survive a loss of power."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def move(self, source: Path, target: Path) -> None:
        """Give a folder another name, which nothing has; it has one of the two at any time."""
        source.rename(target)

    def remove_file(self, path: Path) -> None:
        """Remove one file or link."""
        path.unlink()

    def remove_folder(self, path: Path) -> None:
        """Remove one empty folder."""
        path.rmdir()

    def remove_tree(self, path: Path) -> None:
        """Remove a folder with all that it holds, following no link."""
        for entry in sorted(path.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                self.remove_tree(entry)
            else:
                self.remove_file(entry)
        self.remove_folder(path)
