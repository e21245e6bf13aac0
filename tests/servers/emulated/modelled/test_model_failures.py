"""What keeps a model from answering is a failure of it, never a word of the tool, and changes nothing."""

import anyio
import pytest

from astra_mcp.completions import Refusal, Reply
from astra_mcp.errors import AstraError, BudgetSpentError, ModelError, ModelFault, PipelineError
from astra_mcp.llm.usage import Budget
from astra_mcp.types import JsonObject
from servers.emulated.emulator import EmulatedAnswer
from servers.emulated.modelled.emulator import ModelState

from asked_models import CacheInMemory
from completions_server import CompletionsServer, breaks_off, says
from notes_world import answers, notes_session, play, prompt_of, tool_named


async def listed(state: ModelState) -> EmulatedAnswer:
    with anyio.fail_after(20):
        return await state.answer(tool_named("list_notes"), {})


async def made(state: ModelState) -> None:
    with anyio.fail_after(20):
        await state.answer(tool_named("create_note"), {"title": "milk"})


KEPT = EmulatedAnswer(value={"notes": [{"id": "note-1", "title": "milk"}]})
FAILURES = [
    pytest.param(Refusal(429, "slow down"), ModelFault.RATE_LIMITED, id="429"),
    pytest.param(Refusal(500, "oh no"), ModelFault.SERVER_ERROR, id="500"),
    pytest.param(Refusal(401, "who?"), ModelFault.DENIED, id="401"),
    pytest.param(breaks_off(), ModelFault.MALFORMED, id="body breaks off"),
    pytest.param(says('{"result": [1, 2', finish_reason="length"), ModelFault.TRUNCATED, id="cut"),
    pytest.param(says("I am only an emulator."), ModelFault.NOT_JSON, id="prose"),
    pytest.param(says('{"notes": []}'), ModelFault.INVALID, id="no result"),
    pytest.param(says('{"result": 1}'), ModelFault.INVALID, id="no is_error"),
    pytest.param(says('{"result": 1e999, "is_error": false}'), ModelFault.INVALID, id="infinite"),
    pytest.param(answers(10**30), ModelFault.INVALID, id="beyond 64 bits"),
    pytest.param(answers("", is_error=True), ModelFault.INVALID, id="error without words"),
    pytest.param(answers(""), None, id="an empty text is a result"),
]


@pytest.mark.parametrize(("failure", "fault"), FAILURES)
async def test_a_failure_of_the_model_is_an_error_and_the_call_can_be_made_again(
    completions: CompletionsServer, failure: Reply, fault: ModelFault | None
) -> None:
    completions.always = play
    async with notes_session(completions, max_answers=1) as state:
        await made(state)
        completions.script.extend([failure, failure])
        if fault is None:
            assert await listed(state) == EmulatedAnswer(value="")
            return
        with pytest.raises(ModelError) as caught:
            await listed(state)
        completions.script.clear()
        answer = await listed(state)

    assert caught.value.fault is fault
    assert answer == KEPT
    first, again = completions.requests[1], completions.requests[-1]
    assert prompt_of(first) == prompt_of(again)


async def test_a_spent_budget_and_a_silent_cache_leave_the_state_as_it_was(
    completions: CompletionsServer,
) -> None:
    class FailingCache(CacheInMemory):
        error: AstraError | None = None

        async def get(self, key: str) -> JsonObject | None:
            if self.error is not None:
                raise self.error
            return await super().get(key)

    completions.always = play
    cache, budget = FailingCache(), Budget(max_calls=1)

    async with notes_session(completions, cache=cache, budget=budget) as state:
        await made(state)
        with pytest.raises(BudgetSpentError):
            await listed(state)
        cache.error = PipelineError("the cache does not answer")
        with pytest.raises(PipelineError):
            await listed(state)
        cache.error, budget.max_calls = None, None
        answer = await listed(state)

    assert answer == KEPT


async def test_a_cancelled_call_leaves_the_state_as_it_was(completions: CompletionsServer) -> None:
    completions.always = play
    async with notes_session(completions) as state:
        await made(state)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                completions.later = completions.hang
                group.start_soon(made, state)
                while len(completions.requests) < 2:
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        completions.later = None
        answer = await listed(state)

    assert answer == KEPT
