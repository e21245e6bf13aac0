"""The tools that distractors are chosen from are read as texts, with their vectors beside them."""

import pytest

from astra_mcp.domains import Domain
from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.embedding.tool_text import tool_text
from registry.documents.sources import Provenance
from registry.search import vectors
from registry.search import vectors as module
from registry.search.vectors import LiveTool, live_tools, read_vectors, update_vectors
from registry.store.database import Database

from stored_rows import hash_of
from stored_tools import spec, store_server

TOOLS = [spec(f"tool_{number}", f"Does the thing number {number}.") for number in range(6)]


async def read(database: Database, *servers: str) -> list[LiveTool]:
    return await database.read(lambda session: list(live_tools(session, servers)))


@pytest.mark.both_databases
async def test_tools_come_by_the_names_of_their_servers_and_their_places_there(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SERVERS_AT_ONCE", 1)
    await store_server(database, "b", TOOLS[:2], domain=Domain.WEATHER)
    await store_server(database, "B", [TOOLS[3], TOOLS[2]])
    await store_server(database, "a", TOOLS[3:4])
    found = await read(database, "b", "a", "B", "unknown")
    assert [(tool.server, tool.name) for tool in found] == [
        *(("B", "tool_3"), ("B", "tool_2"), ("a", "tool_3"), ("b", "tool_0"), ("b", "tool_1")),
    ]
    assert found[3] == LiveTool("b", "weather", "tool_0", hash_of(TOOLS[0]), tool_text(TOOLS[0]))
    assert found[0].domain is None


async def test_neither_crawled_nor_rejected_servers_nor_those_that_were_not_named_have_any(
    database: Database,
) -> None:
    await store_server(database, "live", TOOLS[:1])
    await store_server(database, "other", TOOLS[1:2])
    await store_server(database, "crawled", TOOLS[2:3], provenance=Provenance.CRAWLED)
    await store_server(database, "rejected", TOOLS[3:4], status="rejected")
    found = await read(database, "live", "crawled", "rejected")
    assert [tool.name for tool in found] == ["tool_0"]


async def test_vectors_of_some_tools_are_read_without_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_READ_AT_ONCE", 2)
    await store_server(database, "live", TOOLS[:5])
    embedder = LexicalEmbedder()
    await update_vectors(database, embedder)
    wanted = [*map(hash_of, TOOLS[1:4]), hash_of(TOOLS[5])]

    found = await database.read(lambda session: dict(read_vectors(session, embedder.model, wanted)))
    assert set(found) == set(wanted[:3])
    expected = await embedder.embed(list(map(tool_text, TOOLS[1:4])))
    for tool, vector in zip(wanted, expected, strict=False):
        assert (found[tool] == vector).all()
    assert not await database.read(lambda session: list(read_vectors(session, "other", wanted)))
