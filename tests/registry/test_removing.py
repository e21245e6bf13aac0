"""Removing servers: what goes, what stays for others, and that only an import brings a server back."""

from functools import partial

import pytest
from sqlalchemy import select
from sqlmodel import col

from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.errors import UnknownNameError
from registry.documents.sources import ServerDocument
from registry.intake.importing import import_documents
from registry.intake.removing import Removal, remove_servers
from registry.search.query import SearchIndex
from registry.search.scope import SearchBy
from registry.search.vectors import update_vectors
from registry.store.database import Database
from registry.store.servers import ServerFilter, find_server, list_servers
from registry.store.tables import ToolRow, VectorRow
from registry.store.version import catalog_version, published_names

from plain_documents import prepare, server

pytestmark = pytest.mark.both_databases


async def store(database: Database, *documents: ServerDocument) -> None:
    await import_documents(database, documents, prepare=prepare)


async def remove(database: Database, *names: str) -> Removal:
    return await database.write(partial(remove_servers, names=names))


async def names_of(database: Database) -> list[str]:
    everything = partial(list_servers, where=ServerFilter(status=None))
    return [each.name for each in await database.read(everything)]


async def tool_names(database: Database) -> set[str]:
    return set(await database.read(lambda s: s.scalars(select(col(ToolRow.name))).all()))


async def test_a_removed_server_goes_with_its_own_tools_and_shared_ones_stay(
    database: Database,
) -> None:
    await store(database, server("a", "shared", "a_1", "a_2"), server("b", "shared", "b_1", "b_2"))
    await update_vectors(database, LexicalEmbedder())
    before = await database.read(catalog_version)
    removal = await remove(database, "a", "a")
    assert [each.name for each in removal.servers] == ["a"]
    assert (removal.dropped_tools, removal.kept_instead) == (2, ())
    assert await names_of(database) == ["b"]
    assert await database.read(published_names) == {"b"}
    assert await tool_names(database) == {"shared", "b_1", "b_2"}
    vectors = await database.read(lambda s: s.scalars(select(col(VectorRow.tool_hash))).all())
    assert len(vectors) == 3
    assert await database.read(catalog_version) == before + 1


async def test_importing_again_brings_it_back_as_it_was_and_each_tool_is_found_once(
    database: Database,
) -> None:
    documents = [server("a"), server("b")]
    await store(database, *documents)
    was = await database.read(partial(find_server, name="a"))
    await remove(database, "a")
    await store(database, server("b"), server("c"))
    assert await names_of(database) == ["b", "c"]
    await store(database, *documents)
    found = await database.read(partial(find_server, name="a"))
    assert (found.name, found.specs, found.status) == (was.name, was.specs, "kept")
    index = SearchIndex(database, LexicalEmbedder())
    answer = await index.search("find", limit=10, by=SearchBy.WORDS)
    assert sorted(hit.tool.name for hit in answer.hits) == ["a_find", "b_find", "c_find"]


async def test_what_repeated_a_removed_server_is_kept_instead(database: Database) -> None:
    tools = ("x_1", "x_2", "x_3")
    await store(database, server("a", *tools), server("b", *tools), server("c", *tools))
    assert await database.read(published_names) == {"a"}
    removal = await remove(database, "a")
    assert len(removal.kept_instead) == 1
    [kept] = removal.kept_instead
    assert await database.read(published_names) == {kept}
    others = [name for name in await names_of(database) if name != kept]
    [other] = [await database.read(partial(find_server, name=name)) for name in others]
    assert other.detail.endswith(f"those of {kept}")
    assert removal.dropped_tools == 0
    found = await database.read(partial(find_server, name=kept))
    assert [each.status for each in found.tools] == ["kept"] * 3


async def test_a_rejected_server_is_removed_by_the_name_of_its_source(database: Database) -> None:
    await store(database, server("org.example/small", "one", name="Small"), server("b"))
    removal = await remove(database, "org.example/small")
    assert [each.title for each in removal.servers] == ["Small"]
    assert await names_of(database) == ["b"]


async def test_where_one_name_is_unknown_nothing_is_removed(database: Database) -> None:
    await store(database, server("harbour"), server("garden"))
    with pytest.raises(UnknownNameError, match="did you mean harbour"):
        await remove(database, "garden", "harbor")
    assert await names_of(database) == ["garden", "harbour"]
