"""Faults on demand: each kind as the real client meets it, and a plan that depends on content alone."""

import re
import time
from contextlib import AbstractAsyncContextManager
from email.utils import parsedate_to_datetime

import anyio
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from astra_mcp.completions import (
    Answer,
    CompletionRequest,
    FaultKind,
    FaultPlan,
    Policy,
    content_id,
)

from completions_client import KEY, SCHEMA, Endpoint, echo, open_endpoint, wanting


def failing(
    kind: FaultKind, policy: Policy = echo, **more: float
) -> AbstractAsyncContextManager[Endpoint]:
    """An endpoint of which every request fails in one way."""
    return open_endpoint(policy, faults=FaultPlan.model_validate({"shares": {kind: 1.0}, **more}))


async def refused(endpoint: Endpoint) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as caught:
        await endpoint.ask("Hello.")
    return caught.value


async def test_a_limit_names_the_seconds_to_wait() -> None:
    async with failing(FaultKind.RATE_LIMITED, retry_after_seconds=7) as endpoint:
        error = await refused(endpoint)

    assert error.status_code == 429
    assert error.response.headers["retry-after"] == "7"


async def test_a_limit_names_the_time_to_come_back() -> None:
    async with failing(FaultKind.RATE_LIMITED_UNTIL, retry_after_seconds=60) as endpoint:
        before = time.time()
        error = await refused(endpoint)
        after = time.time()

    assert error.status_code == 429
    until = parsedate_to_datetime(error.response.headers["retry-after"]).timestamp()
    assert before + 60 <= until <= after + 61


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [(FaultKind.SERVER_ERROR, 500, "planned fault"), (FaultKind.KEY_ECHO, 401, KEY)],
)
async def test_an_error_has_its_status_and_may_repeat_the_key(
    kind: FaultKind, status: int, words: str
) -> None:
    async with failing(kind) as endpoint:
        error = await refused(endpoint)

    assert error.status_code == status
    assert words in error.message


async def test_a_request_that_hangs_is_counted_and_let_go_when_the_client_leaves() -> None:
    async with failing(FaultKind.HANG) as endpoint:
        ledger = endpoint.server.ledger
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(endpoint.ask, "Hello.")
                await ledger.wait_in_flight(1)
                group.cancel_scope.cancel()
            while ledger.in_flight:
                await anyio.wait_all_tasks_blocked()

    assert ledger.total.faults == {FaultKind.HANG: 1}


async def test_a_trickle_outlasts_the_deadline_of_every_read() -> None:
    async with (
        failing(FaultKind.TRICKLE, pause_seconds=0.01) as endpoint,
        httpx.AsyncClient(timeout=5) as client,
    ):
        url = f"{endpoint.server.base_url}/chat/completions"
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
        async with client.stream("POST", url, json=body) as answer:
            assert answer.status_code == 200
            assert "content-length" not in answer.headers
            pieces = answer.aiter_raw()
            first = [await anext(pieces) for _ in range(3)]

    assert all(not piece.strip() for piece in first)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_slow_answer_comes_whole(is_stream: bool) -> None:
    async with failing(FaultKind.SLOW, pause_seconds=0.001) as endpoint:
        text = await said(endpoint, is_stream=is_stream)

    assert text == "echo: Hello."
    total = endpoint.server.ledger.total
    assert (total.answers, total.faults) == (1, {FaultKind.SLOW: 1})


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_body_breaks_off_with_its_connection(is_stream: bool) -> None:
    async with failing(FaultKind.CUT_BODY) as endpoint:
        with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
            await said(endpoint, is_stream=is_stream)

    assert endpoint.server.ledger.total.answers == 0


@pytest.mark.parametrize(
    ("kind", "reason", "words"),
    [
        (FaultKind.CUT_ANSWER, "length", re.escape('{"n": ')),
        (FaultKind.NOT_JSON_CONTENT, "stop", "[^{]*"),
    ],
)
async def test_an_answer_breaks_off_at_its_limit_or_is_prose_in_place_of_a_document(
    kind: FaultKind, reason: str, words: str
) -> None:
    async with failing(kind, lambda _: Answer(content={"n": 12345})) as endpoint:
        completion = await endpoint.ask("How many?", **wanting(SCHEMA))

    assert completion.choices[0].finish_reason == reason
    assert re.fullmatch(words, completion.choices[0].message.content)


async def test_a_body_is_a_page_and_no_document() -> None:
    async with failing(FaultKind.NOT_JSON_BODY) as endpoint:
        answer = await endpoint.client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "Hello."}]
        )

    assert answer.status_code == 200
    assert answer.text.startswith("<html>")


async def test_an_answer_has_no_choices() -> None:
    async with failing(FaultKind.NO_CHOICES) as endpoint:
        assert (await endpoint.ask("Hello.")).choices == []
        with pytest.raises(ValueError, match="No embedding data"):
            await endpoint.client.embeddings.create(model="m", input="Hello.")


async def test_embeddings_fail_in_every_way_but_those_of_words() -> None:
    for kind in (FaultKind.CUT_ANSWER, FaultKind.NOT_JSON_CONTENT):
        async with failing(kind) as endpoint:
            assert (await endpoint.client.embeddings.create(model="m", input="Hello.")).data
        assert endpoint.server.ledger.total.faults == {}
    async with failing(FaultKind.SERVER_ERROR) as endpoint:
        with pytest.raises(openai.InternalServerError):
            await endpoint.client.embeddings.create(model="m", input="Hello.")


async def test_an_answer_that_was_spoiled_goes_to_the_next_request_and_the_policy_is_asked_once() -> (
    None
):
    asked: list[int] = []

    def policy(request: CompletionRequest) -> Answer:
        asked.append(request.turn)
        return Answer(content=f"answer {len(asked)}")

    plan = plan_that_begins_with(FaultKind.CUT_BODY, None, None)
    async with open_endpoint(policy, faults=plan) as endpoint:
        with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
            await endpoint.ask("Hello.")
        second, third = [await endpoint.ask("Hello.") for _ in range(2)]

    assert second.choices[0].message.content == "answer 1"
    assert third.choices[0].message.content == "answer 2"
    assert asked == [0, 1]
    (account,) = endpoint.server.ledger.accounts.values()
    assert (account.requests, account.answers, account.faults) == (3, 2, {FaultKind.CUT_BODY: 1})


def plan_that_begins_with(*kinds: FaultKind | None) -> FaultPlan:
    """Look for a seed under which the first requests with one content go like this."""
    request_id = content_id([{"content": "Hello.", "role": "user"}])
    for seed in range(10_000):
        plan = FaultPlan(seed=seed, shares={k: 0.5 for k in kinds if k})
        if all(plan.draw(request_id, n) is kind for n, kind in enumerate(kinds)):
            return plan
    raise AssertionError


async def said(endpoint: Endpoint, *, is_stream: bool) -> str:
    if not is_stream:
        return (await endpoint.ask("Hello.")).choices[0].message.content
    chunks = [chunk async for chunk in await endpoint.ask("Hello.", stream=True)]
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


async def test_the_same_requests_fail_however_many_are_under_way_at_once() -> None:
    plan = FaultPlan(seed=3, shares={FaultKind.SERVER_ERROR: 0.2, FaultKind.NO_CHOICES: 0.2})

    async def accounts(limit: int) -> dict[str, object]:
        limiter = anyio.CapacityLimiter(limit)
        async with open_endpoint(faults=plan) as endpoint:

            async def ask(number: int) -> None:
                async with limiter:
                    for _ in range(2):
                        try:
                            await endpoint.ask(f"item {number}")
                        except openai.InternalServerError:
                            continue

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(ask, number)
        ledger = endpoint.server.ledger
        assert ledger.most_in_flight <= limit
        return {name: account.as_json() for name, account in ledger.accounts.items()}

    assert await accounts(1) == await accounts(20)


@given(seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_a_plan_draws_the_same_again_and_about_its_share(seed: int, share: float) -> None:
    plan = FaultPlan.evenly(share, seed=seed)
    drawn = [plan.draw(f"{n:016x}", 0) for n in range(400)]

    assert drawn == [plan.draw(f"{n:016x}", 0) for n in range(400)]
    assert abs(sum(kind is not None for kind in drawn) / 400 - share) < 0.15


@pytest.mark.parametrize("shares", [{"hang": -0.1}, {"hang": 0.6, "slow": 0.6}, {"sulk": 0.1}])
def test_shares_that_make_no_sense_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        FaultPlan.model_validate({"shares": shares})
