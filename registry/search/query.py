"""Search over stored tools: by their words, by their vectors, and by both.

Ranks by reciprocal rank fusion where both are asked: scores of different kinds cannot be compared, ranks
can.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.embedding import Embedder, Vectors
from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.embedding.queries import query_words
from astra_mcp.types import ToolSpec
from registry.search.scope import LIVE_TOOLS, Hit, Scope, SearchAnswer, SearchBy, tools_in
from registry.search.server_words import EMPTY_SERVERS, ServerWords, read_server_words
from registry.search.vectors import (
    EMPTY_TABLE,
    VectorTable,
    check_length,
    count_vectors,
    load_vectors,
)
from registry.search.word_ranking import rank_by_words
from registry.store.database import Database
from registry.store.statements import batches
from registry.store.tables import ServerRow, ServerToolRow, ToolRow
from registry.store.version import catalog_version

__all__ = ["SearchIndex"]

_POOL = 100
"""So many of the best of each kind, or as many as are asked for, are fused."""
_FUSION = 10
"""k of weight / (k + rank); Cormack et al. 2009 propose 60, where ranks far down hardly differ."""
_WORD_VECTORS_WEIGHT = 0.6
"""Of the ranking by vectors that compare words too, which full-text search compares better; the vectors of
a model know what words do not, and weigh as much as these."""

_READ_AT_ONCE = 500
_MAX_SCOPES = 64
"""So many are remembered until the catalog or the vectors change."""

_Ranking = list[tuple[str, float]]
"""Hashes of tools, the best first, each with a score."""


class SearchIndex:
    """Finds tools; holds the vectors of one model, and reads them again when some were added."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        """Search in a database.

        Args:
            database: Holds the tools and their vectors.
            embedder: Embeds the queries; the vectors of its model are searched.
        """
        self._database = database
        self._embedder = embedder
        self._held = _Held(version=-1, table=EMPTY_TABLE)
        self._renewing = anyio.Lock()

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        by: SearchBy = SearchBy.BOTH,
        scope: Scope = LIVE_TOOLS,
    ) -> SearchAnswer:
        """Find the tools that fit a query best; in English, Chinese or any language of the tools.

        Args:
            query: What is searched for.
            limit: How many tools at most.
            by: What they are ranked by.
            scope: Which tools are searched.

        Raises:
            ModelError: The embedder failed.
            RegistryError: The database failed, or its vectors are not of the embedder's length.
        """
        wanted = None
        if by is not SearchBy.WORDS and query.strip():
            wanted = (await self._embedder.embed([query], as_query=True))[0]
        words = query_words("" if by is SearchBy.VECTORS else query)
        held = await self._renewed()
        if wanted is not None and held.table.hashes:
            check_length(self._embedder.model, held.table.matrix.shape[1], len(wanted))

        def answer(session: Session) -> SearchAnswer:
            searched = held.searched(session, scope)
            pool = max(limit, _POOL)
            by_words = rank_by_words(
                session,
                words,
                tools_in(scope),
                servers=searched.servers,
                server_words=held.servers,
                limit=pool,
            )
            by_vectors = _rank_by_vectors(held.table, searched.rows, wanted, pool)
            is_fused = words.asked and wanted is not None
            # Where only one kind is searched by, the other ranking is empty.
            ranking = self._fused(by_words, by_vectors) if is_fused else by_words + by_vectors
            hits = _read_hits(session, ranking[:limit], scope)
            return SearchAnswer(
                hits=hits, searched=len(searched.servers), embedded=len(searched.rows)
            )

        return await self._database.read(answer)

    async def _renewed(self) -> "_Held":
        """Give what is held of the database, read again where it is not the same any more."""
        model = self._embedder.model
        async with self._renewing:
            version, count = await self._database.read(
                lambda session: (catalog_version(session), count_vectors(session, model))
            )
            table, servers = self._held.table, self._held.servers
            if len(table.hashes) != count:
                table = await load_vectors(self._database, model)
            if version != self._held.version:
                servers = await self._database.read(read_server_words)
            if table is not self._held.table or version != self._held.version:
                self._held = _Held(version=version, table=table, servers=servers)
            return self._held

    def _fused(self, by_words: _Ranking, by_vectors: _Ranking) -> _Ranking:
        compares_words = self._embedder.model == LexicalEmbedder.model
        weights = (1.0, _WORD_VECTORS_WEIGHT if compares_words else 1.0)
        scores: dict[str, float] = {}
        for ranking, weight in zip((by_words, by_vectors), weights, strict=True):
            for rank, (tool, _) in enumerate(ranking, start=1):
                scores[tool] = scores.get(tool, 0.0) + weight / (_FUSION + rank)
        return sorted(scores.items(), key=lambda row: (-row[1], row[0]))


class _Searched(NamedTuple):
    """The tools in a scope."""

    servers: Mapping[str, tuple[int, ...]]
    """The ids of each tool's servers in the scope, by the hash of the tool."""
    rows: npt.NDArray[np.intp]
    """Places of those with a vector in the table."""


@dataclass(slots=True)
class _Held:
    """What is held of one state of the database."""

    version: int
    table: VectorTable
    servers: ServerWords = EMPTY_SERVERS
    scopes: dict[Scope, _Searched] = field(default_factory=dict[Scope, _Searched])

    def searched(self, session: Session, scope: Scope) -> _Searched:
        """Give what a scope holds; read once for each scope."""
        if scope in self.scopes:
            return self.scopes[scope]
        servers: dict[str, tuple[int, ...]] = {}
        for tool, server in session.execute(tools_in(scope).add_columns(col(ServerRow.id))):
            servers[tool] = (*servers.get(tool, ()), server)
        rows = [row for row, tool in enumerate(self.table.hashes) if tool in servers]
        found = _Searched(servers, np.array(rows, dtype=np.intp))
        if len(self.scopes) < _MAX_SCOPES:
            self.scopes[scope] = found
        return found


def _rank_by_vectors(
    table: VectorTable, rows: npt.NDArray[np.intp], wanted: Vectors | None, limit: int
) -> _Ranking:
    """Rank tools by their cosine with what is wanted; those without any likeness are left out."""
    if wanted is None or not len(rows):
        return []
    # Not the product of a library for matrices, whose threads take longer to meet than one to multiply.
    likeness = np.einsum("ij,j->i", table.matrix, wanted)[rows]
    best = np.argsort(-likeness, kind="stable")[:limit]
    return [(table.hashes[rows[at]], float(likeness[at])) for at in best if likeness[at] > 0]


def _read_hits(session: Session, ranking: _Ranking, scope: Scope) -> tuple[Hit, ...]:
    hashes = [tool for tool, _ in ranking]
    tools: dict[str, ToolSpec] = {}
    servers: dict[str, set[str]] = {tool: set() for tool in hashes}
    for some in batches(hashes, _READ_AT_ONCE):
        rows = session.scalars(select(ToolRow).where(col(ToolRow.hash).in_(some)))
        tools |= {row.hash: row.spec for row in rows}
        listed = tools_in(scope).add_columns(col(ServerRow.name))
        for tool, server in session.execute(listed.where(col(ServerToolRow.tool_hash).in_(some))):
            servers[tool].add(server)
    return tuple(
        Hit(hash=tool, tool=tools[tool], servers=tuple(sorted(servers[tool])), score=score)
        for tool, score in ranking
    )
