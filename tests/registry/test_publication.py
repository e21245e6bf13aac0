"""What a catalog publishes: versions that say what the documents hold, and nothing of when or where."""

from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from registry.documents.sources import Provenance, ServerDocument
from registry.intake.importing import import_documents
from registry.published.publication import Publication, find_publication, load_published_server
from registry.store.database import Database
from registry.store.tables import ServerRow, table_of
from registry.store.version import lock_catalog, next_version

from plain_documents import prepare, server, tool


async def published(
    database: Database, *documents: ServerDocument, crawled: bool = False
) -> Publication:
    await import_documents(database, documents, prepare=prepare)
    return await database.read(lambda session: find_publication(session, crawled=crawled))


CRAWLED = server("pages", provenance=Provenance.CRAWLED)


@pytest.mark.both_databases
async def test_kept_servers_are_published_by_name_with_the_number_of_their_kept_tools(
    database: Database,
) -> None:
    listed = ("find", "make", "drop", tool("vague", description=None))
    documents = (server("b"), server("a", *listed), server("small", "one"), CRAWLED)
    found = await published(database, *documents)
    assert {name: s.num_tools for name, s in found.servers.items()} == {"a": 3, "b": 3}
    assert list(found.servers) == ["a", "b"]
    found = await published(database, crawled=True)
    assert set(found.servers) == {"a", "b", "pages"}
    assert found.version == 1


async def test_the_same_documents_have_the_same_version_whatever_else_changed(
    database: Database,
) -> None:
    before = (await published(database, server("a"), server("b"))).servers["a"]
    # Found elsewhere, with one more tool that is rejected: what is published is the same.
    names = [t.name for t in server("a").tools]
    vague = tool("vague", description=None)
    other = server("a", *names, vague, origin={"url": "https://elsewhere.example"})
    after = await published(database, other)
    assert after.servers["a"] == before


@pytest.mark.parametrize(
    "changed",
    [
        server("a", name="A"),
        server("a", description="Another service altogether."),
        server("a", "a_find", "a_make", "a_drop", "a_more"),
        server("a", "a_make", "a_find", "a_drop"),
    ],
    ids=["title", "description", "tool", "order"],
)
async def test_documents_that_say_something_else_have_another_version(
    database: Database, changed: ServerDocument
) -> None:
    before = await published(database, server("a"))
    after = await published(database, changed)
    assert before.servers.keys() == after.servers.keys() == {"a"}
    assert before.servers["a"].version != after.servers["a"].version


async def test_a_domain_that_is_found_later_is_another_version(database: Database) -> None:
    before = await published(database, server("a"))

    def label(session: Session) -> None:
        lock_catalog(session)
        values = {"revision": next_version(session), "domain": "weather"}
        session.execute(update(table_of(ServerRow)).values(**values))

    await database.write(label)
    after = await published(database)
    assert before.servers["a"].domain is None
    assert after.servers["a"].domain == "weather"
    assert before.servers["a"].version != after.servers["a"].version


async def test_one_server_is_loaded_with_the_version_that_is_published(database: Database) -> None:
    found = await published(database, server("a"), server("small", "one"), CRAWLED)

    async def load(name: str, *, crawled: bool = False) -> Any:
        return await database.read(
            lambda session: load_published_server(session, name, crawled=crawled)
        )

    stored, version = await load("a")
    assert version == found.servers["a"].version
    assert [t.name for t in stored.specs] == ["a_find", "a_make", "a_drop"]
    for name in ("small", "pages", "unknown"):
        assert await load(name) is None
    assert await load("pages", crawled=True) is not None
