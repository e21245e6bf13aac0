"""Ranking tools by words: by their own, and by what their servers say and offer besides."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Select
from sqlalchemy.orm import Session

from astra_mcp.embedding.queries import QueryWords
from registry.search.full_text import full_text_ranking
from registry.search.server_words import ServerWords

__all__ = ["rank_by_words"]

_POOL = 200
"""So many of the best by their own words are ranked anew."""
_SERVER_WEIGHT = 0.4
"""Of what the server says of itself; the best tool's own words weigh 1."""
_SIBLINGS_WEIGHT = 0.1
"""Of the best tools of the same server: what needs one of them may need another."""
_SIBLINGS = 3


def rank_by_words(
    session: Session,
    words: QueryWords,
    tools: Select[Any],
    *,
    servers: Mapping[str, Sequence[int]],
    server_words: ServerWords,
    limit: int,
) -> list[tuple[str, float]]:
    """Find the tools that have at least one of the words, the best first.

    Args:
        session: Of a transaction.
        words: What is searched for.
        tools: Selects the hashes of the tools that are searched.
        servers: The ids of each tool's servers, by its hash.
        server_words: What servers say.
        limit: How many at most.

    Returns:
        Hashes, each with a score: higher is better, equal ones in the order of their hashes.
    """
    own = _own_scores(session, words, tools, max(limit, _POOL))
    own = {tool: score for tool, score in own.items() if tool in servers}
    said = _server_scores(server_words, words, own, servers)
    offered = _sibling_scores(own, servers)
    scores = {
        tool: score
        + _SERVER_WEIGHT * max(said[server] for server in servers[tool])
        + _SIBLINGS_WEIGHT * max(offered[server] for server in servers[tool])
        for tool, score in own.items()
    }
    return sorted(scores.items(), key=lambda row: (-row[1], row[0]))[:limit]


def _own_scores(
    session: Session, words: QueryWords, tools: Select[Any], limit: int
) -> dict[str, float]:
    """Score tools by their own words, the best one 1."""
    scores: defaultdict[str, float] = defaultdict(float)
    for some, weight in ((words.asked, 1.0), (words.meant, words.meant_weight)):
        for tool, score in full_text_ranking(session, some, tools, limit):
            scores[tool] += weight * score
    scale = _scale(scores.values())
    return {tool: score * scale for tool, score in scores.items()}


def _server_scores(
    server_words: ServerWords,
    words: QueryWords,
    own: Mapping[str, float],
    servers: Mapping[str, Sequence[int]],
) -> dict[int, float]:
    """Score the servers of tools by what they say of themselves, the best one 1."""
    scores = server_words.scores(words.weights)
    places = server_words.places
    some = {server for tool in own for server in servers[tool]}
    # One that was stored since they were read has said nothing yet.
    said = {server: float(scores[places[server]]) if server in places else 0.0 for server in some}
    scale = _scale(said.values())
    return {server: score * scale for server, score in said.items()}


def _sibling_scores(
    own: Mapping[str, float], servers: Mapping[str, Sequence[int]]
) -> dict[int, float]:
    """Score servers by the mean of their best tools' scores."""
    offered: defaultdict[int, list[float]] = defaultdict(list)
    for tool, score in own.items():
        for server in servers[tool]:
            offered[server].append(score)
    return {
        server: sum(sorted(scores, reverse=True)[:_SIBLINGS]) / _SIBLINGS
        for server, scores in offered.items()
    }


def _scale(scores: Iterable[float]) -> float:
    """Give what makes the best score 1; where none is above 0, all stay as they are."""
    best = max(scores, default=0.0)
    return 1 / best if best > 0 else 1.0
