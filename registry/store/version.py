"""The catalog's version: who changes servers takes the next one, who serves them follows it."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.errors import RegistryError
from registry.documents.sources import Provenance
from registry.store.database import Database
from registry.store.tables import CatalogRow, ServerRow

__all__ = ["catalog_version", "follow", "lock_catalog", "next_version", "published_names"]

_log = logging.getLogger("astra_mcp.registry")

Value = TypeVar("Value")


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


def published_names(session: Session, *, crawled: bool = False) -> frozenset[str]:
    """Name the servers that are published.

    Args:
        session: Sees one state of the database.
        crawled: True to publish crawled servers too, whose tools nobody has seen at work.
    """
    kept = select(col(ServerRow.name)).where(col(ServerRow.status) == "kept")
    live = kept.where(col(ServerRow.provenance) == Provenance.LIVE)
    return frozenset(session.scalars(kept if crawled else live))


async def follow(
    database: Database,
    read: Callable[[Session], Value],
    hear: Callable[[Value], Awaitable[None]],
    *,
    since: int,
    every_seconds: float,
) -> None:
    """Read something anew whenever servers change, until cancelled.

    A database that fails is logged and asked again; what changed meanwhile is read then.

    Args:
        database: Asked for its version each time, and for the rest where that is another one.
        read: Called in the transaction that sees the version.
        hear: Given what was read, in order.
        since: The version that the caller has read itself.
        every_seconds: Between two looks.
    """
    known = since
    is_failing = False
    unchanged = None

    def read_if_changed(session: Session) -> tuple[int, Value] | None:
        """Read where the version is another one; a lower one is that of a database put in its place."""
        version = catalog_version(session)
        return None if version == known else (version, read(session))

    while True:
        stamp = database.stamp()
        if stamp is None or stamp != unchanged:
            unchanged = None
            try:
                seen = await database.read(read_if_changed)
            except RegistryError as error:
                if not is_failing:
                    _log.warning("the catalog cannot be followed for now: %s", error)
                is_failing = True
            else:
                is_failing = False
                unchanged = stamp
                if seen is not None:
                    known, value = seen
                    await hear(value)
        await anyio.sleep(every_seconds)
