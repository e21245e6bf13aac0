"""The chat model against a real endpoint: what it sends, what it returns, how it fails."""

import anyio
import pytest

from astra_mcp.errors import ModelError
from astra_mcp.llm.chat import ChatReply, RequestedCall
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import open_model
from astra_mcp.types import JsonObject

from completions_server import CompletionsServer, asks, breaks_off, refuses, says, sends

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
