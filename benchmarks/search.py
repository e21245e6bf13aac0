"""What search finds and how long it takes: the first 10 hits of some queries, by words, vectors and both.

    python -P benchmarks/search.py FILE [--json FILE] [--rounds N] [--without-recall]

FILE is a file of server documents in any format that `astra-mcp registry import` reads. It is imported into a
database of its own and embedded by the lexical embedder. The times are those of whole searches in this
process, the first one apart; the processor's time is the mean, of all threads. A hit counts where its name
or description has a word of the query's topic, which says as much of the tools as of the search: what few
tools are about cannot be found 10 times.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from astra_mcp.embedding.lexical import LexicalEmbedder  # noqa: E402
from registry.documents.preparation import prepare_server  # noqa: E402
from registry.importers.detection import detect  # noqa: E402
from registry.intake.importing import import_documents  # noqa: E402
from registry.search.query import SearchIndex  # noqa: E402
from registry.search.scope import Scope, SearchBy  # noqa: E402
from registry.search.vectors import live_tools, update_vectors  # noqa: E402
from registry.store.database import Database, open_database  # noqa: E402

from circumstances import conditions  # noqa: E402
from search_queries import SearchQuery, answers_of, read_queries, recall  # noqa: E402
from search_topics import TOPICS, concerns  # noqa: E402

HITS = 10
SCOPES = {"live": Scope(), "all": Scope(provenance=None)}


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description="Measure what search finds and how long it takes.")
    parser.add_argument("documents", type=Path)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--without-recall",
        action="store_true",
        help="for other documents than the queries are about",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        url = f"sqlite:///{folder}/registry.db"
        queries = () if options.without_recall else read_queries()
        figures = anyio.run(_measure, options.documents, url, options.rounds, queries)
    for name, value in figures.items():
        print(f"{name}: {value}")
    if options.json:
        text = json.dumps(figures, indent=2, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


async def _measure(
    documents: Path, url: str, rounds: int, queries: Sequence[SearchQuery]
) -> dict[str, Any]:
    circumstances = conditions(rounds=rounds, hits=HITS, model=LexicalEmbedder.model, seed=None)
    figures: dict[str, Any] = {}
    async with open_database(url) as database:
        started = time.perf_counter()
        stream = detect(documents).read(documents)
        await import_documents(database, stream, prepare=prepare_server)
        figures["import_seconds"] = _since(started)
        started = time.perf_counter()
        figures["embedded"] = await update_vectors(database, LexicalEmbedder(), SCOPES["all"])
        figures["embed_seconds"] = _since(started)
        for name, scope in SCOPES.items():
            figures |= await _search(database, name, scope, rounds)
            if queries:
                figures |= await _recalls(database, name, scope, queries)
    return figures | {"conditions": circumstances.finished()}


async def _search(database: Database, name: str, scope: Scope, rounds: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    index = SearchIndex(database, LexicalEmbedder())
    started = time.perf_counter()
    answer = await index.search("first", scope=scope)
    figures[f"{name}_tools"] = answer.searched
    figures[f"{name}_first_ms"] = round(_since(started) * 1000, 1)
    for by in SearchBy:
        found: dict[str, int] = {}
        times: list[float] = []
        cpu_started = time.process_time()
        for query in [*TOPICS] * rounds:
            started = time.perf_counter()
            answer = await index.search(query, by=by, scope=scope, limit=HITS)
            times.append((time.perf_counter() - started) * 1000)
            found[query] = sum(concerns(hit.tool, query) for hit in answer.hits)
        cpu_ms = (time.process_time() - cpu_started) * 1000 / len(times)
        figures |= _summary(f"{name}_{by}", found, times) | {
            f"{name}_{by}_cpu_ms": round(cpu_ms, 1)
        }
    return figures


async def _recalls(
    database: Database, name: str, scope: Scope, queries: Sequence[SearchQuery]
) -> dict[str, Any]:
    """Mean recall by kind and part of the queries, and what a search with one of them takes."""
    index = SearchIndex(database, LexicalEmbedder())
    servers = {tool.partition("/")[0] for query in queries for tool in query.tools}
    stored = await database.read(lambda session: tuple(live_tools(session, servers)))
    hashes = {f"{tool.server}/{tool.name}": tool.hash for tool in stored}
    missing = {tool for query in queries for tool in query.tools} - hashes.keys()
    if missing:
        raise SystemExit(
            f"the documents lack {min(missing)}, which queries ask for: --without-recall"
        )
    figures: dict[str, Any] = {}
    await index.search("first", scope=scope)
    for by in SearchBy:
        recalls: dict[str, list[float]] = {}
        cpu_started = time.process_time()
        for query in queries:
            answer = await index.search(query.text, by=by, scope=scope, limit=HITS)
            found = [hit.hash for hit in answer.hits]
            for first in (HITS // 2, HITS):
                key = f"{name}_{by}_{query.kind}_{query.part}_recall_at_{first}"
                recalls.setdefault(key, []).append(recall(found, answers_of(query, hashes), first))
        cpu_ms = (time.process_time() - cpu_started) * 1000 / len(queries)
        figures |= {key: round(statistics.mean(values), 3) for key, values in recalls.items()}
        figures[f"{name}_{by}_queries_cpu_ms"] = round(cpu_ms, 1)
    return figures


def _summary(prefix: str, found: dict[str, int], times: Sequence[float]) -> dict[str, Any]:
    return {
        f"{prefix}_median_ms": round(statistics.median(times), 1),
        f"{prefix}_max_ms": round(max(times), 1),
        f"{prefix}_mean_hits": round(statistics.mean(found.values()), 2),
        f"{prefix}_currency_hits": found["currency conversion"],
        f"{prefix}_hits": found,
    }


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)


if __name__ == "__main__":
    main()
