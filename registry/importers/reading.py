"""Reading files, packed or plain: of one JSON object a line, or of one value as JSON or YAML.

Bounded in size and depth, and however damaged a file is: what is wrong is a fault with its place.
"""

import gzip
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeVar, cast

from pydantic import BaseModel, ValidationError

from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.types import JsonValue
from registry.documents.sources import DocumentFault
from registry.importers.json_text import JsonError, parse_json
from registry.importers.yaml_text import YamlError, parse_yaml

__all__ = [
    "EMPTY",
    "PACKING_FAULTS",
    "encoding_fault",
    "holds_lines",
    "open_documents",
    "packing_fault",
    "read_lines",
    "read_whole",
]

PACKING_FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading raises where a packed file ends too early or is damaged."""

_GZIP = b"\x1f\x8b"
_MAX_LINE = 64 * 2**20
"""Bytes; a longer line is a fault, and reading goes on behind it."""
_MAX_JSON_BYTES: Final = 64 * 2**20
_MAX_YAML_BYTES: Final = 16 * 2**20
"""YAML takes ten times as long to read as JSON."""
_MAX_FIRST_LINES: Final = 16 * 2**20
_LINES_LOOKED_AT: Final = 100
"""So many lines may be damaged before the first that is not."""
_PART_BYTES: Final = 64 * 2**10
EMPTY: Final = "the file is empty"

Shape = TypeVar("Shape", bound=BaseModel)
Found = TypeVar("Found")


class _UnreadableError(ValueError):
    """A file holds no value that can be read; the message says why."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


def open_documents(path: Path) -> BinaryIO:
    """Open for reading; a file that gzip packed is unpacked on the way, whatever its name.

    Raises:
        ConfigError: It cannot be opened; names the path and the reason.
    """
    try:
        with path.open("rb") as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
        return cast("BinaryIO", gzip.open(path, "rb")) if is_packed else path.open("rb")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None


def holds_lines(path: Path) -> bool:
    """Tell a file of lines, whatever its name: one of its first lines is an object on its own.

    A file of one value that is written over many lines begins with a bracket alone or has none at the
    beginning of a line.

    Raises:
        ConfigError: The file cannot be opened.
    """
    with open_documents(path) as file:
        try:
            data = file.read(_MAX_FIRST_LINES)
        except (OSError, *PACKING_FAULTS):
            return False
    lines = data.removeprefix(BOM_UTF8).lstrip().splitlines()[:_LINES_LOOKED_AT]
    if not lines or lines[0].startswith(b"["):
        return False
    return any(line.startswith(b"{") and _is_object(line) for line in lines)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line.decode())[0], dict)
    except (JsonError, UnicodeDecodeError):
        return False


def packing_fault(error: Exception) -> str:
    """Say in what way a packed file cannot be read on, of what :data:`PACKING_FAULTS` or an OSError says."""
    if isinstance(error, EOFError):
        return "the packed file ends too early: it was cut short"
    if isinstance(error, PACKING_FAULTS):
        return "the packed file is damaged"
    return str(getattr(error, "strerror", None) or error)


def encoding_fault(data: bytes) -> str | None:
    """Say in which encoding a file is that is read in none but UTF-8; None where it may be in that."""
    is_marked = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    if is_marked or (len(data) >= 2 and 0 in data[:2] and data[:2] != b"\0\0"):
        return "not UTF-8 at byte 0 but UTF-16: save the file as UTF-8"
    return None


def read_lines(path: Path, shape: type[Shape]) -> Iterator[tuple[int, Shape] | DocumentFault]:
    """Read a file, packed by gzip or plain, line by line; each comes with its number, from 1.

    A line that is no JSON object of the shape is a fault with its number; so is the place where a packed
    file ends too early, which is the last that is read of it, and a key that stands twice, of which the
    first counts. Empty lines count and are passed over; a file that has no others is a fault.

    Raises:
        ConfigError: The file cannot be opened.
    """
    with open_documents(path) as file:
        number, is_empty = 0, True
        while True:
            number += 1
            try:
                line = _next_line(file)
            except (OSError, *PACKING_FAULTS) as error:
                reason = f"the file cannot be read on: {packing_fault(error)}"
                yield DocumentFault(line=number, reason=reason)
                return
            if line == b"":
                if is_empty:
                    yield DocumentFault(line=1, reason=EMPTY)
                return
            if number == 1 and line and (fault := encoding_fault(line)):
                yield DocumentFault(line=1, reason=fault)
                return
            if line is None:
                reason = f"longer than {_MAX_LINE // 2**20} MiB; left out"
                yield DocumentFault(line=number, reason=reason)
            elif line.removeprefix(BOM_UTF8).strip():
                yield from _parse(number, line, shape)
            else:
                continue
            is_empty = False


def _next_line(file: BinaryIO) -> bytes | None:
    """Read one line with its end; empty at the end of the file, None where it is too long."""
    line = file.readline(_MAX_LINE)
    if len(line) < _MAX_LINE or line.endswith(b"\n"):
        return line
    while line and not line.endswith(b"\n"):
        line = file.readline(_MAX_LINE)
    return None


def _parse(
    number: int, line: bytes, shape: type[Shape]
) -> Iterator[tuple[int, Shape] | DocumentFault]:
    if number == 1:
        line = line.removeprefix(BOM_UTF8)
    try:
        value, faults = parse_json(line.decode())
        yield from (DocumentFault(line=number, reason=fault.reason) for fault in faults)
        yield number, shape.model_validate(value, strict=True)
    except UnicodeDecodeError as error:
        yield DocumentFault(line=number, reason=f"not UTF-8 at byte {error.start} of the line")
    except JsonError as error:
        reason = f"not JSON: column {error.column}: {error.reason}"
        yield DocumentFault(line=number, reason=reason)
    except ValidationError as error:
        yield DocumentFault(line=number, reason=_shape_fault(error))


def _shape_fault(error: ValidationError) -> str:
    """Name the first field at fault."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "recursion_loop":
        return f"{first['loc'][0]}: nested too deeply"
    words = fault_words(first["type"], first["msg"])
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), words)))


def read_whole(
    path: Path, read: Callable[[JsonValue], Iterable[Found]], *, entry: int | None = None
) -> Iterator[Found | DocumentFault]:
    """Read a file of one value, packed by gzip or plain.

    Args:
        path: One that ends in ``.yaml`` or ``.yml`` is YAML. Another one is JSON where it begins with a
            bracket, else YAML.
        read: Finds in the value what the format has there.
        entry: Number of the faults of the file itself where it is one of several; None for their lines.

    Yields:
        A fault for each key that stands twice in an object, then what was found.

    Raises:
        ConfigError: The file cannot be opened.
    """
    try:
        value, faults = _read_value(path)
    except _UnreadableError as error:
        yield DocumentFault(line=entry or error.line, reason=str(error))
        return
    for fault in faults:
        reason = fault.reason if entry is None else f"line {fault.line}, {fault.reason}"
        yield DocumentFault(line=entry or fault.line, reason=reason)
    yield from read(value)


def _read_value(path: Path) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    data = _read_bytes(path)
    takes_yaml = _is_yaml(data, path.name)
    limit = _MAX_YAML_BYTES if takes_yaml else _MAX_JSON_BYTES
    if len(data) > limit:
        raise _UnreadableError(f"larger than {limit // 2**20} MiB: split it")
    if fault := encoding_fault(data):
        raise _UnreadableError(fault)
    try:
        text = data.decode("utf-8-sig")
        if not text.strip():
            raise _UnreadableError(EMPTY)
        return parse_yaml(text) if takes_yaml else parse_json(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _UnreadableError(f"not UTF-8 at byte {error.start}", line) from None
    except YamlError as error:
        raise _UnreadableError(f"not YAML: {error}", error.line) from None
    except JsonError as error:
        raise _UnreadableError(f"not JSON: {error}", error.line) from None


def _read_bytes(path: Path) -> bytes:
    """Read a file, at most a byte more than the largest that is taken."""
    data = bytearray()
    with open_documents(path) as file:
        try:
            while len(data) <= _MAX_JSON_BYTES and (part := file.read(_PART_BYTES)):
                data += part
        except (OSError, *PACKING_FAULTS) as error:
            line = data.count(b"\n") + 1
            reason = f"cannot be read on behind byte {len(data)}: {packing_fault(error)}"
            raise _UnreadableError(reason, line) from None
    return bytes(data)


def _is_yaml(data: bytes, name: str) -> bool:
    """Say whether a file of one value is YAML, by its beginning and its name."""
    plain = name.lower().removesuffix(".gz")
    begin = data[:1024].removeprefix(BOM_UTF8).lstrip()
    return plain.endswith((".yaml", ".yml")) or not begin.startswith((b"{", b"["))
