"""The chat model against a real endpoint: what it sends, what it returns, how it fails."""

from functools import partial

import anyio
import pytest

from astra_mcp.errors import ModelError
from astra_mcp.llm.chat import ChatReply, RequestedCall
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import open_model
from astra_mcp.llm.usage import Usage, metered
from astra_mcp.types import JsonObject

from asked_models import CacheInMemory, a_model
from completions_server import CompletionsServer, asks, breaks_off, refuses, says, sends, tool_texts

KEY = "sk-secret-of-this-test"
MESSAGES: list[JsonObject] = [{"role": "user", "content": "Go."}]
TOOL: JsonObject = {"type": "function", "function": {"name": "f", "parameters": {}}}


async def ask(server: CompletionsServer, **changes: object) -> ChatReply:
    config = server.config(**{"api_key": KEY, **changes})
    with anyio.fail_after(20):
        async with open_model(Role.AGENT, config) as model:
            return await model.complete(MESSAGES, [TOOL])


async def test_a_reply_carries_words_and_calls_as_the_endpoint_sent_them(
    completions: CompletionsServer,
) -> None:
    completions.script.append(asks(("a", "f", {"x": 1}), ("b", "g", "{broken"), content="Hm."))

    reply = await ask(completions, temperature=0.5)

    assert reply == ChatReply(
        content="Hm.",
        calls=(
            RequestedCall(id="a", name="f", arguments='{"x": 1}'),
            RequestedCall(id="b", name="g", arguments="{broken"),
        ),
        finish_reason="tool_calls",
    )
    assert completions.requests == [
        {"model": "scripted", "messages": MESSAGES, "tools": [TOOL], "temperature": 0.5}
    ]
    assert completions.keys == [KEY]


async def test_temperature_and_tools_are_left_out_where_there_are_none(
    completions: CompletionsServer,
) -> None:
    completions.script.append(says("Done."))

    async with open_model(Role.AGENT, completions.config()) as model:
        await model.complete(MESSAGES, [])

    assert completions.requests[0].keys() == {"model", "messages"}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thoughts_are_kept_under_either_name(
    completions: CompletionsServer, field: str
) -> None:
    message = {"role": "assistant", "content": "42", field: "Let me think."}
    completions.script.append(sends({"choices": [{"message": message, "finish_reason": "stop"}]}))

    assert (await ask(completions)).reasoning_content == "Let me think."


async def test_a_lone_surrogate_becomes_a_question_mark_and_a_passing_error_is_tried_again(
    completions: CompletionsServer,
) -> None:
    odd = '{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'
    completions.script.extend([refuses(500), refuses(429), breaks_off(odd)])

    assert (await ask(completions)).content == "a?b"
    assert len(completions.requests) == 3


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({}, id="empty"),
        pytest.param({"choices": []}, id="no choice"),
        pytest.param({"choices": None}, id="null"),
        pytest.param({"choices": [{"finish_reason": "stop"}]}, id="no message"),
        pytest.param({"choices": ["text"]}, id="a string"),
        pytest.param([1, 2], id="a list"),
        pytest.param("hello", id="a text"),
        pytest.param({"choices": [{"message": {"content": 7}}]}, id="a number as content"),
        pytest.param(
            {"choices": [{"message": {"content": None, "tool_calls": [{"type": "custom"}]}}]},
            id="a custom call",
        ),
    ],
)
async def test_an_answer_that_is_no_chat_message_is_a_model_error(
    completions: CompletionsServer, document: object
) -> None:
    completions.script.append(sends(document))

    with pytest.raises(ModelError, match="'scripted'"):
        await ask(completions, max_retries=0)


CALLS = asks(("a", "f", {"x": 1}))
RESULT: list[JsonObject] = [
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "tool_call_id": "a", "content": "1"},
]


async def test_a_numbered_conversation_is_paid_for_once_to_its_last_word(
    completions: CompletionsServer,
) -> None:
    completions.always = lambda body: says("Done.") if tool_texts(body) else CALLS
    cache, usages = CacheInMemory(), list[Usage]()

    for _ in range(2):
        async with a_model(completions, cache=cache) as model:
            with metered() as meter:
                opening = await model.complete(MESSAGES, [TOOL], sample=3)
                end = await model.complete([*MESSAGES, *RESULT], [TOOL], sample=3)
            usages.append(meter.usage)
            assert (opening.calls[0].name, end.content) == ("f", "Done.")

    assert len(completions.requests) == 2
    assert [(u.calls, u.cached) for u in usages] == [(2, 0), (0, 2)]


async def test_equal_conversations_of_one_number_share_the_call_that_is_under_way(
    completions: CompletionsServer,
) -> None:
    completions.always = lambda _: CALLS

    async with a_model(completions, cache=CacheInMemory()) as model:
        with metered() as meter:
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(partial(model.complete, MESSAGES, [TOOL], sample=0))

    assert (meter.usage.calls, meter.usage.cached) == (1, 2)


async def test_another_number_tool_or_message_and_no_number_are_other_conversations(
    completions: CompletionsServer,
) -> None:
    completions.always = lambda _: CALLS
    other: JsonObject = {"type": "function", "function": {"name": "g", "parameters": {}}}

    async with a_model(completions, cache=CacheInMemory(), seed=5) as model:
        await model.complete(MESSAGES, [TOOL], sample=0)
        await model.complete(MESSAGES, [TOOL], sample=1)
        await model.complete(MESSAGES, [other], sample=0)
        await model.complete([*MESSAGES, *RESULT], [TOOL], sample=0)
        await model.complete(MESSAGES, [TOOL])
        await model.complete(MESSAGES, [TOOL])

    seeds = [request.get("seed") for request in completions.requests]
    assert len(seeds) == 6
    assert seeds[0] == seeds[2] == seeds[3] != seeds[1]
    assert seeds[4:] == [None, None]


async def test_an_opening_without_a_call_is_asked_for_anew(completions: CompletionsServer) -> None:
    completions.script.extend([says("I would rather not."), CALLS])

    async with a_model(completions, cache=CacheInMemory()) as model:
        assert not (await model.complete(MESSAGES, [TOOL], sample=0)).calls
        assert (await model.complete(MESSAGES, [TOOL], sample=0)).calls
