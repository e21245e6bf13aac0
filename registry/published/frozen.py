"""A frozen catalog: an exported registry, read back and checked.

A folder with ``servers`` and ``tools`` as Parquet or JSON lines, and ``manifest.json`` with the hashes of
both. Knows files alone: programs that train or synthesise on a catalog need no database.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from astra_mcp.errors import RegistryError
from astra_mcp.types import FrozenModel
from registry.documents.stored import ServerFacts, ToolPlace
from registry.published.export_files import ExportFormat, TableKind, json_line, read_table

__all__ = [
    "MANIFEST",
    "CatalogServer",
    "CatalogTool",
    "ExportedFile",
    "Manifest",
    "check_catalog",
    "file_hash",
    "read_catalog",
    "read_manifest",
    "table_name",
]

MANIFEST = "manifest.json"


class CatalogServer(ServerFacts):
    """A server, kept or rejected, with its tools in their order."""

    document_hash: str
    tools_hash: str | None
    tools: tuple[ToolPlace, ...]


class CatalogTool(FrozenModel):
    """One version of a tool."""

    hash: str
    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    extra: dict[str, Any]


class ExportedFile(FrozenModel):
    """A file of the export."""

    sha256: str
    bytes: int
    rows: int


class Manifest(FrozenModel):
    """What an export is made of."""

    schema_version: Literal[1] = 1
    format: ExportFormat
    catalog_version: int
    """Of the registry that it was made from."""
    content_hash: str
    """SHA-256 over the rows as JSON lines, servers before tools: the same in each format."""
    servers: dict[str, int]
    """How many are kept and rejected."""
    tools: dict[str, int]
    """How many versions there are, and how many places of servers are kept and rejected."""
    files: dict[str, ExportedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenCatalog:
    """An export, read back."""

    manifest: Manifest
    servers: tuple[CatalogServer, ...]
    """By name."""
    tools: tuple[CatalogTool, ...]
    """By hash."""


def read_catalog(folder: Path) -> FrozenCatalog:
    """Read an export back, and check it against its manifest.

    Raises:
        RegistryError: A file is missing, changed, or holds something else; names it.
    """
    manifest = read_manifest(folder)
    rows = list(_checked_rows(folder, manifest))
    return FrozenCatalog(
        manifest=manifest,
        servers=tuple(row for row in rows if isinstance(row, CatalogServer)),
        tools=tuple(row for row in rows if isinstance(row, CatalogTool)),
    )


def check_catalog(folder: Path) -> Manifest:
    """Read an export as :func:`read_catalog` does, and keep no row of it.

    Raises:
        RegistryError: A file is missing, changed, or holds something else; names it.
    """
    manifest = read_manifest(folder)
    for _ in _checked_rows(folder, manifest):
        pass
    return manifest


def _checked_rows(folder: Path, manifest: Manifest) -> Iterator[CatalogServer | CatalogTool]:
    """Read an export row by row; it is checked against its manifest when the last one was read."""
    for name, expected in manifest.files.items():
        if file_hash(folder / name) != expected.sha256:
            fault = f"is not the file that {MANIFEST} names: it was changed or cut off"
            raise RegistryError(f"{folder / name} {fault}")
    digest = sha256()
    try:
        for kind, shape in ((TableKind.SERVERS, CatalogServer), (TableKind.TOOLS, CatalogTool)):
            table = folder / table_name(kind, manifest.format)
            for row in read_table(table, kind, manifest.format):
                item = shape.model_validate(row)
                digest.update(json_line(item.model_dump(mode="json")))
                yield item
    except ValidationError as error:
        raise RegistryError(f"{folder}: {_fault(error)}") from None
    if digest.hexdigest() != manifest.content_hash:
        raise RegistryError(f"{folder} holds other content than {MANIFEST} names")


def read_manifest(folder: Path) -> Manifest:
    """Read what an export says of itself.

    Raises:
        RegistryError: There is none.
    """
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RegistryError(f"{path} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise RegistryError(f"{path} is no manifest of an export: {_fault(error)}") from None


def file_hash(path: Path) -> str:
    """Hash a file: 64 hex digits of SHA-256.

    Raises:
        RegistryError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RegistryError(f"{path} cannot be read ({error.strerror})") from None


def table_name(kind: TableKind, written_as: ExportFormat) -> str:
    """Name the file of a table."""
    return f"{kind.value}.{written_as.value}"


def _fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    return f"{error.title}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
