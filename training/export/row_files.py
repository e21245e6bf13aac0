"""Files of rows: lines of JSON or Parquet, by the file's ending. Written whole or not at all.

Knows rows and columns; what they mean is for others. PyArrow is loaded for Parquet alone: an extra.
"""

import importlib
import json
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, cast

from astra_mcp.errors import ConfigError
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject
from training.export.columns import Columns, arrow_schema

__all__ = ["LINES", "PARQUET", "new_file", "read_rows", "write_rows"]

LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
_BATCH_ROWS = 100
"""A published row has up to 250 KB."""


def write_rows(file: Path, columns: Columns, rows: Iterable[JsonObject]) -> int:
    """Write a file that is not there yet; gives how many rows it has.

    Raises:
        ConfigError: It is there, has another ending, cannot be written, or needs an extra.
    """
    _check_ending(file)
    write = _write_parquet if file.suffix == PARQUET else _write_lines
    with new_file(file) as made:
        return write(made, columns, rows)


@contextmanager
def new_file(file: Path) -> Generator[Path]:
    """Give a path to write to; what stands there becomes the file when the context is left without error.

    Raises:
        ConfigError: The file is there already, or cannot be written.
    """
    if file.exists():
        raise ConfigError(f"{file} is there already; choose another name, or delete it first")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{file.name}-", dir=file.parent) as workplace:
            made = Path(workplace) / file.name
            yield made
            made.rename(file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error


def read_rows(file: Path) -> Iterator[tuple[int, Mapping[str, object] | str]]:
    """Read the rows of a file, each with its number from 1, or with why it is none.

    Raises:
        ConfigError: The file cannot be read, has another ending, or needs an extra.
    """
    _check_ending(file)
    try:
        if file.suffix == PARQUET:
            yield from _read_parquet(file)
            return
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _read_line(line)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from error


def _check_ending(file: Path) -> None:
    if file.suffix not in (*LINES, PARQUET):
        raise ConfigError(f"{file} must end in {', '.join(LINES)} or {PARQUET}")


def _read_line(line: bytes) -> Mapping[str, object] | str:
    try:
        row = parse_strict(line.decode())
    except UnicodeDecodeError as error:
        return f"is not UTF-8 (byte {error.start})"
    except RecursionError:
        return "nests too deeply"
    except ValueError as error:
        return f"is no JSON: {error}"
    return cast("JsonObject", row) if isinstance(row, dict) else "must be one JSON object"


def _read_parquet(file: Path) -> Iterator[tuple[int, JsonObject]]:
    arrow, parquet = _load("pyarrow"), _load("pyarrow.parquet")
    number = 0
    try:
        with parquet.ParquetFile(file) as table:
            for batch in table.iter_batches(batch_size=_BATCH_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except arrow.ArrowInvalid as error:
        raise ConfigError(f"{file} is no Parquet: {error}") from None


def _write_lines(file: Path, columns: Columns, rows: Iterable[JsonObject]) -> int:
    del columns
    num_rows = 0
    with file.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            num_rows += 1
    return num_rows


def _write_parquet(file: Path, columns: Columns, rows: Iterable[JsonObject]) -> int:
    arrow, parquet = _load("pyarrow"), _load("pyarrow.parquet")
    schema = arrow_schema(arrow, columns)
    num_rows = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        left = iter(rows)
        while batch := [*islice(left, _BATCH_ROWS)]:
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
            num_rows += len(batch)
    return num_rows


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        msg = "Parquet needs PyArrow: install astra-mcp[data], or name a file that ends in .jsonl"
        raise ConfigError(msg) from None
