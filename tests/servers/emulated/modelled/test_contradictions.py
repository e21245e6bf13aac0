"""A model that contradicts itself: caught, made to mend its answer once, and refused if it does not."""

import anyio
import pytest

from astra_mcp.completions import Reply
from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.model import Model
from astra_mcp.types import JsonValue
from servers.emulated.emulator import EmulatedAnswer
from servers.emulated.modelled.emulator import ModelEmulator, ModelState

from asked_models import CacheInMemory
from completions_server import Body, CompletionsServer, says
from notes_world import (
    NOTES,
    answers,
    document_of,
    emulator_model,
    is_fold,
    prompt_of,
    section,
    tool,
    tool_named,
)

MILK: JsonValue = {"id": "n1", "title": "milk"}
BREAD: JsonValue = {"id": "n2", "title": "bread"}


def begun(model: Model) -> ModelState:
    return ModelEmulator(model).open_state(NOTES, seed=3)


async def called(state: ModelState, name: str, **arguments: JsonValue) -> EmulatedAnswer:
    with anyio.fail_after(20):
        return await state.answer(tool_named(name), arguments)


async def set_up(state: ModelState, completions: CompletionsServer) -> None:
    """Two notes were listed, and the second was deleted."""
    completions.script.extend([answers({"notes": [MILK, BREAD]}), answers({"deleted": True})])
    await called(state, "list_notes")
    await called(state, "delete_note", note_id="n2")


CASES = [
    pytest.param(
        "list_notes",
        {},
        answers([MILK, BREAD]),
        answers([MILK]),
        "lists_without_deleted",
        id="listed",
    ),
    pytest.param(
        "search_notes",
        {"query": "b"},
        answers({"results": [BREAD], "total": 1}),
        answers({"results": [], "total": 0}),
        "lists_without_deleted",
        id="found",
    ),
    pytest.param(
        "get_note",
        {"note_id": "n1"},
        answers("Note n1 not found", is_error=True),
        answers(MILK),
        "known_exists",
        id="not found",
    ),
    pytest.param(
        "update_note",
        {"note_id": "n1", "title": "oat milk"},
        answers({"error": "There is no note with this id"}),
        answers({"id": "n1", "title": "oat milk"}),
        "known_exists",
        id="not found, as a success",
    ),
    pytest.param(
        "get_note",
        {"note_id": "n2"},
        answers(BREAD),
        answers("Note n2 does not exist", is_error=True),
        "deleted_is_gone",
        id="deleted is returned",
    ),
    pytest.param(
        "delete_note",
        {"note_id": "n2"},
        answers({"deleted": True}),
        answers("404", is_error=True),
        "deleted_is_gone",
        id="deleted twice",
    ),
    pytest.param(
        "create_note",
        {"title": "tea"},
        answers({"note": {"id": "n1", "title": "tea"}}),
        answers({"note": {"id": "n3", "title": "tea"}}),
        "created_is_new",
        id="id reused",
    ),
    pytest.param(
        "get_note", {"note_id": "n1"}, answers(BREAD), answers(MILK), "get_returns_it", id="another"
    ),
]


@pytest.mark.claim("P31")
@pytest.mark.parametrize(("name", "arguments", "wrong", "right", "rule"), CASES)
async def test_a_contradiction_is_named_to_the_model_which_mends_it(
    completions: CompletionsServer,
    *,
    name: str,
    arguments: dict[str, JsonValue],
    wrong: Reply,
    right: Reply,
    rule: str,
) -> None:
    async with emulator_model(completions) as model:
        state = begun(model)
        await set_up(state, completions)
        completions.script.extend([wrong, right])
        answer = await called(state, name, **arguments)

    assert len(completions.requests) == 4
    asked, again = completions.requests[-2:]
    assert not section(asked, "faults")
    assert section(again, "faults").startswith("- ")
    assert section(again, "rejected_answer")
    assert answer.value is not None
    assert rule not in prompt_of(again)


@pytest.mark.parametrize(("name", "arguments", "wrong", "right", "rule"), CASES)
async def test_a_second_contradiction_fails_and_the_call_can_be_made_again(
    completions: CompletionsServer,
    *,
    name: str,
    arguments: dict[str, JsonValue],
    wrong: Reply,
    right: Reply,
    rule: str,
) -> None:
    async with emulator_model(completions, cache=CacheInMemory()) as model:
        state = begun(model)
        await set_up(state, completions)
        completions.script.extend([wrong, wrong, right])
        with pytest.raises(
            ModelError, match=rf"to {name} that can be used, twice: {rule}: "
        ) as caught:
            await called(state, name, **arguments)
        answer = await called(state, name, **arguments)

    assert caught.value.fault is ModelFault.INVALID
    first, _, again = completions.requests[-3:]
    assert first["messages"] == again["messages"]
    assert answer.value is not None


async def test_what_was_given_out_stays_known_when_its_call_is_folded(
    completions: CompletionsServer,
) -> None:
    async with emulator_model(completions) as model:
        state = begun(model)
        await set_up(state, completions)

        def reply(body: Body) -> Reply:
            return says('{"state": "notes"}') if is_fold(body) else answers({"results": []})

        completions.always = reply
        for _ in range(15):
            await called(state, "search_notes", query="q" * 2000)
        asked = completions.requests[-1]

    assert section(asked, "state") == "notes"
    assert section(asked, "entities") == "note, deleted: n2\nnote, existing: n1"


OUTPUT = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
}
COUNTS = document_of(tool("count_notes", output=OUTPUT), name="counts")


async def test_a_result_that_does_not_fit_the_output_schema_is_asked_for_once_more(
    completions: CompletionsServer,
) -> None:
    completions.script.extend([answers({"count": "many"}), answers({"count": 3})])

    async with emulator_model(completions) as model:
        state = ModelEmulator(model).open_state(COUNTS, seed=1)
        answer = await state.answer(COUNTS.tools[0], {})

    assert answer == EmulatedAnswer(value={"count": 3})
    assert "result.count" in section(completions.requests[-1], "faults")


async def test_a_result_that_never_fits_fails(completions: CompletionsServer) -> None:
    completions.script.extend([answers([]), answers({})])

    async with emulator_model(completions) as model:
        state = ModelEmulator(model).open_state(COUNTS, seed=1)
        with pytest.raises(ModelError, match=r'form: .*"count" is a required property'):
            await state.answer(COUNTS.tools[0], {})


async def test_a_schema_that_nothing_can_be_held_against_is_no_success(
    completions: CompletionsServer,
) -> None:
    document = document_of(tool("count_notes", output={"type": "countable"}))
    completions.always = lambda _: answers(3)

    async with emulator_model(completions) as model:
        state = ModelEmulator(model).open_state(document, seed=1)
        with pytest.raises(ModelError, match="cannot be held against the output schema: "):
            await state.answer(document.tools[0], {})


async def test_an_error_needs_to_fit_no_schema_and_is_a_text(
    completions: CompletionsServer,
) -> None:
    completions.script.append(answers({"code": 7, "message": "Too many notes"}, is_error=True))

    async with emulator_model(completions) as model:
        state = ModelEmulator(model).open_state(COUNTS, seed=1)
        answer = await state.answer(COUNTS.tools[0], {})

    assert answer == EmulatedAnswer(value='{"code": 7, "message": "Too many notes"}', is_error=True)
