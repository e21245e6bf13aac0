"""An index of the episode records: which there are, and how they came out, without reading every file.

The record on disk stays the truth, and this only says where to look: a record is read again whenever it
has grown. Several homes may share a database, so that an index never takes away what it does not see. Who
knows how to read a record is told the path and answers an :class:`EpisodeDigest`; the format is not known
here.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVarTuple

import anyio.to_thread
from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Mapped, Session, aliased
from sqlmodel import col

from astra_mcp.errors import AstraError
from registry.documents.texts import storable_text
from registry.store.database import Database
from registry.store.statements import batches, insert_or_replace
from registry.store.tables import EpisodeRow, table_of

__all__ = [
    "EpisodeDigest",
    "EpisodeFilter",
    "IndexReport",
    "IndexedEpisode",
    "Place",
    "RecordFault",
    "episodes_near",
    "episodes_that_begin",
    "find_episodes",
    "index_records",
    "page_of_episodes",
    "store_digests",
]

OPEN = "open"
"""The one status that changes by itself: its record is read again although it has not grown."""
_BATCH = 200
_ROWS_AT_ONCE = 1000
_LATELY = 3_000
"""Of so many of the newest episodes a page is made, where it fills one."""
_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeDigest:
    """What the index keeps of a record."""

    opened_at: datetime
    source: str
    """What was run: the name of an environment, or the names of servers."""
    endpoint: str | None
    """The interactive endpoint that the state belongs to; None for an episode proper."""
    status: str
    calls: int
    reward: float | None
    failure: str | None
    player: str | None = None
    """Who played it, such as a model; None where its labels do not say."""
    run: str | None = None
    """The run that it belongs to; None where its labels do not say."""


class IndexedEpisode(NamedTuple):
    """An episode as the index knows it."""

    id: str
    digest: EpisodeDigest


Place = tuple[datetime, str]
"""Where in the list an episode stands, the newest first: when it was opened, and its id."""

Columns = TypeVarTuple("Columns")
ReadRecord = Callable[[Path], EpisodeDigest]
"""Reads one record; raises an :class:`AstraError` that says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFault:
    """A record that cannot be read; the others are indexed."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an indexing did."""

    present: frozenset[str]
    """Ids of the episodes that have a record here."""
    num_read: int
    faults: tuple[RecordFault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeFilter:
    """Which episodes are looked for."""

    status: str | None = None
    source: str | None = None
    """Part of what was run."""
    min_reward: float | None = None
    max_reward: float | None = None
    """Episodes without a reward have neither."""
    interactive: bool = False
    """Also the states of interactive endpoints."""


async def index_records(database: Database, folder: Path, read: ReadRecord) -> IndexReport:
    """Bring the index up to what the records of a folder say.

    Args:
        database: Keeps the index.
        folder: Holds one file ``<id>.jsonl`` an episode; may not exist yet.
        read: Called in a thread.

    Raises:
        RegistryError: The database failed.
    """
    sizes = await anyio.to_thread.run_sync(_sizes, folder)
    indexed = await database.read(_indexed)
    stale = [id_ for id_, size in sizes.items() if indexed.get(id_) != size]
    faults: list[RecordFault] = []
    for batch in batches(stale, _BATCH):
        rows, broken = await anyio.to_thread.run_sync(_read_all, folder, batch, sizes, read)
        faults += broken
        await database.write(partial(_store, rows))
    return IndexReport(
        present=frozenset(sizes) - {fault.path.stem for fault in faults},
        num_read=len(stale) - len(faults),
        faults=tuple(faults),
    )


def find_episodes(
    session: Session, present: Iterable[str], wanted: EpisodeFilter, limit: int
) -> list[str]:
    """Find the newest episodes that fit.

    Args:
        session: Of the database that keeps the index.
        present: Ids of the episodes that have a record; others in the index belong to other homes.
        wanted: What to look for.
        limit: At most so many.

    Returns:
        Their ids, the newest first.
    """
    query = _newest(session, select(col(EpisodeRow.id)), wanted)
    known = frozenset(present)
    with session.scalars(query, execution_options={"yield_per": _ROWS_AT_ONCE}) as ids:
        return list(islice((id_ for id_ in ids if id_ in known), limit))


def page_of_episodes(
    session: Session, wanted: EpisodeFilter, *, after: Place | None, limit: int
) -> list[IndexedEpisode]:
    """Read a page of what the index says of those that fit, the newest first; opens no record.

    Args:
        session: Of the database that keeps the index.
        wanted: What to look for.
        after: Of the last episode of the page before; None for the first page.
        limit: At most so many.
    """
    # Most pages are full of what came lately, where little is looked at; else it may be all there is.
    if wanted != EpisodeFilter(interactive=wanted.interactive):
        lately = aliased(EpisodeRow, _lately(after).subquery())
        found = _page(session, lately, wanted, after, limit)
        if len(found) == limit:
            return found
    return _page(session, EpisodeRow, wanted, after, limit)


def _lately(after: Place | None) -> Select[EpisodeRow]:
    rows = select(EpisodeRow).order_by(col(EpisodeRow.opened_at).desc(), col(EpisodeRow.id).desc())
    return (rows if after is None else rows.where(_is_after(EpisodeRow, after))).limit(_LATELY)


def _page(
    session: Session, row: type[EpisodeRow], wanted: EpisodeFilter, after: Place | None, limit: int
) -> list[IndexedEpisode]:
    columns = (getattr(row, name) for name in _DIGEST)
    query = _newest(session, select(col(row.id), *columns), wanted, row)
    if after is not None:
        query = query.where(_is_after(row, after))
    return [
        IndexedEpisode(id_, EpisodeDigest(**dict(zip(_DIGEST, values, strict=True))))
        for id_, *values in session.execute(query.limit(limit))
    ]


def _is_after(row: type[EpisodeRow], place: Place) -> ColumnElement[bool]:
    at, id_ = place
    # The first condition alone is one that an index of times can begin at.
    return and_(col(row.opened_at) <= at, or_(col(row.opened_at) < at, col(row.id) < id_))


def episodes_near(
    session: Session, source: str, at: datetime, *, among: int, limit: int
) -> list[IndexedEpisode]:
    """Find those of the same source that were opened shortly before or after a time, or lately.

    Args:
        session: Of the database that keeps the index.
        source: What was run, the whole of it.
        at: The time.
        among: So many rows before the time, after it, and of the newest ones, are looked at, of any source.
        limit: Of each of the three.

    Returns:
        Each once, the newest first.
    """
    opened_at = col(EpisodeRow.opened_at)
    before = select(EpisodeRow).where(opened_at <= at).order_by(opened_at.desc())
    after = select(EpisodeRow).where(opened_at > at).order_by(opened_at.asc())
    newest = select(EpisodeRow).order_by(opened_at.desc())
    found: dict[str, EpisodeDigest] = {}
    names = [field.name for field in fields(EpisodeDigest)]
    for looked_at in (before, after, newest):
        rows = looked_at.limit(among).subquery()
        wanted = (rows.c.source == storable_text(source), rows.c.endpoint.is_(None))
        query = select(rows.c.id, *(rows.c[name] for name in names)).where(*wanted).limit(limit)
        for id_, *values in session.execute(query):
            found[id_] = EpisodeDigest(**dict(zip(names, values, strict=True)))
    ordered = sorted(found.items(), key=lambda each: (each[1].opened_at, each[0]), reverse=True)
    return [IndexedEpisode(id_, digest) for id_, digest in ordered]


def episodes_that_begin(session: Session, beginning: str, *, limit: int) -> list[IndexedEpisode]:
    """Find those whose ids begin so, in the order of the ids; a range of the key, not all rows.

    Args:
        session: Of the database that keeps the index.
        beginning: Of an id, in hexadecimal digits and lower case.
        limit: At most so many.
    """
    id_ = col(EpisodeRow.id)
    columns = (getattr(EpisodeRow, name) for name in _DIGEST)
    # No digit comes after f: what begins so lies before the text with a g behind it.
    wanted = (id_ >= beginning, id_ < f"{beginning}g")
    rows = session.execute(select(id_, *columns).where(*wanted).order_by(id_).limit(limit))
    return [
        IndexedEpisode(found, EpisodeDigest(**dict(zip(_DIGEST, values, strict=True))))
        for found, *values in rows
    ]


def store_digests(
    session: Session, digests: Mapping[str, EpisodeDigest], sizes: Mapping[str, int]
) -> None:
    """Put into the index what was heard of episodes, without reading their records.

    Args:
        session: Of the database that keeps the index.
        digests: By the ids of the episodes.
        sizes: Lengths of their records in bytes, as far as the digests speak of them.
    """
    _store([_row(id_, digest, sizes[id_]) for id_, digest in digests.items()], session)


def _newest(
    session: Session,
    query: Select[*Columns],
    wanted: EpisodeFilter,
    row: type[EpisodeRow] = EpisodeRow,
) -> Select[*Columns]:
    """Choose what fits, the newest first."""
    opened_at, status = col(row.opened_at), col(row.status)
    bounds = (wanted.min_reward, wanted.max_reward)
    if wanted.source is not None or bounds != (None, None):
        # All rows may have to be looked at, which is faster as they lie than by the index of either.
        opened_at = func.coalesce(opened_at, opened_at)
        status = func.coalesce(status, status)
    query = query.order_by(opened_at.desc(), col(row.id).desc())
    if not wanted.interactive:
        query = query.where(col(row.endpoint).is_(None))
    if wanted.status is not None:
        query = query.where(status == wanted.status)
    if wanted.source is not None:
        query = query.where(_contains(session, col(row.source), wanted.source))
    if wanted.min_reward is not None:
        query = query.where(col(row.reward) >= wanted.min_reward)
    if wanted.max_reward is not None:
        query = query.where(col(row.reward) <= wanted.max_reward)
    return query


def _contains(session: Session, source: Mapped[str], part: str) -> ColumnElement[bool]:
    """Whether a text is part of what was run, in upper or lower case."""
    if session.connection().dialect.name == "sqlite":  # its LIKE is so by itself, in half the time
        return source.contains(part, autoescape=True)
    return source.icontains(part, autoescape=True)


def _sizes(folder: Path) -> dict[str, int]:
    """Length of every record; taken before any is read, so that what grows meanwhile is read again."""
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as entries:
        return {
            entry.name.removesuffix(_SUFFIX): entry.stat().st_size
            for entry in entries
            if entry.name.endswith(_SUFFIX)
        }


def _indexed(session: Session) -> dict[str, int]:
    """Length of every indexed record whose status stays as it is."""
    columns = (col(EpisodeRow.id), col(EpisodeRow.record_bytes))
    rows = session.execute(select(*columns).where(col(EpisodeRow.status) != OPEN))
    return {id_: size for id_, size in rows}  # noqa: C416 - a row is no pair to a type checker


def _read_all(
    folder: Path, ids: Sequence[str], sizes: Mapping[str, int], read: ReadRecord
) -> tuple[list[Mapping[str, Any]], list[RecordFault]]:
    rows: list[Mapping[str, Any]] = []
    faults: list[RecordFault] = []
    for id_ in ids:
        path = folder / f"{id_}{_SUFFIX}"
        try:
            digest = read(path)
        except AstraError as error:
            faults.append(RecordFault(path=path, reason=str(error)))
            continue
        rows.append(_row(id_, digest, sizes[id_]))
    return rows, faults


_DIGEST = tuple(column.name for column in fields(EpisodeDigest))
_TEXTS = ("source", "failure", "player", "run")
"""Columns that hold what others wrote."""


def _row(id_: str, digest: EpisodeDigest, size: int) -> Mapping[str, Any]:
    columns = {name: getattr(digest, name) for name in _DIGEST}
    told = {name: columns[name] for name in _TEXTS if columns[name] is not None}
    texts = {name: storable_text(text) for name, text in told.items()}
    return {"id": id_, "record_bytes": size, **columns, **texts}


def _store(rows: Sequence[Mapping[str, Any]], session: Session) -> None:
    insert_or_replace(session, table_of(EpisodeRow), rows)
