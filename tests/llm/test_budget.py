"""A budget refuses calls before they begin, and lets those under way come to their end."""

import anyio
import pytest

from astra_mcp.completions import Reply
from astra_mcp.errors import BudgetSpentError, ConfigError
from astra_mcp.llm.usage import Budget, metered

from asked_models import CacheInMemory, a_model, judge
from completions_server import Body, CompletionsServer, says, sends

MESSAGE = {"message": {"content": '{"score": 3}'}, "finish_reason": "stop"}
PRICES: Body = {"prompt_price": 1.0, "completion_price": 1.0}


def costing(tokens: int) -> Reply:
    """A good answer that took so many tokens."""
    usage = {"prompt_tokens": tokens, "completion_tokens": 0}
    return sends({"choices": [MESSAGE], "usage": usage})


async def test_no_call_beyond_the_budget_is_begun_and_what_the_cache_answers_needs_none(
    completions: CompletionsServer,
) -> None:
    completions.always = lambda _: costing(1)
    budget = Budget(max_calls=2)

    async with a_model(completions, cache=CacheInMemory(), budget=budget) as model:
        for text in ("a", "b"):
            await judge(model, text)
        with pytest.raises(BudgetSpentError, match="2 calls"):
            await judge(model, "c")
        assert await judge(model, "a") == 3

    assert len(completions.requests) == budget.calls == 2


async def test_calls_under_way_end_when_the_budget_is_spent(completions: CompletionsServer) -> None:
    opened, outcomes = anyio.Event(), list[str]()
    all_there = anyio.Event()

    async def reply(_: Body) -> Reply:
        if len(completions.requests) == 3:
            all_there.set()
        await opened.wait()
        return costing(1000)

    completions.later = reply
    budget = Budget(max_cost=1.0)

    async def ask(text: str) -> None:
        try:
            await judge(model, text)
        except BudgetSpentError:
            outcomes.append("refused")
        else:
            outcomes.append("answered")

    prices: Body = {"prompt_price": 1000.0, "completion_price": 0.0}
    with anyio.fail_after(20):
        async with (
            a_model(completions, budget=budget, max_concurrency=3, **prices) as model,
            anyio.create_task_group() as group,
        ):
            for number in range(10):
                group.start_soon(ask, str(number))
            await all_there.wait()
            opened.set()

    assert sorted(outcomes) == ["answered"] * 3 + ["refused"] * 7
    assert (len(completions.requests), budget.cost) == (3, 3.0)


async def test_a_repetition_is_a_call_of_its_own(completions: CompletionsServer) -> None:
    completions.always = lambda _: says("I cannot say.")

    async with a_model(completions, budget=Budget(max_calls=1)) as model:
        with pytest.raises(BudgetSpentError):
            await judge(model)

    assert len(completions.requests) == 1


async def test_a_limit_of_cost_needs_prices(completions: CompletionsServer) -> None:
    with pytest.raises(ConfigError, match=r"models\.judge\.prompt_price"):
        async with a_model(completions, budget=Budget(max_cost=1.0)):
            pass


@pytest.mark.parametrize(
    "counted", [{}, {"usage": {"prompt_tokens": 9}}], ids=["no tokens", "those of questions"]
)
async def test_an_endpoint_that_does_not_count_all_tokens_cannot_be_limited_by_cost(
    completions: CompletionsServer, counted: Body
) -> None:
    completions.always = lambda _: sends({"choices": [MESSAGE], **counted})

    async with a_model(completions, budget=Budget(max_cost=1.0), **PRICES) as model:
        assert await judge(model) == 3
        with pytest.raises(BudgetSpentError, match="limit the number of calls"):
            await judge(model, "another")


async def test_a_call_that_is_cancelled_counts_in_the_usage_as_in_the_budget(
    completions: CompletionsServer,
) -> None:
    async def reply(_: Body) -> Reply:
        scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    completions.later = reply
    budget, scope = Budget(), anyio.CancelScope()

    async with a_model(completions, budget=budget) as model:
        with metered() as meter, scope:
            await judge(model)

    assert scope.cancelled_caught
    assert meter.usage.calls == budget.calls == 1


async def test_a_faulty_answer_without_tokens_stops_no_budget(
    completions: CompletionsServer,
) -> None:
    completions.script.extend([sends({"choices": []}), costing(1)])

    async with a_model(completions, budget=Budget(max_cost=1.0), **PRICES) as model:
        assert await judge(model) == 3
