"""The files of an exported catalog: tables as JSON lines, or as Parquet.

Knows rows and formats; knows neither the database nor what makes an export complete. The order of members
is kept: that of a schema's properties is part of a tool's document.
"""

import importlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from astra_mcp.errors import ConfigError, RegistryError
from astra_mcp.types import JsonObject, JsonValue

__all__ = ["BATCH_ROWS", "ExportFormat", "TableKind", "json_line", "open_table", "read_table"]

BATCH_ROWS = 500
"""Rows written at once; in Parquet a row group, so that the number is part of the format."""


class ExportFormat(StrEnum):
    """How the tables are written."""

    PARQUET = "parquet"
    """Compact and typed; what JSON alone can hold stands as JSON text in it."""
    JSONL = "jsonl"
    """One JSON object a line."""


class TableKind(StrEnum):
    """The tables of an export."""

    SERVERS = "servers"
    TOOLS = "tools"


WriteRows = Callable[[Sequence[JsonObject]], None]
"""Appends rows to a table; of Parquet, each time one row group."""


def json_line(row: JsonObject) -> bytes:
    """Write a row as a line of JSON, its members in their order."""
    return (_json(row) + "\n").encode()


@contextmanager
def open_table(path: Path, kind: TableKind, written_as: ExportFormat) -> Generator[WriteRows]:
    """Write a table; the file is complete once the context is left.

    Raises:
        ConfigError: What writes Parquet is not installed.
    """
    if written_as is ExportFormat.PARQUET:
        arrow, parquet = _load("pyarrow"), _load("pyarrow.parquet")
        schema = _schema(kind)
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:

            def write_group(rows: Sequence[JsonObject]) -> None:
                packed = [_with_members(row, _AS_TEXT[kind], _json) for row in rows]
                writer.write_table(arrow.Table.from_pylist(packed, schema=schema))

            yield write_group
    else:
        with path.open("wb") as file:
            yield lambda rows: file.writelines(map(json_line, rows))


def read_table(path: Path, kind: TableKind, written_as: ExportFormat) -> Iterator[JsonObject]:
    """Read the rows of a table, in their order.

    Raises:
        ConfigError: What reads Parquet is not installed.
        RegistryError: It is no table of this kind; names the file and the line or row group.
    """
    if written_as is ExportFormat.PARQUET:
        yield from _read_parquet(path, kind)
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise RegistryError(f"{path}: line {number} is no JSON: {error}") from None
            yield row


def _read_parquet(path: Path, kind: TableKind) -> Iterator[JsonObject]:
    arrow, parquet = _load("pyarrow"), _load("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            for row in batch.to_pylist():
                yield _with_members(row, _AS_TEXT[kind], lambda text: json.loads(str(text)))
    except (arrow.ArrowInvalid, KeyError, ValueError) as error:
        raise RegistryError(f"{path} is no {kind} table of an export: {error}") from None


_Text = Mapping[str, "_Text | None"]
"""The members that Parquet holds as JSON text; below a member with a mapping, those of its items."""
_AS_TEXT: Mapping[TableKind, _Text] = MappingProxyType(
    {
        TableKind.SERVERS: {"origin": None, "tools": {"document": None}},
        TableKind.TOOLS: {"input_schema": None, "output_schema": None, "extra": None},
    }
)


def _with_members(
    row: JsonObject, as_text: _Text, change: Callable[[JsonValue], JsonValue]
) -> JsonObject:
    """Copy a row with its members that are JSON text in Parquet changed to it, or back."""
    changed = dict(row)
    for name, below in as_text.items():
        value = row[name]
        if below is not None:
            items = cast("list[JsonObject]", value)
            changed[name] = [_with_members(item, below, change) for item in items]
        elif value is not None:
            changed[name] = change(value)
    return changed


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which JSON can name and no file can hold
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def _load(module: str) -> Any:
    """Load what Parquet needs, which is large and seldom needed: an extra."""
    try:
        return importlib.import_module(module)
    except ImportError:
        msg = "Parquet needs PyArrow: install astra-mcp[data], or choose the format jsonl"
        raise ConfigError(msg) from None


def _schema(kind: TableKind) -> Any:
    arrow = _load("pyarrow")
    text, texts = arrow.string(), arrow.list_(arrow.string())
    if kind is TableKind.TOOLS:
        names = ("hash", "name", "description", "input_schema", "output_schema", "extra")
        return arrow.schema([(name, text) for name in names])
    place = [("position", arrow.int64())]
    place += [(n, text) for n in ("original_name", "tool_hash", "status", "reason", "detail")]
    place += [("document", text), ("notes", texts)]
    before = ("source", "key", "name", "title", "description", "version")
    after = ("domain", "domain_by", "language", "provenance", "status", "reason", "detail")
    members = [*((n, text) for n in before), ("labels", texts), *((n, text) for n in after)]
    members += [(n, text) for n in ("origin", "document_hash", "tools_hash")]
    return arrow.schema([*members, ("tools", arrow.list_(arrow.struct(place)))])
