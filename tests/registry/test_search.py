"""Stored tools are found by their words, by their vectors and by both, on either database."""

from collections.abc import Sequence

import pytest

from astra_mcp.domains import Domain
from astra_mcp.embedding import Vectors
from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.errors import RegistryError
from registry.documents.sources import Provenance
from registry.search import query as search
from registry.search.query import SearchIndex
from registry.search.scope import Scope, SearchAnswer, SearchBy
from registry.search.vectors import update_vectors
from registry.store.database import Database

from stored_tools import spec, store_server

MONEY = [
    spec("convert_currency", "Converts an amount into another currency.", "amount", "to"),
    spec("list_currencies", "Lists what the exchange trades.", "page"),
    spec("open_account", "Opens an account at the bank.", "currency"),
]
WEATHER = [
    spec("getForecast", "Weather forecast of the next days for a city.", "city"),
    spec("air_quality", "查询城市的空气质量", "城市"),
    spec("rain_radar", "Shows where it rains; 3D maps, 1e5 points.", "area"),
]
CODE = [
    spec("GitHubIssues", "Lists issues of a repository.", "repository"),
    spec("run_query", "Runs a query.", "sql"),
    spec("news_feed", "What people talk about.", "topic"),
]


@pytest.fixture
async def index(database: Database) -> SearchIndex:
    """An index of three servers."""
    await store_server(database, "money", MONEY, domain=Domain.FINANCE)
    await store_server(database, "weather", WEATHER, domain=Domain.WEATHER, language="zh")
    await store_server(database, "code", CODE, domain=Domain.DEVELOPER_TOOLS)
    await update_vectors(database, LexicalEmbedder())
    return SearchIndex(database, LexicalEmbedder())


def names(answer: SearchAnswer) -> list[str]:
    return [hit.tool.name for hit in answer.hits]


FIRST = {
    "currency conversion": "convert_currency",
    "converting currencies": "convert_currency",
    "forecast for the weather": "getForecast",
    "查询天气": "getForecast",
    "空气质量": "air_quality",
    "github issue": "GitHubIssues",
    "GITHUB": "GitHubIssues",
    "新闻": "news_feed",
    "3d maps": "rain_radar",
    "sql": "run_query",
}


@pytest.mark.both_databases
async def test_the_tool_that_fits_is_first(index: SearchIndex) -> None:
    for by in SearchBy:
        answers = {query: await index.search(query, by=by) for query in FIRST}
        assert {query: names(answer)[0] for query, answer in answers.items()} == FIRST
        for answer in answers.values():
            scores = [hit.score for hit in answer.hits]
            assert scores == sorted(scores, reverse=True)


@pytest.mark.both_databases
async def test_a_word_counts_by_where_it_stands(index: SearchIndex) -> None:
    found = await index.search("currency", by=SearchBy.WORDS)
    assert names(found) == ["convert_currency", "list_currencies", "open_account"]


@pytest.mark.both_databases
async def test_rare_words_count_more_than_frequent_ones(
    index: SearchIndex, database: Database
) -> None:
    many = [spec(f"list_{number}", "Lists and lists again.") for number in range(20)]
    await store_server(database, "lists", many)
    found = await index.search("list issues", by=SearchBy.WORDS, limit=1)
    assert names(found) == ["GitHubIssues"]


@pytest.mark.both_databases
async def test_of_equal_tools_the_one_is_ahead_whose_server_fits(database: Database) -> None:
    index = SearchIndex(database, LexicalEmbedder())
    assert (await index.search("before any server is stored")).hits == ()
    for name, about in {
        "press": "Prints what it is told.",
        "wiki": "Edits an encyclopedia.",
    }.items():
        tools = [spec(f"create_page_{name}", "Creates a page.", "text")]
        await store_server(database, f"some-{name}", tools, description=about)
    for words, first in {"page of an encyclopedia": "wiki", "page that it prints": "press"}.items():
        answer = await index.search(words, by=SearchBy.WORDS)
        assert names(answer)[0] == f"create_page_{first}"
        assert len(answer.hits) == 2


@pytest.mark.both_databases
async def test_a_question_finds_tools_that_say_it_in_other_words(index: SearchIndex) -> None:
    question = "Hello, could you please tell me how many yen 20 francs are this evening, my friend?"
    for by in SearchBy:
        found = names(await index.search(question, by=by))
        assert found[0] == "convert_currency"
        assert "rain_radar" not in found[:2]


@pytest.mark.both_databases
async def test_any_query_is_answered(index: SearchIndex) -> None:
    words = ["", "  ", "?!", "the", "zzyzx", "\0", "a" * 5000]
    for query in [*words, "' OR 1=1 --", '"*"', "name: NEAR("]:
        for by in SearchBy:
            assert (await index.search(query, by=by)).searched == 9


async def test_a_query_that_fits_nothing_finds_nothing_by_words(index: SearchIndex) -> None:
    assert (await index.search("zzyzx", by=SearchBy.WORDS)).hits == ()
    assert (await index.search("?!")).hits == ()


async def test_the_limit_holds_and_what_was_searched_is_counted(index: SearchIndex) -> None:
    answer = await index.search("currency weather query", limit=2)
    assert len(answer.hits) == 2
    assert (answer.searched, answer.embedded) == (9, 9)


@pytest.mark.both_databases
async def test_only_tools_in_scope_are_found(index: SearchIndex) -> None:
    scopes = {
        Scope(domain=Domain.WEATHER): 3,
        Scope(language="zh"): 3,
        Scope(server="weather"): 3,
        Scope(source="another"): 0,
        Scope(server="weather", language="en"): 0,
        Scope(domain=Domain.SPORTS): 0,
    }
    for scope, searched in scopes.items():
        for by in SearchBy:
            answer = await index.search("currency forecast query", by=by, scope=scope)
            assert answer.searched == searched
            assert names(answer)[:1] == ["getForecast"][:searched]
            assert {server for hit in answer.hits for server in hit.servers} <= {"weather"}


async def test_crawled_tools_are_found_on_request_and_rejected_ones_never(
    index: SearchIndex, database: Database
) -> None:
    tools = [spec("exchange_currency", "Exchanges a currency.")]
    await store_server(database, "crawled", tools, provenance=Provenance.CRAWLED)
    tools = [spec("rejected_currency", "Exchanges a currency.")]
    await store_server(database, "rejected", tools, status="rejected")
    live = await index.search("exchange currency", by=SearchBy.WORDS)
    both = await index.search("exchange currency", by=SearchBy.WORDS, scope=Scope(provenance=None))
    crawled = Scope(provenance=Provenance.CRAWLED)
    assert "exchange_currency" not in names(live)
    assert "exchange_currency" in names(both)
    assert names(await index.search("exchange currency", scope=crawled)) == ["exchange_currency"]
    assert "rejected_currency" not in names(live) + names(both)


async def test_a_tool_of_several_servers_is_found_once_with_all_of_them_in_scope(
    index: SearchIndex, database: Database
) -> None:
    await store_server(database, "fork", MONEY, domain=Domain.E_COMMERCE)
    everywhere = await index.search("convert currency", limit=1)
    assert everywhere.hits[0].servers == ("fork", "money")
    assert everywhere.searched == 9
    forked = await index.search("convert currency", scope=Scope(domain=Domain.E_COMMERCE), limit=1)
    assert forked.hits[0].servers == ("fork",)


async def test_tools_without_a_vector_are_counted_and_found_by_words(
    index: SearchIndex, database: Database
) -> None:
    await index.search("currency")
    await store_server(database, "late", [spec("mint_currency", "Mints a currency.")])
    answer = await index.search("mint currency")
    assert (answer.searched, answer.embedded) == (10, 9)
    assert names(answer)[0] != "mint_currency"
    assert "mint_currency" in names(answer)
    assert "mint_currency" not in names(await index.search("mint currency", by=SearchBy.VECTORS))
    await update_vectors(database, LexicalEmbedder())
    answer = await index.search("mint currency")
    assert answer.embedded == 10
    assert names(answer)[0] == "mint_currency"


@pytest.mark.both_databases
async def test_a_tool_is_found_with_all_that_was_stored_of_it(database: Database) -> None:
    tool = spec("paint", "Paints a wall.").model_copy(
        update={"output_schema": {"type": "object"}, "extra": {"title": "Wall painter"}}
    )
    await store_server(database, "walls", [tool])
    answer = await SearchIndex(database, LexicalEmbedder()).search("painter")
    assert [hit.tool for hit in answer.hits] == [tool]


class FakeQueryEmbedder:
    """Goes by the name of the lexical one, cuts its vectors, and remembers what it was asked as a query."""

    model = LexicalEmbedder.model

    def __init__(self, dimensions: int | None = None) -> None:
        self.queries: list[str] = []
        self._dimensions = dimensions

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        self.queries += texts if as_query else ()
        return (await LexicalEmbedder().embed(texts))[:, : self._dimensions]


async def test_queries_are_embedded_as_queries_and_only_where_vectors_are_searched(
    index: SearchIndex, database: Database
) -> None:
    embedder = FakeQueryEmbedder()
    asking = SearchIndex(database, embedder)
    for by in SearchBy:
        await asking.search(by.value, by=by)
    assert embedder.queries == ["vectors", "both"]


async def test_an_embedder_that_answers_another_length_is_refused_with_the_remedy(
    index: SearchIndex, database: Database
) -> None:
    asking = SearchIndex(database, FakeQueryEmbedder(dimensions=3))
    with pytest.raises(RegistryError, match=r"answers 3 dimensions.*set models.embedding.revision"):
        await asking.search("currency")
    assert (await asking.search(" ")).hits == ()


async def test_more_hits_than_a_statement_holds_values_are_read(
    index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await index.search("currency weather query")
    monkeypatch.setattr(search, "_READ_AT_ONCE", 2)
    assert await index.search("currency weather query") == whole
    assert len(whole.hits) > 2
