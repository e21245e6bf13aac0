"""Vectors from an endpoint: in order, of one size and of length 1, or a failure."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
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


def vectors(*rows: Any) -> Body:
    """An answer of these vectors."""
    return {"data": [{"index": index, "embedding": row} for index, row in enumerate(rows)]}


def lengths(body: Body) -> Body:
    """A vector of each text that points to where its length says; the last one comes first."""
    rows = vectors(*([float(len(text)), 1.0] for text in body["input"]))["data"]
    return {"data": rows[::-1], "usage": {"prompt_tokens": 5}}


async def test_vectors_stand_in_the_order_of_their_texts_whatever_the_batches() -> None:
    texts = ["x" * size for size in range(1, 8)]

    async with an_embedder(lengths, batch_size=3) as (embedder, requests):
        satisfies: Embedder = embedder
        found = await satisfies.embed(texts)

    assert sorted(len(request["input"]) for request in requests) == [1, 3, 3]
    expected = np.array([[len(text), 1.0] for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)


async def test_blank_texts_are_not_sent_and_have_zero_vectors() -> None:
    async with an_embedder(lengths) as (embedder, requests):
        found = await embedder.embed(["", "word", " \n"])
        assert (await embedder.embed([])).shape == (0, 2)

    assert requests[0]["input"] == ["word"]
    assert np.linalg.norm(found, axis=1) == pytest.approx([0, 1, 0])


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


async def test_what_is_no_vector_or_has_another_size_is_refused_and_says_no_size() -> None:
    answers = [
        vectors([]),
        vectors([1.0], [1.0, 0.0]),
        vectors([1.0, 0.0], [0.0, 1.0]),
        vectors([1.0, 0.0, 0.0]),
    ]

    async with an_embedder(lambda _: answers.pop(0)) as (embedder, _):
        with pytest.raises(ModelError, match=r"data\.0\.embedding") as caught:
            await embedder.embed(["a"])
        with pytest.raises(ModelError, match="vectors of 1, 2 dimensions"):
            await embedder.embed(["a", "b"])
        assert (await embedder.embed(["a", "b"])).shape == (2, 2)
        with pytest.raises(ModelError, match="vectors of 3 dimensions in place of 2"):
            await embedder.embed(["c"])

    assert caught.value.fault is ModelFault.MALFORMED


@pytest.mark.parametrize("texts", [["a", "b"], ["a", "b", "c", "d"]], ids=["fits", "is too much"])
async def test_a_batch_is_a_call_of_the_budget_and_those_under_way_end_when_it_is_spent(
    texts: list[str],
) -> None:
    budget, settings = Budget(max_calls=2), {"batch_size": 1, "prompt_price": 2.0}

    async with an_embedder(lengths, budget=budget, **settings) as (embedder, requests):
        with (
            metered() as meter,
            nullcontext() if len(texts) == 2 else pytest.raises(BudgetSpentError),
        ):
            await embedder.embed(texts)
        with pytest.raises(BudgetSpentError):
            await embedder.embed(["e"])

    assert len(requests) == meter.usage.calls == budget.calls == 2
    assert meter.usage.prompt_tokens == 2 * 5
    assert budget.cost == meter.usage.cost == pytest.approx(10 * 2 / 1e6)


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
