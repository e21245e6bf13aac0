"""Each version of a tool is embedded once for each model, and what was embedded is kept."""

from collections.abc import Sequence

import numpy as np
import pytest

from astra_mcp.embedding import Vectors
from astra_mcp.embedding.lexical import DIMENSIONS, LexicalEmbedder
from astra_mcp.embedding.tool_text import tool_text
from astra_mcp.errors import ModelError, ModelFault, RegistryError
from registry.documents.sources import Provenance
from registry.search import vectors
from registry.search.scope import Scope
from registry.search.vectors import load_vectors, update_vectors
from registry.store.database import Database
from registry.store.tables import VectorRow

from stored_rows import hash_of
from stored_tools import spec, store_server

TOOLS = [spec(f"tool_{number}", f"Does the thing number {number}.") for number in range(7)]


class FakeEmbedder:
    """Embeds a text as its length; fails at a text, or answers something else, where it is told to."""

    def __init__(self, model: str = "fake", *, dimensions: int = 3) -> None:
        self.model = model
        self.dimensions = dimensions
        self.texts: list[str] = []
        self.failing: str | None = None
        self.answer: Vectors | None = None

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        if self.failing in texts:
            raise ModelError("the endpoint is down", ModelFault.UNREACHABLE)
        self.texts += texts
        if self.answer is not None:
            return self.answer
        return np.array([[len(text)] * self.dimensions for text in texts], dtype=np.float32)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_BATCH", 2)
    monkeypatch.setattr(vectors, "_ROWS_AT_ONCE", 2)


async def test_every_tool_is_embedded_by_its_document_and_only_once(database: Database) -> None:
    await store_server(database, "one", TOOLS[:5])
    await store_server(database, "two", TOOLS[3:])
    embedder = FakeEmbedder()
    heard: list[tuple[int, int]] = []

    def hear(done: int, total: int) -> None:
        heard.append((done, total))

    assert await update_vectors(database, embedder, hear=hear) == 7
    assert sorted(embedder.texts) == sorted(map(tool_text, TOOLS))
    assert heard == [(2, 7), (4, 7), (6, 7), (7, 7)]
    assert await update_vectors(database, embedder) == 0
    assert len(embedder.texts) == 7


async def test_another_model_and_a_changed_tool_get_vectors_of_their_own(
    database: Database,
) -> None:
    await store_server(database, "one", TOOLS)
    await update_vectors(database, FakeEmbedder())
    assert await update_vectors(database, FakeEmbedder("other")) == 7
    changed = spec("tool_0", "Does something else.")
    await store_server(database, "two", [changed])
    embedder = FakeEmbedder()
    assert await update_vectors(database, embedder) == 1
    assert embedder.texts == [tool_text(changed)]


@pytest.mark.both_databases
async def test_what_was_embedded_before_a_failure_is_kept_and_the_rest_follows(
    database: Database,
) -> None:
    await store_server(database, "one", TOOLS)
    embedder = FakeEmbedder()
    embedder.failing = tool_text(sorted(TOOLS, key=hash_of)[4])
    with pytest.raises(ModelError, match="the endpoint is down"):
        await update_vectors(database, embedder)
    assert len((await load_vectors(database, "fake")).hashes) == 4
    embedder.failing = None
    assert await update_vectors(database, embedder) == 3
    assert len(embedder.texts) == 7


async def test_rejected_tools_are_not_embedded_and_crawled_ones_on_request(
    database: Database,
) -> None:
    await store_server(database, "live", TOOLS[:2])
    await store_server(database, "rejected", TOOLS[2:3], status="rejected")
    await store_server(database, "crawled", TOOLS[3:], provenance=Provenance.CRAWLED)
    embedder = FakeEmbedder()
    assert await update_vectors(database, embedder) == 2
    assert await update_vectors(database, embedder, Scope(provenance=None)) == 4


@pytest.mark.both_databases
async def test_vectors_are_read_as_they_were_written_in_the_order_of_their_tools(
    database: Database,
) -> None:
    await store_server(database, "one", TOOLS)
    await update_vectors(database, LexicalEmbedder())
    table = await load_vectors(database, LexicalEmbedder.model)
    assert list(table.hashes) == sorted(map(hash_of, TOOLS))
    expected = await LexicalEmbedder().embed([tool_text(t) for t in sorted(TOOLS, key=hash_of)])
    assert table.matrix.shape == (7, DIMENSIONS)
    assert (table.matrix == expected).all()


async def test_a_model_without_vectors_has_an_empty_table(database: Database) -> None:
    assert (await load_vectors(database, "none")).hashes == ()


async def test_vectors_of_two_lengths_under_one_name_are_refused(database: Database) -> None:
    await store_server(database, "one", TOOLS[:2])
    await update_vectors(database, FakeEmbedder())
    await store_server(database, "two", TOOLS[2:])
    with pytest.raises(RegistryError, match=r"'fake' answers 4 dimensions.* have 3"):
        await update_vectors(database, FakeEmbedder(dimensions=4))
    assert (await load_vectors(database, "fake")).matrix.shape == (2, 3)


@pytest.mark.both_databases
async def test_stored_vectors_of_two_lengths_are_refused(database: Database) -> None:
    await store_server(database, "one", TOOLS[:2])
    rows = [
        VectorRow(tool_hash=hash_of(tool), model="fake", vector=b"\0" * size)
        for tool, size in zip(TOOLS[:2], (12, 16), strict=True)
    ]
    await database.write(lambda session: session.add_all(rows))
    with pytest.raises(RegistryError, match="'fake' have between 3 and 4 dimensions"):
        await load_vectors(database, "fake")


async def test_an_answer_that_does_not_fit_the_texts_is_the_models_failure(
    database: Database,
) -> None:
    await store_server(database, "one", TOOLS)
    embedder = FakeEmbedder()
    for answer in (np.ones((1, 3)), np.ones(2), np.full((2, 3), np.nan)):
        embedder.answer = answer.astype(np.float32)
        with pytest.raises(ModelError, match="'fake' answered"):
            await update_vectors(database, embedder)
    assert (await load_vectors(database, "fake")).hashes == ()
