"""Storing prepared servers, a batch in one transaction: what is new, what changed, what repeats another.

Decides what only the registry knows: whether another kept server has the same tools, and by which name
a server is published. Both are settled under the catalog's lock, and depend on the order of storing alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from astra_mcp.types import canonical_json
from registry.documents.prepared import PreparedServer, of_tools
from registry.documents.sources import Provenance, Rejection, ServerReason, ToolReason
from registry.intake.stored_rows import place_rows, server_row, stored_hash, tool_rows, verdict
from registry.store.statements import insert_missing
from registry.store.tables import ServerRow, ServerToolRow, ToolRow, table_of
from registry.store.version import lock_catalog, next_version

__all__ = ["judge_repetitions", "store_servers"]

_SERVERS = table_of(ServerRow)
_PLACES = table_of(ServerToolRow)
_TOOLS = table_of(ToolRow)

_MAX_NAME_CHARACTERS = 64
_SUFFIX_DIGITS = 6


class _Known(NamedTuple):
    """A server that is stored already."""

    id: int
    name: str
    document_hash: str
    tools_hash: str | None
    is_kept: bool


class _Fresh(NamedTuple):
    """A document that is stored anew."""

    id: int
    prepared: PreparedServer
    known: _Known | None


class _Candidate(NamedTuple):
    """A server that is kept unless it repeats another one."""

    id: int
    name: str
    tools_hash: str
    is_live: bool
    is_kept: bool
    """Already, with these tools."""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The lowest is kept: one that was seen alive, else one that is published, else the first stored."""
        return (not self.is_live, not self.is_kept, self.id)


def store_servers(
    session: Session, prepared: Sequence[PreparedServer], now: datetime
) -> tuple[list[int], Mapping[str, int]]:
    """Store servers, each with all of its tools; equal ones change nothing.

    A server that repeats another kept one is rejected. Where a document changes, those that repeated it are
    judged again.

    Args:
        session: Of a writing transaction.
        prepared: In the order of storing; no two of one source have the same key.
        now: What goes into the times of rows that change.

    Returns:
        The ids of the servers, in their order, and how many were ``added``, ``changed`` and ``unchanged``.
    """
    lock_catalog(session)
    known = _known(session, prepared)
    fresh = _fresh(session, prepared, known)
    if fresh:
        _store(session, fresh, now)
    added = sum(row.known is None for row in fresh)
    ids = {identity: row.id for identity, row in known.items()}
    ids |= {_identity(row.prepared): row.id for row in fresh}
    counts = {
        "added": added,
        "changed": len(fresh) - added,
        "unchanged": len(prepared) - len(fresh),
    }
    return [ids[_identity(server)] for server in prepared], counts


def _store(session: Session, fresh: Sequence[_Fresh], now: datetime) -> None:
    revision = next_version(session)
    names = _names(session, fresh)
    hashes = {row.prepared.tools_hash for row in fresh}
    hashes |= {row.known.tools_hash for row in fresh if row.known}
    changed = [row.id for row in fresh if row.known]
    stored = _stored_candidates(session, hashes, changed)
    candidates = [*stored, *_fresh_candidates(fresh, names)]
    repeated = _repeated(candidates)
    stamp = {"revision": revision, "changed_at": now}
    insert_missing(session, _TOOLS, tool_rows(row.prepared for row in fresh))
    _replace(session, fresh, names, repeated, stamp)
    for candidate in stored:
        repeats = repeated.get(candidate.id)
        if not (candidate.is_kept and repeats is None):
            _judge_again(session, candidate, repeats, stamp)


def judge_repetitions(
    session: Session, hashes: Iterable[str | None], stamp: Mapping[str, Any]
) -> list[str]:
    """Judge stored servers again that have, or repeat, tools of which a kept server is gone.

    Args:
        session: Of a writing transaction that has locked the catalog.
        hashes: Of the tools of what is gone.
        stamp: ``revision`` and ``changed_at`` of rows that change.

    Returns:
        The names of those that are kept from now on.
    """
    candidates = _stored_candidates(session, hashes, ())
    repeated = _repeated(candidates)
    for candidate in candidates:
        _judge_again(session, candidate, repeated.get(candidate.id), stamp)
    return sorted(c.name for c in candidates if not c.is_kept and c.id not in repeated)


def _identity(server: PreparedServer) -> tuple[str, str]:
    return server.document.source, server.document.key


def _known(session: Session, prepared: Iterable[PreparedServer]) -> dict[tuple[str, str], _Known]:
    """Find the servers that are stored, source by source: SQLite finds no pairs by an index."""
    keys: dict[str, list[str]] = {}
    for server in prepared:
        keys.setdefault(server.document.source, []).append(server.document.key)
    columns = _SERVERS.c
    wanted = select(
        *(columns.key, columns.id, columns.name, columns.document_hash),
        *(columns.tools_hash, columns.status),
    )
    return {
        (source, key): _Known(*values, is_kept=status == "kept")
        for source, some in keys.items()
        for key, *values, status in session.execute(
            wanted.where(columns.source == source, columns.key.in_(some))
        )
    }


def _fresh(
    session: Session,
    prepared: Iterable[PreparedServer],
    known: Mapping[tuple[str, str], _Known],
) -> list[_Fresh]:
    """Select the documents that differ from what is stored, and number the new ones."""
    last = session.execute(select(func.max(_SERVERS.c.id))).scalar()
    numbers = count((last or 0) + 1)
    rows: list[_Fresh] = []
    for server in prepared:
        before = known.get(_identity(server))
        if before is None:
            rows.append(_Fresh(next(numbers), server, None))
        elif before.document_hash != stored_hash(server):
            rows.append(_Fresh(before.id, server, before))
    return rows


def _stored_candidates(
    session: Session, hashes: Iterable[str | None], but: Sequence[int]
) -> list[_Candidate]:
    """Find the stored servers that are judged by some tools; without those of some ids."""
    columns = _SERVERS.c
    is_live, is_kept = columns.provenance == Provenance.LIVE, columns.status == "kept"
    found = session.execute(
        select(columns.id, columns.name, columns.tools_hash, is_live, is_kept).where(
            columns.tools_hash.in_(sorted({h for h in hashes if h is not None})),
            or_(is_kept, columns.reason == ServerReason.DUPLICATE),
            columns.id.not_in(but),
        )
    )
    return [_Candidate(*row) for row in found]


def _fresh_candidates(fresh: Iterable[_Fresh], names: Mapping[int, str]) -> Iterator[_Candidate]:
    for id_, server, known in fresh:
        tools_hash = server.tools_hash
        if server.rejection is None and tools_hash is not None:
            yield _Candidate(
                id=id_,
                name=names[id_],
                tools_hash=tools_hash,
                is_live=server.document.provenance is Provenance.LIVE,
                is_kept=known is not None and known.is_kept and known.tools_hash == tools_hash,
            )


def _repeated(candidates: Iterable[_Candidate]) -> dict[int, str]:
    """Name, for each server that is to be rejected, the one whose tools it repeats."""
    kept: dict[str, _Candidate] = {}
    repeated: dict[int, str] = {}
    for candidate in sorted(candidates, key=lambda c: c.rank):
        first = kept.setdefault(candidate.tools_hash, candidate)
        if first is not candidate:
            repeated[candidate.id] = first.name
    return repeated


def _names(session: Session, fresh: Iterable[_Fresh]) -> dict[int, str]:
    """Give every new server a name of its own; a stored one keeps it for ever.

    The plain name is for a server that has no fault of its own.
    """
    names: dict[int, str] = {}
    given: set[str] = set()
    for id_, server, known in fresh:
        names[id_] = known.name if known else _free_name(session, server, given)
        given.add(names[id_])
    return names


def _free_name(session: Session, server: PreparedServer, given: set[str]) -> str:
    def is_free(name: str) -> bool:
        stored = select(_SERVERS.c.id).where(_SERVERS.c.name == name)
        return name not in given and session.execute(stored).first() is None

    return next(name for name in _possible_names(server) if is_free(name))


def _possible_names(server: PreparedServer) -> Iterator[str]:
    if server.rejection is None:
        yield server.name
    plain = server.name[: _MAX_NAME_CHARACTERS - _SUFFIX_DIGITS - 1]
    for attempt in count(1):
        told = _identity(server) if attempt == 1 else [*_identity(server), attempt]
        yield f"{plain}-{sha256(canonical_json(told)).hexdigest()[:_SUFFIX_DIGITS]}"


def _replace(
    session: Session,
    fresh: Sequence[_Fresh],
    names: Mapping[int, str],
    repeated: Mapping[int, str],
    stamp: Mapping[str, Any],
) -> None:
    """Write the servers of a batch and their places, in place of those of earlier documents."""
    old = [row.id for row in fresh if row.known]
    if old:
        session.execute(delete(_PLACES).where(_PLACES.c.server_id.in_(old)))
    new_rows: list[dict[str, Any]] = []
    changed_rows: list[dict[str, Any]] = []
    places: list[dict[str, Any]] = []
    for id_, server, known in fresh:
        rejection = server.rejection or _repetition(repeated.get(id_))
        row = {**server_row(server, rejection), **stamp}
        if known:
            changed_rows.append({**row, "of_id": id_})
        else:
            given = {"id": id_, "name": names[id_], "imported_at": stamp["changed_at"]}
            new_rows.append({**row, **given})
        places += place_rows(id_, server, rejection)
    if new_rows:
        session.execute(insert(_SERVERS), new_rows)
    if changed_rows:
        session.execute(update(_SERVERS).where(_SERVERS.c.id == bindparam("of_id")), changed_rows)
    if places:
        session.execute(insert(_PLACES), places)


def _repetition(name: str | None) -> Rejection | None:
    if name is None:
        return None
    return Rejection(ServerReason.DUPLICATE, f"tools: the same as those of {name}")


def _judge_again(
    session: Session, candidate: _Candidate, repeats: str | None, stamp: Mapping[str, Any]
) -> None:
    """Change the verdict of a stored server, and of its tools that have no fault of their own."""
    rejection = _repetition(repeats)
    values = verdict(rejection)
    columns = _SERVERS.c
    differs = or_(columns.status != values["status"], columns.detail != values["detail"])
    server = update(_SERVERS).where(columns.id == candidate.id, differs)
    session.execute(server.values(**values, **stamp))
    faultless = or_(_PLACES.c.status == "kept", _PLACES.c.reason == ToolReason.SERVER_REJECTED)
    places = update(_PLACES).where(_PLACES.c.server_id == candidate.id, faultless)
    session.execute(places.values(**verdict(of_tools(rejection))))
