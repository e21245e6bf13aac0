"""Whole questions and short queries, each with every tool of the real documents that answers it.

The tools were found by reading the documents, not by searching. Lines of even number in each kind (from 0)
are there to choose weights on; the odd ones are held out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

__all__ = ["QUERIES", "Kind", "SearchQuery", "answers_of", "read_queries", "recall"]

QUERIES: Final = Path(__file__).parents[2] / "tests" / "registry" / "search_queries.jsonl"


class Kind(StrEnum):
    """How something is searched for."""

    QUESTION = "question"
    """As somebody asks an assistant, in one to three sentences."""
    SHORT = "short"
    """In two to five words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What is searched for, and what answers it."""

    kind: Kind
    part: Literal["dev", "held-out"]
    text: str
    tools: tuple[str, ...]
    """As ``server/tool``."""


def read_queries(path: Path = QUERIES) -> tuple[SearchQuery, ...]:
    """Read all queries, in the order of the file.

    Raises:
        ValueError: A line is no query.
    """
    queries: list[SearchQuery] = []
    seen = dict.fromkeys(Kind, 0)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        kind = Kind(row["kind"])
        part = "held-out" if seen[kind] % 2 else "dev"
        seen[kind] += 1
        queries.append(
            SearchQuery(kind=kind, part=part, text=row["text"], tools=tuple(row["tools"]))
        )
    return tuple(queries)


def answers_of(query: SearchQuery, hashes: Mapping[str, str]) -> frozenset[str]:
    """Give the hashes of the tools that answer a query.

    Args:
        query: Its tools are stored, and several of them may be one.
        hashes: Of each tool that is stored, by ``server/tool``.

    Raises:
        KeyError: A tool is not stored.
    """
    return frozenset(hashes[tool] for tool in query.tools)


def recall(found: Sequence[str], answers: Iterable[str], first: int) -> float:
    """Say which share of what answers a query stands among the first hits."""
    wanted = frozenset(answers)
    return len(wanted.intersection(found[:first])) / len(wanted)
