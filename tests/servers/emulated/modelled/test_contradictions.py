"""A model that contradicts itself: caught, made to mend its answer once, and refused if it does not."""

from typing import NamedTuple

import anyio
import pytest

from astra_mcp.completions import Reply
from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.emulator import EmulatedAnswer
from servers.emulated.modelled.emulator import ModelState

from asked_models import CacheInMemory
from completions_server import Body, CompletionsServer, says
from emulated_worlds import document_of
from notes_world import (
    answers,
    is_fold,
    notes_session,
    prompt_of,
    section,
    tool,
    tool_named,
)

MILK: JsonValue = {"id": "n1", "title": "milk"}
BREAD: JsonValue = {"id": "n2", "title": "bread"}


async def called(state: ModelState, name: str, **arguments: JsonValue) -> EmulatedAnswer:
    with anyio.fail_after(20):
        return await state.answer(tool_named(name), arguments)


async def set_up(state: ModelState, completions: CompletionsServer) -> None:
    """Two notes were listed, and the second was deleted."""
    completions.script.extend([answers({"notes": [MILK, BREAD]}), answers({"deleted": True})])
    await called(state, "list_notes")
    await called(state, "delete_note", note_id="n2")


class Case(NamedTuple):
    """A call, an answer that contradicts the session, and one that does not."""

    id: str
    name: str
    arguments: dict[str, JsonValue]
    wrong: Reply
    right: Reply
    rule: str


CASES = (
    Case("listed", "list_notes", {}, answers([MILK, BREAD]), answers([MILK]), "lists_without_deleted"),
    Case("found", "search_notes", {"query": "b"}, answers({"results": [BREAD], "total": 1}),
         answers({"results": [], "total": 0}), "lists_without_deleted"),
    Case("not found", "get_note", {"note_id": "n1"}, answers("Note n1 not found", is_error=True),
         answers(MILK), "known_exists"),
    Case("not found, as a success", "update_note", {"note_id": "n1", "title": "oat milk"},
         answers({"error": "There is no note with this id"}), answers({"id": "n1", "title": "oat milk"}),
         "known_exists"),
    Case("deleted is returned", "get_note", {"note_id": "n2"}, answers(BREAD),
         answers("Note n2 does not exist", is_error=True), "deleted_is_gone"),
    Case("deleted twice", "delete_note", {"note_id": "n2"}, answers({"deleted": True}),
         answers("404", is_error=True), "deleted_is_gone"),
    Case("id reused", "create_note", {"title": "tea"}, answers({"note": {"id": "n1", "title": "tea"}}),
         answers({"note": {"id": "n3", "title": "tea"}}), "created_is_new"),
    Case("title", "get_note", {"note_id": "n1"}, answers({"id": "n1", "title": "oats"}), answers(MILK),
         "values_stay"),
    Case("emptied", "list_notes", {}, answers({"notes": []}), answers({"notes": [MILK]}),
         "lists_are_whole"),
    Case("total", "list_notes", {}, answers({"notes": [MILK], "total": 2}),
         answers({"notes": [MILK], "total": 1}), "counts_agree"),
    Case("never given out", "update_note", {"note_id": "n9", "title": "tea"},
         answers({"id": "n9", "title": "tea"}), answers("Note n9 not found", is_error=True),
         "unknown_is_missing"),
    Case("echo", "create_note", {"title": "tea"}, answers({"id": "n3", "title": "salt"}),
         answers({"id": "n3", "title": "tea"}), "echoes_what_was_given"),
    Case("another", "get_note", {"note_id": "n1"}, answers(BREAD), answers(MILK), "get_returns_it"),
)  # fmt: skip


@pytest.mark.claim("P31")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_contradiction_is_named_to_the_model_which_mends_it(
    completions: CompletionsServer, case: Case
) -> None:
    async with notes_session(completions, seed=3) as state:
        await set_up(state, completions)
        completions.script.extend([case.wrong, case.right])
        answer = await called(state, case.name, **case.arguments)

    assert len(completions.requests) == 4
    asked, again = completions.requests[-2:]
    assert not section(asked, "faults")
    assert section(again, "faults").startswith("- ")
    assert section(again, "rejected_answer")
    assert answer.value is not None
    assert case.rule not in prompt_of(again)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_second_contradiction_fails_and_the_call_can_be_made_again(
    completions: CompletionsServer, case: Case
) -> None:
    words = rf"to {case.name} that can be used, twice: {case.rule}: "
    async with notes_session(completions, seed=3, cache=CacheInMemory()) as state:
        await set_up(state, completions)
        completions.script.extend([case.wrong, case.wrong, case.right])
        with pytest.raises(ModelError, match=words) as caught:
            await called(state, case.name, **case.arguments)
        answer = await called(state, case.name, **case.arguments)

    assert caught.value.fault is ModelFault.INVALID
    first, _, again = completions.requests[-3:]
    assert first["messages"] == again["messages"]
    assert answer.value is not None


async def test_what_was_given_out_stays_known_when_folded(completions: CompletionsServer) -> None:
    async with notes_session(completions, seed=3) as state:
        await set_up(state, completions)

        def reply(body: Body) -> Reply:
            return says('{"state": "notes"}') if is_fold(body) else answers({"results": []})

        completions.always = reply
        for _ in range(15):
            await called(state, "search_notes", query="q" * 2000)
        asked = completions.requests[-1]

    assert section(asked, "state") == "notes"
    assert section(asked, "entities") == "note, deleted: n2\nnote, existing: n1"
    assert section(asked, "values") == 'note n1: {"title": "milk"}'


OUTPUT: JsonObject = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
}
COUNTS = document_of(tool("count_notes", output=OUTPUT), name="counts")


async def test_a_result_that_does_not_fit_the_output_schema_is_asked_for_once_more(
    completions: CompletionsServer,
) -> None:
    completions.script.extend([answers({"count": "many"}), answers({"count": 3})])

    async with notes_session(completions, COUNTS) as state:
        answer = await state.answer(COUNTS.tools[0], {})

    assert answer == EmulatedAnswer(value={"count": 3})
    assert "result.count" in section(completions.requests[-1], "faults")


UNFIT: list[tuple[JsonObject, list[JsonValue], str]] = [
    (OUTPUT, [[], {}], r'form: .*"count" is a required property'),
    ({"type": "countable"}, [3, 3], "cannot be held against the output schema: "),
]


@pytest.mark.parametrize(("output", "told", "words"), UNFIT)
async def test_a_result_that_never_fits_or_cannot_be_held_against_its_schema_fails(
    completions: CompletionsServer, output: JsonObject, told: list[JsonValue], words: str
) -> None:
    document = document_of(tool("count_notes", output=output))
    completions.script.extend(map(answers, told))

    async with notes_session(completions, document) as state:
        with pytest.raises(ModelError, match=words):
            await state.answer(document.tools[0], {})


async def test_an_error_has_to_fit_no_schema_and_is_text(completions: CompletionsServer) -> None:
    completions.script.append(answers({"code": 7, "message": "Too many notes"}, is_error=True))

    async with notes_session(completions, COUNTS) as state:
        answer = await state.answer(COUNTS.tools[0], {})

    assert answer == EmulatedAnswer(value='{"code": 7, "message": "Too many notes"}', is_error=True)
