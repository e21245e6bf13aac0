"""Vectors of tools: computed once for each version of a tool and each model, kept in the database.

What is embedded is the document of ASTRA eq. (24), see :mod:`astra_mcp.embedding.tool_text`. Tools and
their vectors are never changed: a changed tool is another one and gets a vector of its own.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.embedding import Embedder, Vectors
from astra_mcp.embedding.tool_text import tool_text
from astra_mcp.errors import ModelError, ModelFault, RegistryError
from registry.search.scope import LIVE_TOOLS, Scope, tools_in
from registry.store.database import Database
from registry.store.servers import load_servers
from registry.store.statements import batches, insert_missing
from registry.store.tables import ToolRow, VectorRow, table_of
from registry.store.version import published_names

__all__ = [
    "EMPTY_TABLE",
    "LiveTool",
    "VectorTable",
    "check_length",
    "count_vectors",
    "live_tools",
    "load_vectors",
    "read_vectors",
    "update_vectors",
]

_BATCH = 256
"""Tools that are embedded and stored at once; so many are lost at most when the process dies."""
_ROWS_AT_ONCE = 1024
_READ_AT_ONCE = 500
"""So many values stand in one statement; databases bound it."""
_STORED = np.dtype("<f4")
_SERVERS_AT_ONCE = 50
"""So many are held as values; their tools' texts are many times smaller."""


class LiveTool(NamedTuple):
    """A kept tool of a kept server that was asked for its tools."""

    server: str
    domain: str | None
    """Of the server."""
    name: str
    hash: str
    """Of this version of the tool; its vectors are stored by it."""
    document: str
    """What is embedded of it."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """All vectors of one model."""

    hashes: tuple[str, ...]
    """Of the tools, sorted."""
    matrix: Vectors
    """Their vectors, one row each."""


EMPTY_TABLE = VectorTable((), np.empty((0, 0), dtype=np.float32))


async def update_vectors(
    database: Database,
    embedder: Embedder,
    scope: Scope = LIVE_TOOLS,
    *,
    hear: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Embed the tools of a scope that have no vector of this model yet.

    What is done is kept when it ends early, and the next call goes on from there.

    Args:
        database: Holds the tools and gets the vectors.
        embedder: Its ``model`` names the vectors.
        scope: Which tools.
        hear: Told after each batch how many of how many are done.

    Returns:
        How many were embedded.

    Raises:
        ModelError: The embedder failed, or its answer does not fit the texts.
        RegistryError: The database failed, or keeps vectors of another length under this name.
    """
    done = 0
    total = await database.read(partial(_count_missing, embedder.model, scope))
    after = ""
    while batch := await database.read(partial(_missing, embedder.model, scope, after)):
        hashes = [tool for tool, _ in batch]
        vectors = await embedder.embed([text for _, text in batch])
        _check(embedder.model, vectors, len(batch))
        await database.write(partial(_store, embedder.model, hashes, vectors))
        done += len(batch)
        after = hashes[-1]
        hear(done, max(done, total))
    return done


async def load_vectors(database: Database, model: str) -> VectorTable:
    """Read all vectors of a model; needs their own size of memory and little more.

    Raises:
        RegistryError: They differ in length: two models have been stored under one name.
    """
    return await database.read(partial(_load, model))


def read_vectors(
    session: Session, model: str, hashes: Iterable[str]
) -> Iterator[tuple[str, Vectors]]:
    """Read the vectors of some tools, one after the other and in no order.

    Args:
        session: Sees one state of the database.
        model: Made the vectors.
        hashes: Of the tools; those without a vector are left out.
    """
    for some in batches(hashes, _READ_AT_ONCE):
        rows = session.execute(_vectors_of(model).where(col(VectorRow.tool_hash).in_(some)))
        for tool, vector in rows:
            yield tool, np.frombuffer(vector, dtype=_STORED)


def count_vectors(session: Session, model: str) -> int:
    """Count the vectors of a model; none is ever changed or removed, so that an equal count is no change."""
    return session.scalar(select(func.count()).where(col(VectorRow.model) == model)) or 0


def _vectors_of(model: str) -> Select[str, bytes]:
    columns = (col(VectorRow.tool_hash), col(VectorRow.vector))
    return select(*columns).where(col(VectorRow.model) == model)


def _without_vector(model: str, scope: Scope) -> Select[ToolRow]:
    having = select(col(VectorRow.tool_hash)).where(col(VectorRow.model) == model)
    return select(ToolRow).where(
        col(ToolRow.hash).in_(tools_in(scope)), col(ToolRow.hash).not_in(having)
    )


def _count_missing(model: str, scope: Scope, session: Session) -> int:
    missing = _without_vector(model, scope).subquery()
    return session.scalar(select(func.count()).select_from(missing)) or 0


def _missing(model: str, scope: Scope, after: str, session: Session) -> list[tuple[str, str]]:
    """Give the next tools without a vector, with their documents."""
    rows = session.scalars(
        _without_vector(model, scope)
        .where(col(ToolRow.hash) > after)
        .order_by(col(ToolRow.hash))
        .limit(_BATCH)
    )
    return [(row.hash, tool_text(row.spec)) for row in rows]


def _check(model: str, vectors: Vectors, count: int) -> None:
    if vectors.ndim != 2 or len(vectors) != count:
        said = f"{vectors.shape} for {count} texts"
    elif not np.isfinite(vectors).all():
        said = "vectors with numbers that are not finite"
    else:
        return
    raise ModelError(f"the embedder {model!r} answered {said}", ModelFault.MALFORMED)


def _store(model: str, hashes: Sequence[str], vectors: Vectors, session: Session) -> None:
    """Keep vectors, unless somebody else was faster; none of another length than those that are kept."""
    kept = select(func.length(col(VectorRow.vector))).where(col(VectorRow.model) == model).limit(1)
    kept_bytes = session.scalar(kept)
    if kept_bytes is not None:
        check_length(model, kept_bytes // _STORED.itemsize, vectors.shape[1])
    stored = vectors.astype(_STORED)
    rows = [
        {"tool_hash": tool, "model": model, "vector": vector.tobytes()}
        for tool, vector in zip(hashes, stored, strict=True)
    ]
    insert_missing(session, table_of(VectorRow), rows)


def check_length(model: str, kept: int, dimensions: int) -> None:
    """Refuse vectors that cannot be compared with those that are kept.

    Args:
        model: What both are named by.
        kept: Dimensions of those.
        dimensions: Of the others.

    Raises:
        RegistryError: They differ: two models go by one name.
    """
    if kept != dimensions:
        raise RegistryError(
            f"the embedder {model!r} answers {dimensions} dimensions, and the vectors that are kept "
            f"under its name have {kept}: it is another model now; "
            "set models.embedding.revision, or name it differently"
        )


def _load(model: str, session: Session) -> VectorTable:
    length = func.length(col(VectorRow.vector))
    measured = select(func.count(), func.min(length), func.max(length))
    count, *bounds = session.execute(measured.where(col(VectorRow.model) == model)).one()
    if not count:
        return EMPTY_TABLE
    shortest, longest = (size // _STORED.itemsize for size in bounds)
    if len(set(bounds)) > 1:
        raise RegistryError(
            f"the vectors of {model!r} have between {shortest} and {longest} dimensions: "
            "name one of the models differently"
        )
    matrix = np.empty((count, longest), dtype=np.float32)
    hashes: list[str] = []
    statement = _vectors_of(model).order_by(col(VectorRow.tool_hash))
    rows = session.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE})
    for tool, vector in rows:
        matrix[len(hashes)] = np.frombuffer(vector, dtype=_STORED)
        hashes.append(tool)
    return VectorTable(tuple(hashes), matrix)


def live_tools(session: Session, servers: Collection[str]) -> Iterator[LiveTool]:
    """Read tools, by the names of their servers and their places there; crawled servers have none.

    Args:
        session: Sees one state of the database.
        servers: Their names; what is not kept or not live is left out.
    """
    kept = published_names(session)
    for names in batches(sorted(kept & set(servers)), _SERVERS_AT_ONCE):
        for server in load_servers(session, names):
            for tool in server.tools:
                if tool.status == "kept" and tool.spec and tool.tool_hash:
                    named = (server.name, server.domain, tool.spec.name)
                    yield LiveTool(*named, tool.tool_hash, tool_text(tool.spec))
