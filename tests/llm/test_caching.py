"""Answers that are kept, and questions that are asked at the same time."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from pydantic import BaseModel, ConfigDict

from astra_mcp.completions import Reply
from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.prompt import PromptTemplate
from astra_mcp.llm.usage import Usage, metered
from astra_mcp.types import JsonObject

from asked_models import QUESTION, CacheInMemory, a_model, judge
from completions_server import Body, CompletionsServer, refuses, says

GOOD = says('{"score": 3}')


async def test_what_was_answered_is_never_paid_for_again(completions: CompletionsServer) -> None:
    completions.script.append(GOOD)
    cache = CacheInMemory()

    async with a_model(completions, cache=cache) as model:
        assert await judge(model) == 3
    async with a_model(completions, cache=cache) as model:
        with metered() as meter:
            assert await judge(model) == 3

    assert len(completions.requests) == 1
    assert meter.usage == Usage(cached=1)


@pytest.mark.parametrize(
    ("change", "is_another"),
    [
        ({"model": "another"}, True),
        ({"temperature": 0.5}, True),
        ({"top_p": 0.5}, True),
        ({"max_tokens": 9}, True),
        ({"seed": 1}, True),
        ({"revision": "2"}, True),
        ({"extra_body": {"top_k": 4}}, True),
        ({"timeout_seconds": 4.0}, False),
        ({"max_answers": 5}, False),
        ({"prompt_price": 1.0}, False),
        ({"api_key": "k"}, False),
    ],
)
async def test_another_model_or_parameter_is_another_question_and_patience_and_prices_are_not(
    completions: CompletionsServer, change: Mapping[str, Any], is_another: bool
) -> None:
    completions.always = lambda _: GOOD
    cache = CacheInMemory()

    async with a_model(completions, cache=cache) as model:
        await judge(model)
    async with a_model(completions, cache=cache, **change) as model:
        await judge(model)

    assert len(completions.requests) == (2 if is_another else 1)


async def test_another_text_sample_template_or_form_is_another_question(
    completions: CompletionsServer,
) -> None:
    class Verdict(BaseModel):
        model_config = ConfigDict(frozen=True)
        score: float

    completions.always = lambda _: GOOD
    cache = CacheInMemory()
    same_words = PromptTemplate(
        "question", "{% block user %}How good is {{ text|delimited('text') }}?{% endblock %}"
    )

    async with a_model(completions, cache=cache) as model:
        await judge(model)
        await judge(model, "another tale")
        await judge(model, sample=1)
        await model.ask(QUESTION.render(text="a tale"), Verdict)
        await model.ask(same_words.render(text="a tale"), Verdict)

    assert len(completions.requests) == len(cache.values) == 5


@pytest.mark.parametrize("failure", [refuses(401), says("no"), says("{", finish_reason="length")])
async def test_a_failure_is_never_kept(completions: CompletionsServer, failure: Reply) -> None:
    cache = CacheInMemory()
    completions.script.append(failure)

    async with a_model(completions, cache=cache, max_answers=1) as model:
        with pytest.raises(ModelError):
            await judge(model)
        assert cache.values == {}
        completions.script.append(GOOD)
        assert await judge(model) == 3


async def test_a_kept_answer_that_is_none_any_more_is_asked_for_again(
    completions: CompletionsServer,
) -> None:
    cache = CacheInMemory()
    completions.script.extend([GOOD, GOOD])

    async with a_model(completions, cache=cache) as model:
        await judge(model)
        [key] = cache.values
        for broken in ({"content": "I cannot say.", "finish_reason": "stop"}, {"other": 1}):
            cache.values[key] = dict(broken)
            completions.script.append(GOOD)
            assert await judge(model) == 3

    assert len(completions.requests) == 3
    assert cache.values[key]["content"] == '{"score": 3}'


class Gate:
    """Holds answers back until it is opened."""

    def __init__(self, server: CompletionsServer, *replies: Reply) -> None:
        self.replies = list(replies)
        self.opened = anyio.Event()
        self.reached = anyio.Event()
        server.later = self.answer

    async def answer(self, _: Body) -> Reply:
        """Answer with the next reply, once the gate is open."""
        self.reached.set()
        await self.opened.wait()
        return self.replies.pop(0)

    async def open_for_all(self) -> None:
        """Open once the first question is here, and the tasks that were just started have come to a wait."""
        await self.reached.wait()
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self.opened.set()


@pytest.mark.parametrize("fails", [False, True])
async def test_equal_questions_at_the_same_time_are_asked_once_and_share_also_a_failure(
    completions: CompletionsServer, fails: bool
) -> None:
    gate, found = Gate(completions, refuses(401) if fails else GOOD), list[int | ModelFault]()

    with anyio.fail_after(20), metered() as meter:
        async with a_model(completions) as model, anyio.create_task_group() as group:

            async def ask() -> None:
                try:
                    found.append(await judge(model))
                except ModelError as error:
                    found.append(error.fault)

            for _ in range(8):
                group.start_soon(ask)
            await gate.open_for_all()

    assert found == [ModelFault.DENIED if fails else 3] * 8
    assert len(completions.requests) == meter.usage.calls == 1
    assert meter.usage.cached == (0 if fails else 7)


async def test_a_question_outlives_the_cancellation_of_whoever_asked_it_first(
    completions: CompletionsServer,
) -> None:
    gate, scores = Gate(completions, GOOD, GOOD), list[int]()
    first = anyio.CancelScope()

    with anyio.fail_after(20):
        async with a_model(completions) as model, anyio.create_task_group() as group:

            async def ask_first() -> None:
                with first:
                    await judge(model)

            async def ask() -> None:
                scores.append(await judge(model))

            group.start_soon(ask_first)
            await gate.reached.wait()
            group.start_soon(ask)
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            first.cancel()
            gate.opened.set()

    assert scores == [3]


async def test_an_answer_that_came_is_kept_although_whoever_asked_is_cancelled(
    completions: CompletionsServer,
) -> None:
    class CancellingCache(CacheInMemory):
        async def put(self, key: str, value: JsonObject) -> None:
            scope.cancel()
            await super().put(key, value)

    completions.script.append(GOOD)
    cache, scope = CancellingCache(), anyio.CancelScope()

    with anyio.fail_after(20):
        async with a_model(completions, cache=cache) as model:
            with scope:
                await judge(model)

    assert len(cache.values) == 1
