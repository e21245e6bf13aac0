"""What a format is to who imports a file: how it is recognised and how it is read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from astra_mcp.types import JsonValue
from registry.documents.sources import DocumentStream

__all__ = ["Format", "Sample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is seen of a file before its format is known."""

    name: str
    """Of the file, in lower case and without ``.gz``."""
    text: str
    """Its beginning, unpacked, at most 64 KiB; what is not UTF-8 stands as U+FFFD."""
    value: JsonValue
    """The whole file where that is one JSON value, else the first of its lines that is an object; None
    where there is neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of documents."""

    name: str
    """As the command line takes it."""
    summary: str
    """What such a file is, for people."""
    recognises: Callable[[Sample], bool]
    reads_folders: bool = False
    """True where a folder of such files may be given in place of one."""
    read: Callable[[Path], DocumentStream]
    """Reads lazily.

    Raises:
        ConfigError: The file is not there or cannot be opened; faults inside are part of the stream.
    """
    read_as: Callable[[Path, str], DocumentStream] | None = None
    """For keys that hold the file's name: reads it like :attr:`read`, but by another name."""

    def read_below(self, folder: Path, path: Path) -> DocumentStream:
        """Read a file of a folder, in which several may have one name: it goes by its path below."""
        if self.read_as is None:
            return self.read(path)
        return self.read_as(path, path.relative_to(folder).as_posix())
