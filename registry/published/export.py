"""Freezes the registry: everything that it holds, as files whose hashes say that they are whole.

Equal content gives equal bytes, whichever database it comes from and whenever it was imported: times and
row numbers of the database are left out, and so is what full-text search derives from a tool.
"""

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.errors import ConfigError, RegistryError
from registry.documents.stored import ToolPlace
from registry.published.export_files import (
    BATCH_ROWS,
    ExportFormat,
    TableKind,
    json_line,
    open_table,
)
from registry.published.frozen import (
    MANIFEST,
    CatalogServer,
    CatalogTool,
    ExportedFile,
    Manifest,
    check_catalog,
    file_hash,
    read_manifest,
    table_name,
)
from registry.store.statements import batches
from registry.store.tables import ServerRow, ServerToolRow, ToolRow
from registry.store.version import catalog_version

__all__ = ["Export", "export_catalog"]

_STATUSES = ("kept", "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What became of an export."""

    folder: Path
    manifest: Manifest
    is_new: bool
    """False where the folder held an export of the same content already."""


def export_catalog(
    session: Session,
    folder: Path,
    written_as: ExportFormat,
    hear: Callable[[int], None] = lambda rows: None,
) -> Export:
    """Write everything that the registry holds into a new folder, all of it or nothing.

    The files are written beside the folder, read back, and put in its place in one step.

    Args:
        session: Sees one state of the database all the time.
        folder: Must not exist, be empty, or hold an export of the same content, which is left as it is.
        written_as: The format of the tables.
        hear: Told after each batch how many rows were written.

    Raises:
        ConfigError: The folder holds something else, or cannot be written.
        RegistryError: What was written does not read back as it was.
    """
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        draft.mkdir(parents=True)
        writing = _Draft(draft, written_as, hear)
        writing.write(TableKind.SERVERS, _servers(session))
        writing.write(TableKind.TOOLS, _tools(session))
        manifest = writing.finish(catalog_version(session))
        check_catalog(draft)
        is_new = _put_in_place(draft, folder, manifest)
    except OSError as error:
        msg = f"{folder} cannot be written ({error.strerror}): choose another folder"
        raise ConfigError(msg) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Export(
        folder=folder, manifest=manifest if is_new else read_manifest(folder), is_new=is_new
    )


class _Draft:
    """An export that is being written."""

    def __init__(self, folder: Path, written_as: ExportFormat, hear: Callable[[int], None]) -> None:
        self._folder = folder
        self._written_as = written_as
        self._hear = hear
        self._content = sha256()
        self._files: dict[str, ExportedFile] = {}
        self._servers: Counter[str] = Counter()
        self._places: Counter[str] = Counter()

    def write(
        self, kind: TableKind, items: Iterable[Sequence[CatalogServer | CatalogTool]]
    ) -> None:
        """Write a table, and count it."""
        path = self._folder / table_name(kind, self._written_as)
        num_rows = 0
        with open_table(path, kind, self._written_as) as write_rows:
            for batch in items:
                rows = [item.model_dump(mode="json") for item in batch]
                write_rows(rows)
                for row in rows:
                    self._content.update(json_line(row))
                for server in batch:
                    if isinstance(server, CatalogServer):
                        self._servers[server.status] += 1
                        self._places.update(place.status for place in server.tools)
                num_rows += len(rows)
                self._hear(len(rows))
        size = path.stat().st_size
        self._files[path.name] = ExportedFile(sha256=file_hash(path), bytes=size, rows=num_rows)

    def finish(self, catalog_version: int) -> Manifest:
        """Write the manifest."""
        versions = self._files[table_name(TableKind.TOOLS, self._written_as)].rows
        manifest = Manifest(
            format=self._written_as,
            catalog_version=catalog_version,
            content_hash=self._content.hexdigest(),
            servers={status: self._servers[status] for status in _STATUSES},
            tools={"versions": versions, **{s: self._places[s] for s in _STATUSES}},
            files=self._files,
        )
        text = manifest.model_dump_json(indent=2) + "\n"
        (self._folder / MANIFEST).write_text(text, encoding="utf-8")
        return manifest


def _servers(session: Session) -> Iterator[Sequence[CatalogServer]]:
    named = session.execute(select(col(ServerRow.name), col(ServerRow.id)))
    # Sorted here: databases differ in how they compare texts.
    for batch in batches(sorted((name, id_) for name, id_ in named), BATCH_ROWS):
        ids = [id_ for _, id_ in batch]
        rows = session.scalars(select(ServerRow).where(col(ServerRow.id).in_(ids)))
        found = {row.id: row for row in rows}
        listed = session.scalars(
            select(ServerToolRow)
            .where(col(ServerToolRow.server_id).in_(ids))
            .order_by(col(ServerToolRow.server_id), col(ServerToolRow.position))
        )
        places = {
            server: tuple(ToolPlace.model_validate(p.model_dump(exclude={"server_id"})) for p in of)
            for server, of in groupby(listed, key=attrgetter("server_id"))
        }
        yield [_server(found[id_], places.get(id_, ())) for id_ in ids]
        session.expunge_all()


def _server(row: ServerRow, places: Sequence[ToolPlace]) -> CatalogServer:
    of_database = {"id", "revision", "imported_at", "changed_at"}
    return CatalogServer.model_validate({**row.model_dump(exclude=of_database), "tools": places})


def _tools(session: Session) -> Iterator[Sequence[CatalogTool]]:
    for batch in batches(sorted(session.scalars(select(col(ToolRow.hash)))), BATCH_ROWS):
        rows = session.scalars(select(ToolRow).where(col(ToolRow.hash).in_(batch)))
        found = {row.hash: row for row in rows}
        yield [
            CatalogTool.model_validate(found[hash_].model_dump(exclude={"words"}))
            for hash_ in batch
        ]
        session.expunge_all()


def _put_in_place(draft: Path, folder: Path, manifest: Manifest) -> bool:
    """Rename the draft; False where the folder holds the same content already.

    Raises:
        ConfigError: It holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        os.rename(draft, folder)
        return True
    try:
        found = check_catalog(folder)
    except RegistryError as error:
        raise ConfigError(f"{folder} is taken ({error}): choose another folder") from None
    if (found.content_hash, found.format) != (manifest.content_hash, manifest.format):
        raise ConfigError(
            f"{folder} holds another export (catalog version {found.catalog_version}, "
            f"{found.format}): choose another folder, or remove that one"
        )
    return False
