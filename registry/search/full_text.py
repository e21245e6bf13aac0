"""Full-text search in the words of tools, by what each database has for it.

Both rank by how rare a word is and how often it stands where; SQLite by BM25, PostgreSQL by its own rank
of each word times its rarity. The two orders are alike and not the same.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import log
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    String,
    cast,
    column,
    func,
    literal,
    literal_column,
    select,
    table,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR
from sqlalchemy.orm import Session

__all__ = ["full_text_ranking"]

_WEIGHTS = {"name": 4.0, "description": 2.0, "parameters": 0.5}
"""What a word weighs by the line of ``tool.words`` that it stands in."""

_TEXT = table("tool_text", column("hash", String))
_VECTOR = table("tool", column("hash", String), column("text_vector", TSVECTOR))


def full_text_ranking(
    session: Session, words: Sequence[str], tools: Select[Any], limit: int
) -> list[tuple[str, float]]:
    """Find the tools that have at least one of the words, the best first.

    Args:
        session: Of a transaction.
        words: As :func:`~astra_mcp.embedding.words.split_words` gives them.
        tools: Selects the hashes of the tools that are searched.
        limit: How many at most.

    Returns:
        Hashes, each with a score: higher is better, and nothing else follows from it.
    """
    if not words:
        return []
    statement = _BY_DIALECT[session.get_bind().dialect.name](session, words, tools)
    rows = session.execute(statement.limit(limit))
    return [(tool, float(score)) for tool, score in rows]


def _on_sqlite(session: Session, words: Sequence[str], tools: Select[Any]) -> Select[str, float]:
    found: ColumnElement[str] = literal_column("tool_text")
    score = -func.bm25(found, 0.0, *_WEIGHTS.values())
    # A word has no quotation mark, since it consists of letters and digits.
    query = " OR ".join(f'"{word}"' for word in words)
    return (
        select(_TEXT.c.hash, score)
        .where(found.op("MATCH")(query), _among(_TEXT.c.hash, tools))
        .order_by(score.desc(), _TEXT.c.hash)
    )


def _on_postgres(session: Session, words: Sequence[str], tools: Select[Any]) -> Select[str, float]:
    queries = [func.plainto_tsquery("simple", word, type_=TSQUERY) for word in words]
    vector = _VECTOR.c.text_vector
    # PostgreSQL's weights stand in the order D, C, B, A and lie within 0 and 1.
    heaviest = max(_WEIGHTS.values())
    weights = [0.0, *(weight / heaviest for weight in reversed(_WEIGHTS.values()))]
    lines = literal("{" + ",".join(map(str, weights)) + "}").op("::")(literal_column("float4[]"))
    score: ColumnElement[float] = literal(0.0)
    for query, rarity in zip(queries, _rarities(session, queries), strict=True):
        score += rarity * func.ts_rank(lines, vector, query, _BY_LENGTH)
    has_any = reduce(lambda one, other: one.op("||", return_type=TSQUERY())(other), queries)
    return (
        select(_VECTOR.c.hash, score)
        .where(vector.op("@@")(has_any), _among(_VECTOR.c.hash, tools))
        .order_by(score.desc(), _VECTOR.c.hash)
    )


def _among(tool: ColumnElement[str], tools: Select[Any]) -> ColumnElement[bool]:
    """Look up each tool that has a word, which are few as a rule, instead of selecting all of them."""
    return tools.where(tools.selected_columns[0] == tool).exists()


_BY_LENGTH = cast(1, Integer)
"""Has ``ts_rank`` divide by the logarithm of how long the text is."""


def _rarities(session: Session, queries: Sequence[ColumnElement[Any]]) -> list[float]:
    """How telling each word is: ln(1 + tools / tools that have it)."""
    counts = [
        select(func.count())
        .select_from(_VECTOR)
        .where(_VECTOR.c.text_vector.op("@@")(query))
        .scalar_subquery()
        for query in queries
    ]
    total = select(func.count()).select_from(_VECTOR).scalar_subquery()
    every, *having = session.execute(select(total, *counts)).one()
    return [log(1 + every / max(count, 1)) for count in having]


_BY_DIALECT: dict[str, Callable[[Session, Sequence[str], Select[Any]], Select[str, float]]] = {
    "sqlite": _on_sqlite,
    "postgresql": _on_postgres,
}
