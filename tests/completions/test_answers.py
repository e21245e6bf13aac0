"""What the completions server answers to the real client: whole, as a stream, with calls, as vectors."""

import json
from functools import partial
from typing import Any

import anyio
import httpx
import numpy as np
import openai
import pytest

from astra_mcp.completions import Answer, AnswerCall, CompletionRequest, Refusal, Reply, content_id
from astra_mcp.types import JsonObject

from completions_client import KEY, SCHEMA, open_endpoint, wanting

CALLS = Answer(
    content="Two at once.",
    calls=(
        AnswerCall(name="weather", arguments={"city": "Zürich"}),
        AnswerCall(name="broken", arguments="{no", id="mine"),
    ),
)


async def test_a_policy_answers_with_words_and_the_answer_says_what_it_cost() -> None:
    async with open_endpoint() as endpoint:
        completion = await endpoint.ask("Hello.")

    [choice] = completion.choices
    assert (choice.message.content, choice.finish_reason) == ("echo: Hello.", "stop")
    usage = completion.usage  # its messages have 36 characters
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (9, 3, 12)


async def test_a_policy_sees_the_messages_the_schema_and_the_key() -> None:
    seen: list[CompletionRequest] = []

    def policy(request: CompletionRequest) -> Answer:
        seen.append(request)
        return Answer(content={"n": 7}, prompt_tokens=5, completion_tokens=2)

    async with open_endpoint(policy) as endpoint:
        completion = await endpoint.ask("How many?", temperature=0.5, **wanting(SCHEMA))

    assert json.loads(completion.choices[0].message.content) == {"n": 7}
    assert completion.usage.total_tokens == 7
    (request,) = seen
    assert request.messages == [{"role": "user", "content": "How many?"}]
    assert request.schema == SCHEMA
    assert request.key == KEY
    assert request.body["temperature"] == 0.5
    assert request.id == content_id(request.messages, SCHEMA)


async def test_calls_of_tools_come_with_their_arguments_as_text() -> None:
    async with open_endpoint(lambda _: CALLS) as endpoint:
        completion = await endpoint.ask("Go.")

    choice = completion.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Two at once."
    first, second = choice.message.tool_calls
    assert (first.function.name, first.function.arguments) == ("weather", '{"city": "Zürich"}')
    assert (second.id, second.function.arguments) == ("mine", "{no")


async def test_a_stream_says_the_same_in_pieces() -> None:
    async with open_endpoint(lambda _: CALLS) as endpoint:
        stream = await endpoint.ask("Go.", stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]

    texts = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    assert len(texts) == 2
    assert "".join(texts) == "Two at once."
    arguments = ["", ""]
    for chunk in chunks:
        for choice in chunk.choices:
            for call in choice.delta.tool_calls or ():
                arguments[call.index] += call.function.arguments
    assert arguments == ['{"city": "Zürich"}', "{no"]
    assert chunks[-2].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage.total_tokens > 0


async def test_structured_output_can_be_refused_as_many_servers_do() -> None:
    async with open_endpoint(takes_schemas=False) as endpoint:
        with pytest.raises(openai.BadRequestError, match="json_schema is not supported"):
            await endpoint.ask("How many?", **wanting(SCHEMA))
        await endpoint.ask("How many?", response_format={"type": "json_object"})

    total = endpoint.server.ledger.total
    assert (total.requests, total.refusals, total.answers) == (2, 1, 1)


async def test_a_policy_may_refuse() -> None:
    def policy(request: CompletionRequest) -> Reply:
        return Refusal(403, f"{request.text} is not for you", {"x-reason": "test"})

    async with open_endpoint(policy) as endpoint:
        with pytest.raises(openai.PermissionDeniedError, match="This is not for you") as caught:
            await endpoint.ask("This")
    assert caught.value.response.headers["x-reason"] == "test"


async def test_a_policy_that_takes_its_time_is_given_up_when_the_client_leaves() -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def wait(_: CompletionRequest) -> Answer:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    async with open_endpoint(wait) as endpoint, anyio.create_task_group() as group:
        group.start_soon(endpoint.ask, "Well?")
        with anyio.fail_after(5):
            await begun.wait()
            group.cancel_scope.cancel()
    with anyio.fail_after(5):
        await ended.wait()
    assert endpoint.server.ledger.total.given_up == 1


async def test_a_server_that_closes_lets_nobody_wait() -> None:
    begun = anyio.Event()

    async def wait(_: CompletionRequest) -> Answer:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def ask() -> None:
        with pytest.raises(openai.APIConnectionError):
            await endpoint.ask("Well?")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group, open_endpoint(wait) as endpoint:
            group.start_soon(ask)
            await begun.wait()


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("chat/completions", {"messages": []}, "model must be a string"),
        ("chat/completions", {"model": "m"}, "messages must be a list"),
        ("chat/completions", {"model": "m", "messages": ["Hello."]}, "objects with a role"),
        ("chat/completions", {"model": "m", "messages": [{"role": "u"}], "n": 2}, "n must be 1"),
        ("chat/completions", [], "must be a JSON object"),
        ("embeddings", {"model": "m", "input": []}, "at least one text"),
        ("embeddings", {"model": "m", "input": [1, 2]}, "no tokens"),
        ("embeddings", {"model": "m", "input": "a", "dimensions": 0}, "dimensions"),
        ("embeddings", {"model": "m", "input": "a", "encoding_format": "hex"}, "encoding_format"),
    ],
)
async def test_a_request_that_is_none_of_the_api_is_refused_by_its_field(
    path: str, body: JsonObject, said: str
) -> None:
    async with open_endpoint() as endpoint, httpx.AsyncClient() as client:
        answer = await client.post(f"{endpoint.server.base_url}/{path}", json=body)

    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
    assert endpoint.server.ledger.malformed == 1


async def test_models_are_listed_and_a_body_or_a_path_that_is_none_is_refused() -> None:
    async with (
        open_endpoint(models=("small", "large")) as endpoint,
        httpx.AsyncClient(base_url=endpoint.server.base_url) as client,
    ):
        models = [model.id async for model in endpoint.client.models.list()]
        broken = await client.post("chat/completions", content=b"{")
        unknown = await client.get("nothing")

    assert models == ["small", "large"]
    assert (broken.status_code, unknown.status_code) == (400, 404)
    assert "no GET /v1/nothing" in unknown.json()["error"]["message"]


@pytest.mark.parametrize("form", [{}, {"encoding_format": "float"}])
async def test_embeddings_depend_on_the_text_alone_and_shared_words_make_them_alike(
    form: dict[str, Any],
) -> None:
    texts = ["convert a currency", "Convert currency amounts", "list the open issues"]
    async with open_endpoint() as endpoint:
        embed = partial(endpoint.client.embeddings.create, model="m", dimensions=32, **form)
        first, again = await embed(input=texts), await embed(input=texts[1])

    currency, same_words, issues = (item.embedding for item in first.data)
    assert again.data[0].embedding == pytest.approx(same_words, abs=1e-6)
    assert len(currency) == 32
    assert np.linalg.norm(currency) == pytest.approx(1.0, abs=1e-5)
    assert np.dot(currency, same_words) > np.dot(currency, issues) + 0.3
    assert first.usage.prompt_tokens == 10
