"""Reading files of one JSON object a line (JSONL), however damaged they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Generic, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from astra_mcp.errors import fault_words
from registry.documents.sources import DocumentFault
from registry.importers.opening import PACKING_FAULTS, open_documents

__all__ = ["Line", "read_lines"]

_MAX_LINE = 64 * 2**20
"""Bytes; a longer line is a fault, and reading goes on behind it."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Shape = TypeVar("Shape", bound=BaseModel)


class Line(NamedTuple, Generic[Shape]):
    """A line that has the shape of its format."""

    number: int
    """From 1; empty lines count."""
    value: Shape


def read_lines(path: Path, shape: type[Shape]) -> Iterator[Line[Shape] | DocumentFault]:
    """Read a file, packed by gzip or plain, line by line.

    A line that is no JSON object of the shape is a fault with its number; so is the place where a packed
    file ends too early, which is the last that is read of it. Empty lines are passed over.

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
                yield DocumentFault(
                    line=number, reason=f"longer than {_MAX_LINE // 2**20} MiB; left out"
                )
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


def _parse(number: int, line: bytes, shape: type[Shape]) -> Line[Shape] | DocumentFault:
    if number == 1:
        line = line.removeprefix(_BYTE_ORDER_MARK)
    try:
        value = orjson.loads(line)
        orjson.dumps(value)
        return Line(number, shape.model_validate(value, strict=True))
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
    place = ".".join(str(part) for part in first["loc"])
    message = fault_words(first["type"], first["msg"])
    return f"{place}: {message}" if place else message
