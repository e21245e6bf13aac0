"""What a format is to who imports a file: how it is recognised and how it is read, and what formats share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from astra_mcp.types import JsonValue
from registry.documents.sources import DocumentStream, ToolDocument

__all__ = ["Format", "Sample", "tool_entry"]

_EXTRA = ("title", "annotations", "icons", "_meta")


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


def tool_entry(
    entry: JsonValue, *, schema_member: str, output_member: str = "output_schema"
) -> ToolDocument:
    """Read an entry of a list of tools; nothing that stands in such a list is lost.

    What is no object, or has no name, becomes a document without a name that carries the entry as it is
    in place of a schema: normalisation rejects it with that as the reason.

    Args:
        entry: As found.
        schema_member: What the format calls the schema of the arguments.
        output_member: What it calls that of the result.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return ToolDocument(name="", description=None, input_schema=entry)
    description = entry.get("description")
    return ToolDocument(
        name=str(entry["name"]),
        description=description if isinstance(description, str) else None,
        input_schema=entry.get(schema_member),
        output_schema=entry.get(output_member),
        extra={name: entry[name] for name in _EXTRA if entry.get(name) is not None},
    )
