"""What is searched for among the tools of real documents is found: by words, by vectors and by both."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astra_mcp.embedding.lexical import LexicalEmbedder
from registry.documents.sources import Provenance, ServerDocument
from registry.importers import toucan
from registry.intake.importing import import_documents
from registry.search.query import SearchIndex
from registry.search.scope import Scope, SearchBy
from registry.search.vectors import live_tools, update_vectors
from registry.store.database import Database, open_database

from real_documents import TOUCAN, prepare_once, real_data
from search_queries import Kind, answers_of, read_queries, recall

pytestmark = pytest.mark.timeout(300)
"""The import of all documents counts as part of the first test."""

TOPICS = {
    "currency conversion": r"currenc|exchange.?rate|forex",
    "weather forecast": r"weather|forecast",
    "查询天气": r"weather|forecast|天气",
    "stock price": r"stock|quote|share",
    "汇率": r"currenc|exchange|forex|汇率",
    "bitcoin price": r"bitcoin|btc|crypto|coin",
    "take a screenshot": r"screenshot",
    "search academic papers": r"paper|arxiv|pubmed|scholar",
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the fixture below, which all tests of this module share."""
    return "asyncio"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(Scope(), id="live"),
        pytest.param(Scope(provenance=None), id="all", marks=pytest.mark.volume),
    ],
)
def scope(request: pytest.FixtureRequest) -> Scope:
    """Of the tools that are stored: of live servers, and of crawled ones as well."""
    return request.param


@pytest.fixture(scope="module")
async def database(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str, scope: Scope
) -> AsyncGenerator[Database]:
    """All tools of the real documents."""
    documents = [
        document
        for document in toucan.read(real_data(TOUCAN))
        if isinstance(document, ServerDocument)
        and (scope.provenance is None or document.provenance is Provenance.LIVE)
    ]
    path: Path = tmp_path_factory.mktemp("real") / "registry.db"
    async with open_database(f"sqlite:///{path}") as database:
        await import_documents(database, documents, prepare=prepare_once)
        await update_vectors(database, LexicalEmbedder(), scope)
        yield database


@pytest.fixture(scope="module")
def index(database: Database) -> SearchIndex:
    """An index of them."""
    return SearchIndex(database, LexicalEmbedder())


@pytest.mark.parametrize("by", SearchBy)
async def test_half_of_the_first_hits_concern_what_was_searched_for(
    index: SearchIndex, scope: Scope, by: SearchBy
) -> None:
    found: dict[str, int] = {}
    for query, words in TOPICS.items():
        answer = await index.search(query, by=by, scope=scope, limit=10)
        texts = [f"{hit.tool.name} {hit.tool.description}".lower() for hit in answer.hits]
        found[query] = sum(re.search(words, text) is not None for text in texts)
        assert answer.embedded == answer.searched
    assert {query: count for query, count in found.items() if count < 5} == {}


_LEAST_RECALL = {Kind.QUESTION: 0.6, Kind.SHORT: 0.8}
"""Of the tools that answer a query, among the first 10; docs/search.md has the figures."""


async def test_what_answers_whole_questions_and_short_queries_is_among_the_first_hits(
    database: Database, index: SearchIndex, scope: Scope
) -> None:
    if scope != Scope():
        pytest.skip("the queries' answers were sought among live tools")
    queries = [query for query in read_queries() if query.part == "held-out"]
    servers = {tool.partition("/")[0] for query in queries for tool in query.tools}
    stored = await database.read(lambda session: tuple(live_tools(session, servers)))
    hashes = {f"{tool.server}/{tool.name}": tool.hash for tool in stored}
    recalls: dict[Kind, list[float]] = {kind: [] for kind in Kind}
    for query in queries:
        answer = await index.search(query.text, scope=scope)
        found = [hit.hash for hit in answer.hits]
        recalls[query.kind].append(recall(found, answers_of(query, hashes), 10))
    means = {kind: sum(values) / len(values) for kind, values in recalls.items()}
    assert {kind: mean for kind, mean in means.items() if mean < _LEAST_RECALL[kind]} == {}
