"""A frozen catalog: an exported registry, read back and checked.

A folder with ``servers`` and ``tools`` as Parquet or JSON lines, and ``manifest.json`` with the hashes of
both. Knows files alone: programs that train or synthesise on a catalog need no database.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from astra_mcp.errors import RegistryError
from astra_mcp.types import FrozenModel, JsonObject
from registry.published.export_files import ExportFormat, TableKind, json_line, read_table

__all__ = [
    "MANIFEST",
    "CatalogServer",
    "CatalogTool",
    "ExportedFile",
    "FrozenCatalog",
    "Manifest",
    "ToolPlace",
    "check_catalog",
    "content_hash",
    "file_hash",
    "read_catalog",
    "read_manifest",
    "table_name",
]

MANIFEST = "manifest.json"


class _Part(FrozenModel):
    pass


class ToolPlace(_Part):
    """A place in a server's list of tools, kept or rejected."""

    position: int
    original_name: str
    tool_hash: str | None
    """None where it could not be converted."""
    status: str
    reason: str | None
    detail: str
    document: JsonObject | None
    """As found, where it could not be converted."""
    notes: tuple[str, ...]


class CatalogServer(_Part):
    """A server, kept or rejected, with its tools in their order."""

    source: str
    key: str
    name: str
    title: str
    description: str
    version: str | None
    labels: tuple[str, ...]
    domain: str | None
    domain_by: str | None
    language: str | None
    provenance: str
    status: str
    reason: str | None
    detail: str
    origin: JsonObject
    document_hash: str
    tools_hash: str | None
    tools: tuple[ToolPlace, ...]


class CatalogTool(_Part):
    """One version of a tool."""

    hash: str
    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    extra: dict[str, Any]


class ExportedFile(_Part):
    """A file of the export."""

    sha256: str
    bytes: int
    rows: int


class Manifest(_Part):
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
    servers: list[CatalogServer] = []
    tools: list[CatalogTool] = []
    manifest = _read(folder, servers.append, tools.append)
    return FrozenCatalog(manifest=manifest, servers=tuple(servers), tools=tuple(tools))


def check_catalog(folder: Path) -> Manifest:
    """Read an export as :func:`read_catalog` does, and keep no row of it.

    Raises:
        RegistryError: A file is missing, changed, or holds something else; names it.
    """
    return _read(folder, lambda _: None, lambda _: None)


def _read(
    folder: Path,
    take_server: Callable[[CatalogServer], None],
    take_tool: Callable[[CatalogTool], None],
) -> Manifest:
    """Read an export row by row, and check it against its manifest."""
    manifest = read_manifest(folder)
    for name, expected in manifest.files.items():
        if file_hash(folder / name) != expected.sha256:
            msg = (
                f"{folder / name} is not the file that {MANIFEST} names: it was changed or cut off"
            )
            raise RegistryError(msg)

    def rows() -> Iterator[CatalogServer | CatalogTool]:
        for row in _rows(folder, manifest, TableKind.SERVERS):
            server = CatalogServer.model_validate(row)
            take_server(server)
            yield server
        for row in _rows(folder, manifest, TableKind.TOOLS):
            tool = CatalogTool.model_validate(row)
            take_tool(tool)
            yield tool

    try:
        found = content_hash(rows())
    except ValidationError as error:
        raise RegistryError(f"{folder}: {_fault(error)}") from None
    if found != manifest.content_hash:
        raise RegistryError(f"{folder} holds other content than {MANIFEST} names")
    return manifest


def _rows(folder: Path, manifest: Manifest, kind: TableKind) -> Iterator[JsonObject]:
    return read_table(folder / table_name(kind, manifest.format), kind, manifest.format)


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


def content_hash(rows: Iterable[CatalogServer | CatalogTool]) -> str:
    """Hash the rows of an export: 64 hex digits, the same in each format."""
    digest = sha256()
    for row in rows:
        digest.update(json_line(row.model_dump(mode="json")))
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """Hash a file: 64 hex digits of SHA-256.

    Raises:
        RegistryError: It cannot be read.
    """
    digest = sha256()
    try:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise RegistryError(f"{path} cannot be read ({error.strerror})") from None
    return digest.hexdigest()


def table_name(kind: TableKind, written_as: ExportFormat) -> str:
    """Name the file of a table."""
    return f"{kind.value}.{written_as.value}"


def _fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    return f"{error.title}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
