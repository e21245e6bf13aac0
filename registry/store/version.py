"""The catalog's version: who changes servers takes the next one, who serves them follows it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import anyio
from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.errors import RegistryError
from registry.documents.sources import Provenance
from registry.store.database import Database
from registry.store.tables import CatalogRow, ServerRow

__all__ = [
    "CatalogChange",
    "Published",
    "catalog_version",
    "find_published",
    "follow",
    "lock_catalog",
    "next_version",
]

_log = logging.getLogger("astra_mcp.registry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a version of the catalog publishes."""

    version: int
    revisions: Mapping[str, int]
    """Of each server by its name: the version in which it last changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogChange:
    """What is published otherwise than before; names in their order."""

    version: int
    """Of the catalog that it leads to."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def catalog_version(session: Session) -> int:
    """The version that a transaction sees; every change of servers that it sees is part of it."""
    return session.execute(select(col(CatalogRow.version))).scalar_one()


def lock_catalog(session: Session) -> None:
    """Wait until no other transaction changes servers, and keep others from it until this one ends.

    SQLite's writing transactions exclude one another anyway; PostgreSQL locks the row.
    """
    session.execute(select(col(CatalogRow.version)).with_for_update())


def next_version(session: Session) -> int:
    """Count a change of servers: once in a transaction, which has locked the catalog.

    Returns:
        What goes into ``revision`` of every server that the transaction changes.
    """
    session.execute(update(CatalogRow).values(version=col(CatalogRow.version) + 1))
    return catalog_version(session)


def find_published(session: Session, *, crawled: bool = False) -> Published:
    """Name the servers that are published.

    Args:
        session: Sees one state of the database.
        crawled: True to publish crawled servers too, whose tools nobody has seen at work.
    """
    return _found(session, Published(version=-1, revisions={}), crawled=crawled)


async def follow(
    database: Database,
    hear: Callable[[CatalogChange], None],
    *,
    every_seconds: float,
    since: Published | None = None,
    crawled: bool = False,
) -> None:
    """Tell what is published otherwise than before, until cancelled.

    A database that fails is logged and asked again; what changed meanwhile is told then.

    Args:
        database: Asked for its version each time, and for names where that is another one.
        hear: Told every change, in order; the first one names everything where ``since`` is None.
        every_seconds: Between two looks.
        since: What the caller knows to be published.
        crawled: True to follow crawled servers too, as in ``since``.
    """
    known = since or Published(version=-1, revisions={})
    is_failing = False
    unchanged = None
    while True:
        stamp = database.stamp()
        if stamp is not None and stamp == unchanged:
            await anyio.sleep(every_seconds)
            continue
        unchanged = None
        try:
            seen = await database.read(partial(_found, known=known, crawled=crawled))
        except RegistryError as error:
            if not is_failing:
                _log.warning("the catalog cannot be followed for now: %s", error)
            is_failing = True
        else:
            is_failing = False
            unchanged = stamp
            change = _difference(known, seen)
            known = seen
            if change.added or change.removed or change.changed:
                hear(change)
        await anyio.sleep(every_seconds)


def _found(session: Session, known: Published, *, crawled: bool) -> Published:
    """Bring what is known to the version of the session, reading only what changed since."""
    version = catalog_version(session)
    if version == known.version:
        return known
    if version < known.version:  # another database, or an older one put in its place
        known = Published(version=-1, revisions={})
    columns = (
        *(col(ServerRow.name), col(ServerRow.revision)),
        *(col(ServerRow.status), col(ServerRow.provenance)),
    )
    rows = session.execute(select(*columns).where(col(ServerRow.revision) > known.version))
    revisions = dict(known.revisions)
    for name, revision, status, provenance in rows:
        if status == "kept" and (crawled or provenance == Provenance.LIVE):
            revisions[name] = revision
        else:
            revisions.pop(name, None)
    return Published(version=version, revisions=revisions)


def _difference(known: Published, seen: Published) -> CatalogChange:
    before, now = known.revisions, seen.revisions
    return CatalogChange(
        version=seen.version,
        added=tuple(sorted(now.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - now.keys())),
        changed=tuple(sorted(n for n in now.keys() & before.keys() if now[n] != before[n])),
    )
