"""Reading files, packed or plain: of one JSON object a line, or of one value as JSON or YAML.

Bounded in size and depth, and however damaged a file is: what is wrong is a fault with its place.
"""

import gzip
import json
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn, TypeVar, cast

import orjson
from pydantic import BaseModel, ValidationError

from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.types import JsonValue
from registry.documents.sources import DocumentFault
from registry.importers.yaml_text import MAX_DEPTH, YamlError, parse_yaml

__all__ = ["PACKING_FAULTS", "open_documents", "read_lines", "read_whole"]

PACKING_FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading raises where a packed file ends too early or is damaged."""

_GZIP = b"\x1f\x8b"
_MAX_LINE = 64 * 2**20
"""Bytes; a longer line is a fault, and reading goes on behind it."""
_MAX_JSON_BYTES: Final = 64 * 2**20
_MAX_YAML_BYTES: Final = 16 * 2**20
"""YAML takes ten times as long to read as JSON."""
_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"

Shape = TypeVar("Shape", bound=BaseModel)
Found = TypeVar("Found")


class _UnreadableError(ValueError):
    """A file holds no value that can be read; the message says why."""


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


def read_lines(path: Path, shape: type[Shape]) -> Iterator[tuple[int, Shape] | DocumentFault]:
    """Read a file, packed by gzip or plain, line by line; each comes with its number, from 1.

    A line that is no JSON object of the shape is a fault with its number; so is the place where a packed
    file ends too early, which is the last that is read of it. Empty lines count and are passed over.

    Raises:
        ConfigError: The file cannot be opened.
    """
    with open_documents(path) as file:
        number = 0
        while True:
            number += 1
            try:
                line = _next_line(file)
            except (OSError, *PACKING_FAULTS) as error:
                yield DocumentFault(line=number, reason=f"the file cannot be read on: {error}")
                return
            if line is None:
                reason = f"longer than {_MAX_LINE // 2**20} MiB; left out"
                yield DocumentFault(line=number, reason=reason)
            elif not line:
                return
            elif line.strip():
                yield _parse(number, line, shape)


def _next_line(file: BinaryIO) -> bytes | None:
    """Read one line with its end; empty at the end of the file, None where it is too long."""
    line = file.readline(_MAX_LINE)
    if len(line) < _MAX_LINE or line.endswith(b"\n"):
        return line
    while line and not line.endswith(b"\n"):
        line = file.readline(_MAX_LINE)
    return None


def _parse(number: int, line: bytes, shape: type[Shape]) -> tuple[int, Shape] | DocumentFault:
    if number == 1:
        line = line.removeprefix(BOM_UTF8)
    try:
        value = orjson.loads(line)
        orjson.dumps(value)
        return number, shape.model_validate(value, strict=True)
    except orjson.JSONDecodeError as error:
        return DocumentFault(line=number, reason=f"not JSON: {error}")
    except orjson.JSONEncodeError:
        return DocumentFault(line=number, reason="nested too deeply to be written down again")
    except ValidationError as error:
        return DocumentFault(line=number, reason=_shape_fault(error))


def _shape_fault(error: ValidationError) -> str:
    """Name the first field at fault."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "recursion_loop":
        return f"{first['loc'][0]}: nested too deeply"
    words = fault_words(first["type"], first["msg"])
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), words)))


def read_whole(
    path: Path, read: Callable[[JsonValue], Iterable[Found]], *, line: int = 1
) -> Iterator[Found | DocumentFault]:
    """Read a file of one value, packed by gzip or plain.

    Args:
        path: One that ends in ``.yaml`` or ``.yml`` is YAML. Another one is JSON where it begins with a
            bracket, else YAML.
        read: Finds in the value what the format has there.
        line: Number of the fault where the file is no JSON and no YAML, or larger than is read.

    Yields:
        A fault for each key that stands twice in an object, then what was found.

    Raises:
        ConfigError: The file cannot be opened.
    """
    try:
        value, faults = _read_value(path)
    except _UnreadableError as error:
        yield DocumentFault(line=line, reason=str(error))
        return
    yield from faults
    yield from read(value)


def _read_value(path: Path) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    with open_documents(path) as file:
        try:
            data = file.read(_MAX_JSON_BYTES + 1)
        except (OSError, *PACKING_FAULTS) as error:
            raise _UnreadableError(f"cannot be read on: {error}") from None
    is_yaml = _is_yaml(data, path.name)
    limit = _MAX_YAML_BYTES if is_yaml else _MAX_JSON_BYTES
    if len(data) > limit:
        raise _UnreadableError(f"larger than {limit // 2**20} MiB: split it")
    try:
        text = data.decode("utf-8-sig")
        return parse_yaml(text) if is_yaml else _parse_json(text)
    except UnicodeDecodeError as error:
        raise _UnreadableError(f"not UTF-8 at byte {error.start}") from None
    except YamlError as error:
        raise _UnreadableError(f"not YAML: {error}") from None


def _is_yaml(data: bytes, name: str) -> bool:
    plain = name.lower().removesuffix(".gz")
    begin = data[:1024].removeprefix(BOM_UTF8).lstrip()
    return plain.endswith((".yaml", ".yml")) or not begin.startswith((b"{", b"["))


def _parse_json(text: str) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    faults: list[DocumentFault] = []

    def keep_first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(reversed(pairs))
        if len(members) == len(pairs):
            return dict(pairs)
        times = Counter(name for name, _ in pairs)
        for name in sorted(name for name, number in times.items() if number > 1):
            message = f"the key {name!r} stands twice in one object; the first one counts"
            faults.append(DocumentFault(line=1, reason=message))
        return {name: members[name] for name in times}

    try:
        value = json.loads(text, object_pairs_hook=keep_first, parse_constant=_refuse)
    except RecursionError:
        raise _UnreadableError(_TOO_DEEP) from None
    except ValueError as error:
        raise _UnreadableError(f"not JSON: {error}") from None
    if not _is_shallow(value):
        raise _UnreadableError(_TOO_DEEP)
    return value, tuple(faults)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _is_shallow(value: JsonValue) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return False
