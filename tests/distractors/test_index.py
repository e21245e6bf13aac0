"""The bands of a tool are computed once for its document, a pool and a model, beside everything else."""

import gc
import threading
import tracemalloc
from collections.abc import Sequence

import anyio
import numpy as np
import pytest

from astra_mcp.distractors import index as module
from astra_mcp.distractors.index import BandIndex, build_index
from astra_mcp.distractors.pool import Pool
from astra_mcp.distractors.similarity import BITS, Band, Floats, Membership, cosines
from astra_mcp.domains import Domain
from astra_mcp.embedding import Vectors
from astra_mcp.errors import ModelError

from vector_pools import FakeEmbedder, document_of, in_scope, pool_of, pool_tool

PATIENCE_SECONDS = 10
VECTORS = {"east": (1, 0), "north": (0, 1), "northeast": (1, 1), "west": (-1, 0)}
HIGH, MEDIUM, LOW = (BITS[band] for band in Band)


def labelled_pool() -> Pool:
    return pool_of(dict.fromkeys(VECTORS, Domain.SPORTS))


async def index_of(
    pool: Pool, embedder: FakeEmbedder | None = None, *, remembered_bytes: int = 1 << 20
) -> BandIndex:
    rows = [VECTORS[tool.name] for tool in pool.tools]
    return await build_index(
        pool,
        np.array(rows, dtype=np.float32).reshape(len(rows), 2),
        embedder or FakeEmbedder(),
        remembered_bytes=remembered_bytes,
    )


class Rows:
    """Counts the rows that are computed, and in which threads; they wait where they are told to."""

    def __init__(self) -> None:
        self.computed = 0
        self.threads: set[int] = set()
        self.started = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self, asked: Vectors, vectors: Vectors, lengths: Floats) -> Floats:
        self.computed += len(asked)
        self.threads.add(threading.get_ident())
        self.started.set()
        assert self.may_end.wait(PATIENCE_SECONDS)
        return cosines(asked, vectors, lengths)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    """What computes the rows."""
    counted = Rows()
    monkeypatch.setattr(module, "cosines", counted)
    return counted


async def test_a_tool_of_the_pool_is_in_no_band_of_its_own_and_is_not_embedded_again() -> None:
    embedder = FakeEmbedder()
    index = await index_of(labelled_pool(), embedder)
    [found] = await index.memberships([in_scope("east")])
    # Cosines: north 0, northeast 0.71, west -1; normalised 0.59, 1, 0.
    assert list(index.pool.places) == ["east", "north", "northeast", "west"]
    assert found.tolist() == [0, MEDIUM, HIGH, LOW]
    assert embedder.texts == []


async def test_a_tool_that_is_not_in_the_pool_is_embedded_and_compared_with_all_of_it() -> None:
    embedder = FakeEmbedder({document_of("up"): (1, 0.1)})
    index = await index_of(labelled_pool(), embedder)
    [found] = await index.memberships([in_scope("up")])
    assert found.tolist() == [HIGH, MEDIUM, HIGH, LOW]
    assert embedder.texts == [document_of("up")]


async def test_a_tool_that_stands_in_the_pool_otherwise_is_compared_by_its_own_document() -> None:
    """The other tool of its name is no candidate and does not count for the least and the most."""
    embedder = FakeEmbedder({"other words": (0, 1)})
    index = await index_of(labelled_pool(), embedder)
    [found] = await index.memberships([in_scope("north", document="other words")])
    # Cosines: east 0, northeast 0.71, west 0.
    assert found.tolist() == [LOW, 0, HIGH, LOW]


async def test_bands_are_remembered_by_the_document_for_each_pool_and_model(rows: Rows) -> None:
    embedder = FakeEmbedder({"words": (1, 0), "other words": (1, 0)})
    index = await index_of(labelled_pool(), embedder)
    tool, changed = in_scope("up", document="words"), in_scope("up", document="other words")
    first = await index.memberships([tool, tool])
    assert (await index.memberships([tool]))[0] is first[0] is first[1]
    assert rows.computed == 1
    await index.memberships([tool, changed])
    assert rows.computed == 2
    smaller = await index_of(pool_of({"east": None, "north": None}), embedder)
    [found] = await smaller.memberships([tool])
    assert found.tolist() == [HIGH, LOW]
    elsewhere = await index_of(labelled_pool(), FakeEmbedder({"words": (-1, 0)}))
    [found] = await elsewhere.memberships([tool])
    assert found.tolist() != first[0].tolist()


async def test_what_was_not_asked_for_longest_is_forgotten(rows: Rows) -> None:
    embedder = FakeEmbedder({document_of(name): (1, 0) for name in "abc"})
    index = await index_of(labelled_pool(), embedder, remembered_bytes=2 * len(VECTORS))
    a, b, c = (in_scope(name) for name in "abc")
    for tool in (a, b, a, c):
        await index.memberships([tool])
    assert rows.computed == 3
    await index.memberships([a, c])
    assert rows.computed == 3
    await index.memberships([b])
    assert rows.computed == 4
    assert len(await index.memberships([a, b, c])) == 3, "more than is remembered"


async def test_rows_are_computed_in_batches_beside_the_event_loop(
    rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TOOLS_AT_ONCE", 2)
    rows.may_end.clear()
    names = ["east", "north", "west"]
    index = await index_of(labelled_pool())
    found: list[list[Membership]] = []

    async def ask() -> None:
        found.append(await index.memberships([in_scope(name) for name in names]))

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.to_thread.run_sync(rows.started.wait)
            assert not found, "the loop goes on while a thread computes"
            rows.may_end.set()
    assert threading.get_ident() not in rows.threads
    assert rows.computed == 3
    expected = [(await index.memberships([in_scope(name)]))[0].tolist() for name in names]
    assert [row.tolist() for row in found[0]] == expected


async def asked_at_once(
    index: BandIndex, embedder: FakeEmbedder, scopes: Sequence[Sequence[str]]
) -> list[list[Membership] | ModelError]:
    """Ask for several scopes while the first one's tools are being embedded."""
    answers: dict[int, list[Membership] | ModelError] = {}

    async def ask(number: int, names: Sequence[str]) -> None:
        try:
            answers[number] = await index.memberships([in_scope(name) for name in names])
        except ModelError as error:
            answers[number] = error

    embedder.may_answer = anyio.Event()
    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as group:
            for number, names in enumerate(scopes):
                group.start_soon(ask, number, names)
            await embedder.asked.wait()
            await anyio.wait_all_tasks_blocked()
            embedder.may_answer.set()
    return [answers[number] for number in range(len(scopes))]


async def test_whoever_asks_for_one_tool_at_once_shares_its_computation(rows: Rows) -> None:
    embedder = FakeEmbedder({document_of(name): (1, 0) for name in "abc"})
    index = await index_of(labelled_pool(), embedder)
    answers = await asked_at_once(index, embedder, [["a"], ["a", "b"], ["b", "c", "a"]])
    assert [len(answer) for answer in answers if isinstance(answer, list)] == [1, 2, 3]
    assert sorted(embedder.texts) == [document_of(name) for name in "abc"]
    assert rows.computed == 3


async def test_a_failure_is_shared_and_not_remembered() -> None:
    embedder = FakeEmbedder({document_of("a"): (1, 0)})
    embedder.is_failing = True
    index = await index_of(labelled_pool(), embedder)
    answers = await asked_at_once(index, embedder, [["a"], ["a"], ["a"]])
    assert [str(answer) for answer in answers] == ["the endpoint is down"] * 3
    assert len(embedder.texts) == 1
    embedder.is_failing = False
    assert len(await index.memberships([in_scope("a")])) == 1


async def test_where_one_is_cancelled_the_next_takes_over() -> None:
    embedder = FakeEmbedder({document_of("a"): (1, 0)})
    embedder.may_answer = anyio.Event()
    index = await index_of(labelled_pool(), embedder)
    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as waiting:
            async with anyio.create_task_group() as first:
                first.start_soon(index.memberships, [in_scope("a")])
                await embedder.asked.wait()
                waiting.start_soon(index.memberships, [in_scope("a")])
                await anyio.wait_all_tasks_blocked()
                first.cancel_scope.cancel()
            await anyio.wait_all_tasks_blocked()
            assert len(embedder.texts) == 2
            embedder.may_answer.set()


async def test_vectors_that_do_not_fit_are_the_models_failure() -> None:
    pool, embedder = labelled_pool(), FakeEmbedder({"short": (1,), "broken": (float("nan"), 1)})
    for vectors in (np.ones((3, 2)), np.ones(4), np.full((4, 2), np.inf)):
        with pytest.raises(ModelError, match="'fake' answered"):
            await build_index(pool, vectors.astype(np.float32), embedder)
    index = await index_of(pool, embedder)
    for document in ("short", "broken"):
        with pytest.raises(ModelError, match="'fake' answered vectors"):
            await index.memberships([in_scope("x", document=document)])


async def test_an_empty_pool_needs_no_vectors() -> None:
    index = await index_of(Pool([]))
    eligible = index.pool.eligible([])
    found = await index.choose([in_scope("a")], eligible=eligible, k=1, seed=0)
    assert found.shortfall == {"high": 1, "medium": 1, "low": 1}


async def test_the_pools_own_tools_are_chosen_by_band_and_domain() -> None:
    sports = dict.fromkeys(["east", "north"], Domain.SPORTS)
    index = await index_of(pool_of({**sports, "northeast": Domain.LEGAL, "west": None}))
    scope = [in_scope("east", Domain.SPORTS)]
    found = await index.choose(scope, eligible=index.pool.eligible(["east"]), k=1, seed=0)
    assert [(c.tool.name, c.band) for c in found.chosen] == [("northeast", Band.HIGH)]
    assert found.shortfall == {"medium": 1, "low": 1}


async def test_neither_building_nor_asking_makes_anything_of_all_pairs() -> None:
    """M * M bytes would be 16 MB; the vectors, which the caller holds, are 1 MB."""
    size = 4000
    pool = Pool([pool_tool(f"tool{number:04}") for number in range(size)])
    vectors = np.random.default_rng(3).normal(size=(size, 64)).astype(np.float32)
    tools = [in_scope(tool.name) for tool in pool.tools[:200]]
    gc.collect()
    tracemalloc.start()
    try:
        index = await build_index(pool, vectors, FakeEmbedder(), remembered_bytes=1 << 20)
        _, built = tracemalloc.get_traced_memory()
        await index.memberships(tools)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert built < 6 << 20
    assert peak < 12 << 20
