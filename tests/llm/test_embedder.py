"""Vectors from an endpoint: in order, of one size and of length 1, or a failure."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from astra_mcp.addresses import bind, url_of
from astra_mcp.completions import FaultKind, FaultPlan, Refusal, open_completions
from astra_mcp.embedding import Embedder
from astra_mcp.errors import BudgetSpentError, ModelError, ModelFault
from astra_mcp.llm.config import EmbeddingConfig
from astra_mcp.llm.embedder import EndpointEmbedder, open_embedder
from astra_mcp.llm.usage import Budget, metered
from astra_mcp.serving.http.server import listen

Body = dict[str, Any]


@asynccontextmanager
async def an_embedder(
    answer: Callable[[Body], object], *, budget: Budget | None = None, **settings: Any
) -> AsyncGenerator[tuple[EndpointEmbedder, list[Body]]]:
    """Open an embedder at an endpoint that answers as it is told, and show what it was asked."""
    requests: list[Body] = []

    async def embed(request: Request) -> JSONResponse:
        requests.append(await request.json())
        return JSONResponse(answer(requests[-1]))

    app = Starlette(routes=[Route("/v1/embeddings", embed, methods=["POST"])])
    with bind("127.0.0.1", 0) as listener:
        async with listen(app, listener):
            config = EmbeddingConfig(model="m", base_url=url_of(listener, "/v1"), **settings)
            async with open_embedder(config, budget=budget) as embedder:
                yield embedder, requests


def lengths(body: Body, *, turned: bool = False) -> Body:
    """A vector of each text that points to where its length says."""
    rows = [
        {"index": index, "embedding": [float(len(text)), 1.0]}
        for index, text in enumerate(body["input"])
    ]
    return {"data": rows[::-1] if turned else rows, "usage": {"prompt_tokens": 5}}


async def test_vectors_stand_in_the_order_of_their_texts_whatever_the_batches() -> None:
    texts = ["x" * size for size in range(1, 8)]

    def turned(body: Body) -> Body:
        return lengths(body, turned=True)

    async with an_embedder(turned, batch_size=3) as (embedder, requests):
        satisfies: Embedder = embedder
        vectors = await satisfies.embed(texts)

    assert sorted(len(request["input"]) for request in requests) == [1, 3, 3]
    expected = np.array([[len(text), 1.0] for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)


async def test_blank_texts_are_not_sent_and_have_zero_vectors() -> None:
    async with an_embedder(lengths) as (embedder, requests):
        vectors = await embedder.embed(["", "word", " \n"])
        assert (await embedder.embed([])).shape == (0, 2)

    assert requests[0]["input"] == ["word"]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([0, 1, 0])


async def test_only_what_is_searched_with_carries_the_instruction() -> None:
    async with an_embedder(lengths, query_instruction="Find tools.") as (embedder, requests):
        await embedder.embed(["rates"])
        await embedder.embed(["rates"], as_query=True)

    assert [r["input"] for r in requests] == [["rates"], ["Instruct: Find tools.\nQuery:rates"]]


async def test_dimensions_are_asked_for_and_named() -> None:
    async with an_embedder(lengths, dimensions=2, revision="b") as (embedder, requests):
        await embedder.embed(["word"])
        assert embedder.model == "m/2#b"

    assert requests[0]["dimensions"] == 2


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="none"),
        pytest.param([{"index": 0, "embedding": [1.0, 0.0]}], id="one for two"),
        pytest.param([{"index": 0, "embedding": [1.0, 0.0]}] * 2, id="one twice"),
        pytest.param(
            [{"index": i, "embedding": [1.0, 0.0]} for i in (0, 2)], id="one of another text"
        ),
        pytest.param(
            [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 0.0]}],
            id="of two sizes",
        ),
        pytest.param([{"index": i, "embedding": [1.0] * 3} for i in (0, 1)], id="of another size"),
        pytest.param([{"index": i, "embedding": "AACAPw=="} for i in (0, 1)], id="in base64"),
        pytest.param([{"index": i, "embedding": [None, 1.0]} for i in (0, 1)], id="null"),
        pytest.param("words", id="a text"),
    ],
)
async def test_what_is_no_list_of_vectors_is_refused(rows: object) -> None:
    async with an_embedder(lambda _: {"data": rows}, dimensions=2) as (embedder, _):
        with pytest.raises(ModelError, match="the embedding model 'm'") as caught:
            await embedder.embed(["a", "b"])

    assert caught.value.fault is ModelFault.MALFORMED


async def test_vectors_of_another_size_than_before_are_refused() -> None:
    def answer(body: Body) -> Body:
        return {"data": [{"index": 0, "embedding": [1.0] * len(body["input"][0])}]}

    async with an_embedder(answer) as (embedder, _):
        await embedder.embed(["ab"])
        with pytest.raises(ModelError, match="vectors of 3 dimensions in place of 2"):
            await embedder.embed(["abc"])


async def test_a_batch_is_a_call_of_the_budget_and_of_the_account() -> None:
    budget = Budget(max_calls=2)

    async with an_embedder(lengths, budget=budget, batch_size=1, prompt_price=2.0) as (model, _):
        with metered() as meter:
            await model.embed(["a", "b"])
        with pytest.raises(BudgetSpentError):
            await model.embed(["c"])

    assert (meter.usage.calls, meter.usage.prompt_tokens) == (2, 10)
    assert budget.cost == meter.usage.cost == pytest.approx(10 * 2 / 1e6)


async def test_batches_under_way_end_when_the_budget_is_spent() -> None:
    budget = Budget(max_calls=2)

    async with an_embedder(lengths, budget=budget, batch_size=1) as (embedder, requests):
        with metered() as meter, pytest.raises(BudgetSpentError):
            await embedder.embed(["a", "b", "c", "d"])

    assert len(requests) == meter.usage.calls == budget.calls == 2
    assert meter.usage.prompt_tokens == 2 * 5


async def test_a_refused_answer_does_not_say_how_large_vectors_are() -> None:
    answers = [[[1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]

    def answer(_: Body) -> Body:
        rows = answers.pop(0)
        return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}

    async with an_embedder(answer) as (embedder, _):
        with pytest.raises(ModelError, match="vectors of 1, 2 dimensions"):
            await embedder.embed(["a", "b"])
        assert (await embedder.embed(["a", "b"])).shape == (2, 2)


async def test_vectors_without_numbers_are_refused() -> None:
    def answer(_: Body) -> Body:
        return {"data": [{"index": 0, "embedding": []}]}

    async with an_embedder(answer) as (embedder, _):
        with pytest.raises(ModelError, match=r"data\.0\.embedding") as caught:
            await embedder.embed(["a"])

    assert caught.value.fault is ModelFault.MALFORMED


async def test_a_faulty_endpoint_is_asked_until_every_text_has_its_vector() -> None:
    kinds = (FaultKind.SERVER_ERROR, FaultKind.CUT_BODY, FaultKind.HANG)
    texts = [f"text {number}" for number in range(40)]

    async def vectors_of(plan: FaultPlan | None) -> Any:
        async with open_completions(lambda _: Refusal(500, "no"), faults=plan) as server:
            config = EmbeddingConfig(
                model="m",
                base_url=server.base_url,
                batch_size=2,
                timeout_seconds=1.0,
                max_concurrency=20,
            )
            async with open_embedder(config) as embedder:
                return await embedder.embed(texts)

    whole = await vectors_of(None)
    assert np.array_equal(await vectors_of(FaultPlan.evenly(0.2, kinds, seed=1)), whole)
