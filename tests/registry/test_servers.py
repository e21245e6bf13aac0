"""Reading servers: by name, by filter, and what is published."""

from collections.abc import Sequence
from functools import partial

import pytest

from astra_mcp.errors import UnknownNameError
from registry.documents.sources import Provenance, ServerDocument
from registry.intake.importing import import_documents
from registry.store import servers
from registry.store.database import Database
from registry.store.servers import (
    ServerFilter,
    count_servers,
    find_server,
    list_servers,
    load_servers,
    page_of_servers,
    servers_of_tools,
    twins_of,
)
from registry.store.version import published_names

from plain_documents import prepare, server, tool

DOCUMENTS = (
    server("b-live"),
    server("a-live"),
    server("crawled", provenance=Provenance.CRAWLED),
    server("other", source="elsewhere"),
    server("small", "one", tool("silent", None)),
)


async def _import(database: Database, documents: Sequence[ServerDocument] = DOCUMENTS) -> None:
    await import_documents(database, documents, prepare=prepare)


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        (None, ["a-live", "b-live", "crawled", "other"]),
        (ServerFilter(provenance="crawled"), ["crawled"]),
        (ServerFilter(source="elsewhere"), ["other"]),
        (ServerFilter(status="rejected"), ["small"]),
        (ServerFilter(status=None, reason="too_few_tools"), ["small"]),
        (ServerFilter(status=None), ["a-live", "b-live", "crawled", "other", "small"]),
        (ServerFilter(language="en", source="elsewhere"), ["other"]),
        (ServerFilter(language="zh"), []),
        (ServerFilter(domain="weather"), []),
        (ServerFilter(words="LIVE"), ["a-live", "b-live"]),
        (ServerFilter(words="%"), []),
    ],
)
async def test_a_filter_finds_the_servers_that_it_means_in_the_order_of_their_names(
    database: Database, where: ServerFilter | None, keys: list[str]
) -> None:
    await _import(database)
    listed = await database.read(partial(list_servers, where=where))
    assert [s.key for s in listed] == keys
    assert await database.read(partial(count_servers, where=where)) == len(keys)


@pytest.mark.both_databases
async def test_a_list_is_read_in_parts(database: Database) -> None:
    await _import(database)
    first = await database.read(partial(list_servers, limit=3))
    rest = await database.read(partial(list_servers, after=first[-1].name, limit=3))
    parts = [[s.key for s in part] for part in (first, rest)]
    assert parts == [["a-live", "b-live", "crawled"], ["other"]]


async def test_servers_are_loaded_in_the_order_they_are_asked_for(database: Database) -> None:
    await _import(database)
    names = ["other", "none-of-this-name", "a-live"]
    loaded = await database.read(partial(load_servers, names=names))
    assert [s.name for s in loaded] == ["other", "a-live"]


async def test_more_servers_than_a_statement_names_are_loaded(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_BATCH_ROWS", 2)
    await _import(database, [server(f"server{i}") for i in range(5)])
    listed = await database.read(list_servers)
    assert [s.name for s in listed] == [f"server{i}" for i in range(5)]
    assert all(len(s.specs) == 3 for s in listed)


async def test_a_name_that_there_is_not_names_the_closest(database: Database) -> None:
    await _import(database)
    with pytest.raises(UnknownNameError, match="no server is named 'a-life'; did you mean a-live"):
        await database.read(partial(find_server, name="a-life"))


async def test_live_servers_are_published_and_crawled_ones_on_request(database: Database) -> None:
    await _import(database)
    assert await database.read(published_names) == {"a-live", "b-live", "other"}
    with_crawled = await database.read(partial(published_names, crawled=True))
    assert with_crawled == {"a-live", "b-live", "crawled", "other"}


@pytest.mark.both_databases
async def test_a_page_of_a_list_holds_a_part_and_counts_the_kept_tools(database: Database) -> None:
    await _import(database)
    everything = ServerFilter(status=None)
    pages = [
        await database.read(partial(page_of_servers, where=everything, offset=offset, limit=2))
        for offset in (0, 2, 4, 6)
    ]
    assert [[each.title for each in page] for page in pages] == [
        *(["a-live", "b-live"], ["crawled", "other"], ["small"], []),
    ]
    assert [each.num_tools for page in pages for each in page] == [3, 3, 3, 3, 0]
    assert pages[2][0].reason == "too_few_tools"
    found = ServerFilter(status=None, words="SMA")
    [small] = await database.read(partial(page_of_servers, where=found, offset=0, limit=9))
    assert small.title == "small"


@pytest.mark.both_databases
async def test_servers_with_the_same_tools_are_found_and_who_lists_a_tool(
    database: Database,
) -> None:
    same = ("x", "y", "z")
    await _import(database, [server("a", *same), server("b", *same), server("c", "x", "u", "v")])
    assert [twin.name for twin in await database.read(partial(twins_of, name="a", limit=9))] == [
        "b"
    ]
    assert await database.read(partial(twins_of, name="c", limit=9)) == ()
    first = (await database.read(partial(find_server, name="c"))).tools[0].tool_hash
    listed = await database.read(partial(servers_of_tools, hashes=[first or "", "none"]))
    assert listed == {first: ("a", "b", "c")}
