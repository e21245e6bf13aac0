"""Structured answers over the real client: of their form, or a failure of a kind."""

import pytest
from pydantic import BaseModel, RootModel

from astra_mcp.completions import Refusal, Reply
from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.usage import Usage, metered

from asked_models import QUESTION, a_model, judge
from completions_server import Body, CompletionsServer, refuses, says, sends

GOOD = '{"score": 3}'


def formats_of(server: CompletionsServer) -> list[bool]:
    """Whether each request carried a form."""
    return ["response_format" in request for request in server.requests]


async def test_the_form_is_sent_as_a_strict_schema_and_settings_as_fields(
    completions: CompletionsServer,
) -> None:
    completions.script.append(says(GOOD))
    settings: Body = {"temperature": 0.2, "max_tokens": 50, "top_p": 0.9}

    async with a_model(completions, **settings, extra_body={"effort": "low"}) as model:
        assert await judge(model) == 3

    [request] = completions.requests
    assert request["response_format"]["json_schema"]["schema"] == {
        "title": "Verdict",
        "description": "What the question is answered with.",
        "type": "object",
        "properties": {"score": {"title": "Score", "type": "integer"}},
        "required": ["score"],
        "additionalProperties": False,
    }
    assert request["response_format"]["json_schema"]["strict"] is True
    content = "How good is <text>\na tale\n</text>?"
    assert request["messages"] == [{"role": "user", "content": content}]
    assert request | settings | {"effort": "low"} == request


async def test_an_endpoint_that_refuses_the_form_is_asked_without_it_from_then_on(
    completions: CompletionsServer,
) -> None:
    def reply(body: Body) -> Reply:
        return Refusal(400, "no such field") if "response_format" in body else says(GOOD)

    completions.always = reply
    async with a_model(completions) as model:
        assert [await judge(model, text) for text in ("a", "b")] == [3, 3]

    assert formats_of(completions) == [True, False, False]


async def test_a_refusal_that_has_another_reason_is_told_and_not_held_against_the_form(
    completions: CompletionsServer,
) -> None:
    completions.script.extend([refuses(400, "too long"), refuses(400, "too long"), says(GOOD)])

    async with a_model(completions) as model:
        with pytest.raises(ModelError, match="too long") as caught:
            await judge(model)
        assert await judge(model, "short") == 3

    assert caught.value.fault is ModelFault.REFUSED
    assert formats_of(completions) == [True, False, True]


async def test_a_setting_sends_the_form_never_or_always(completions: CompletionsServer) -> None:
    completions.script.extend([says(GOOD), refuses(400)])

    async with a_model(completions, structured_output="parsed") as model:
        assert await judge(model) == 3
    async with a_model(completions, structured_output="schema") as model:
        with pytest.raises(ModelError, match="HTTP 400"):
            await judge(model)

    assert formats_of(completions) == [False, True]


@pytest.mark.parametrize(
    ("useless", "fault"),
    [
        (says("I cannot say."), ModelFault.NOT_JSON),
        (says('{"score": "high"}'), ModelFault.INVALID),
        (says('{"score": 3', finish_reason="length"), ModelFault.TRUNCATED),
        (says(None, reasoning_content="Hm."), ModelFault.EMPTY),
        (sends({"choices": []}), ModelFault.MALFORMED),
    ],
)
async def test_a_useless_answer_is_asked_for_again_and_then_fails(
    completions: CompletionsServer, useless: Reply, fault: ModelFault
) -> None:
    completions.script.extend([useless, says(GOOD), useless, useless])

    async with a_model(completions) as model:
        assert await judge(model) == 3
        with pytest.raises(ModelError, match="the judge model 'scripted' failed") as caught:
            await judge(model, "another")

    assert caught.value.fault is fault
    assert len(completions.requests) == 4


async def test_a_model_that_declines_is_not_asked_again(completions: CompletionsServer) -> None:
    completions.script.append(says("", finish_reason="content_filter"))

    async with a_model(completions) as model:
        with pytest.raises(ModelError) as caught:
            await judge(model)

    assert caught.value.fault is ModelFault.DECLINED


async def test_every_sample_and_every_repetition_has_its_own_seed(
    completions: CompletionsServer,
) -> None:
    completions.script.extend([says("no"), says(GOOD), says(GOOD), says("no"), says(GOOD)])

    async with a_model(completions, seed=7) as model:
        await judge(model)
        await judge(model, sample=1)
    async with a_model(completions, seed=7) as model:
        await judge(model)

    seeds = [request["seed"] for request in completions.requests]
    assert len(set(seeds)) == 3
    assert seeds[3:] == seeds[:2]
    assert all(0 <= seed < 2**31 for seed in seeds)


async def test_a_long_answer_that_needs_repair_is_read_all_the_same(
    completions: CompletionsServer,
) -> None:
    completions.script.append(says("{'score': 3, 'why': '" + "so " * 5000 + "',}"))

    async with a_model(completions) as model:
        assert await judge(model) == 3


async def test_what_calls_took_is_noted_also_where_they_failed(
    completions: CompletionsServer,
) -> None:
    def answer(content: str) -> Reply:
        message = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
        return sends({**message, "usage": {"prompt_tokens": 100, "completion_tokens": 20}})

    completions.script.extend([answer("no"), answer(GOOD), refuses(401)])

    async with a_model(completions, prompt_price=2.0, completion_price=10.0) as model:
        with metered() as meter:
            await judge(model)
        with metered() as failed, pytest.raises(ModelError):
            await judge(model, "another")

    assert meter.usage.model_copy(update={"seconds": 0.0}) == Usage(
        calls=2,
        prompt_tokens=200,
        completion_tokens=40,
        cost=2 * (100 * 2 + 20 * 10) / 1e6,
        untold_cached=2,
    )
    assert meter.usage.seconds > 0
    assert failed.usage.calls == 1


async def test_only_objects_can_be_asked_for(completions: CompletionsServer) -> None:
    class Scores(RootModel[list[int]]):
        pass

    async with a_model(completions) as model:
        with pytest.raises(TypeError, match="Scores is no model of JSON objects"):
            await model.ask(QUESTION.render(text="a"), Scores)


async def test_forms_that_refer_to_themselves_and_to_others_are_sent(
    completions: CompletionsServer,
) -> None:
    class Part(BaseModel):
        name: str
        parts: tuple["Part", ...] = ()

    completions.script.append(says('{"name": "a", "parts": [{"name": "b", "parts": []}]}'))

    async with a_model(completions) as model:
        whole = await model.ask(QUESTION.render(text="a"), Part)

    assert whole.parts[0].name == "b"
