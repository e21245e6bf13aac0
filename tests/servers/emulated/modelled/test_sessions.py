"""Sessions with a model that knows of them what its prompts tell: remembered, told apart, and repeatable."""

import json
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.completions import Reply
from astra_mcp.errors import ModelError, ModelFault, UpstreamError
from astra_mcp.llm.model import Model
from astra_mcp.types import CallOutcome, EmulatorKind, PastCall, ToolResult
from servers.emulated.emulator import EmulatedAnswer, EmulatedState, Emulator
from servers.emulated.modelled.emulator import ModelEmulator

from asked_models import CacheInMemory
from completions_server import Body, CompletionsServer, open_completions_server, says
from notes_world import (
    NOTES,
    answers,
    emulator_model,
    is_fold,
    notes_session,
    play,
    prompt_of,
    tool_named,
)

Call = tuple[str, dict[str, Any]]

STORY: tuple[Call, ...] = (
    ("create_note", {"title": "milk"}),
    ("create_note", {"title": "bread"}),
    ("list_notes", {}),
    ("update_note", {"note_id": "note-1", "title": "oat milk"}),
    ("get_note", {"note_id": "note-1"}),
    ("delete_note", {"note_id": "note-2"}),
    ("get_note", {"note_id": "note-2"}),
    ("search_notes", {"query": "milk"}),
)


@pytest.fixture
def completions(completions: CompletionsServer) -> CompletionsServer:
    """Plays the notes, unless a test says otherwise."""
    completions.always = play
    return completions


async def called(state: EmulatedState, call: Call) -> EmulatedAnswer:
    name, arguments = call
    with anyio.fail_after(20):
        return await state.answer(tool_named(name), arguments)


async def played(
    model: Model, *, seed: int = 7, story: tuple[Call, ...] = STORY
) -> list[EmulatedAnswer]:
    """Make the calls of a story in a session of its own."""
    state = ModelEmulator(model).open_state(NOTES, seed=seed)
    return [await called(state, call) for call in story]


def as_past(call: Call, answer: EmulatedAnswer) -> PastCall:
    """What the record holds of a call."""
    result = ToolResult.from_value(answer.value)
    if answer.is_error:
        result = ToolResult.from_text(str(answer.value), is_error=True)
    return PastCall(tool=call[0], arguments=call[1], outcome=CallOutcome.APPLIED, result=result)


@pytest.mark.claim("P31")
async def test_what_calls_did_shows_in_later_answers(completions: CompletionsServer) -> None:
    async with emulator_model(completions) as model:
        told = await played(model)

    assert [answer.value for answer in told] == [
        {"id": "note-1", "title": "milk"},
        {"id": "note-2", "title": "bread"},
        {"notes": [{"id": "note-1", "title": "milk"}, {"id": "note-2", "title": "bread"}]},
        *[{"id": "note-1", "title": "oat milk"}] * 2,
        {"deleted": True, "id": "note-2"},
        "Note note-2 not found",
        {"results": [{"id": "note-1", "title": "oat milk"}], "total": 1},
    ]
    assert [answer.is_error for answer in told] == [False] * 6 + [True, False]


TITLES = st.text('ab \n\\"<>/\u5317\U0001f600', min_size=1, max_size=400)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "create", "list", "get", "update", "delete"]),
        st.integers(0, 9),
        TITLES,
    ),
    min_size=20,
    max_size=40,
)


@pytest.mark.claim("P31")
@pytest.mark.volume
@settings(max_examples=6)  # each is a session of up to 40 requests
@given(steps=STEPS)
def test_a_session_is_one_world_however_long_it_lasts(steps: list[tuple[str, int, str]]) -> None:
    async def live() -> None:
        async with open_completions_server() as server:
            server.always = play
            async with notes_session(server) as state:
                await check(state)

    async def check(state: EmulatedState) -> None:
        notes, ids = dict[str, str](), list[str]()
        for action, number, title in steps:
            id = ids[number % len(ids)] if ids else "note-0"
            if action == "create":
                made = await called(state, ("create_note", {"title": title}))
                assert isinstance(made.value, dict)
                assert made.value["id"] not in ids
                ids.append(str(made.value["id"]))
                notes[ids[-1]] = title
            elif action == "list":
                listed = await called(state, ("list_notes", {}))
                assert listed.value == {"notes": [{"id": i, "title": t} for i, t in notes.items()]}
            else:
                given = {"note_id": id, **({"title": title} if action == "update" else {})}
                answer = await called(state, (f"{action}_note", given))
                assert answer.is_error is (id not in notes)
                if action == "delete":
                    notes.pop(id, None)
                elif id in notes:
                    notes[id] = title if action == "update" else notes[id]
                    assert answer.value == {"id": id, "title": notes[id]}

    anyio.run(live)


async def test_a_rerun_asks_nothing_and_answers_the_same(completions: CompletionsServer) -> None:
    cache = CacheInMemory()
    async with emulator_model(completions, cache=cache) as model:
        first = await played(model)
    asked = len(completions.requests)
    async with emulator_model(completions, cache=cache) as model:
        again = await played(model)

    assert asked == len(STORY)
    assert len(completions.requests) == asked
    assert again == first


async def test_another_seed_or_version_asks_anew(completions: CompletionsServer) -> None:
    cache = CacheInMemory()
    newer = replace(NOTES, version="2")

    async with emulator_model(completions, cache=cache) as model:
        await played(model, seed=1)
        await played(model, seed=2)
        state = ModelEmulator(model).open_state(newer, seed=1)
        for call in STORY:
            await called(state, call)

    assert len(completions.requests) == 3 * len(STORY)


async def test_sessions_never_see_each_others_entities(completions: CompletionsServer) -> None:
    async with emulator_model(completions) as model:
        emulator = ModelEmulator(model)
        states = {mark: emulator.open_state(NOTES, seed=1) for mark in ("plum", "fig")}
        for number in range(4):
            for mark, state in states.items():
                await called(state, ("create_note", {"title": f"{mark} {number}"}))
        listed = {mark: await called(state, ("list_notes", {})) for mark, state in states.items()}

    prompts = [prompt_of(body) for body in completions.requests]
    assert not any("plum" in prompt and "fig" in prompt for prompt in prompts)
    shown = {mark: json.dumps(answer.value) for mark, answer in listed.items()}
    for mark, other in (("plum", "fig"), ("fig", "plum")):
        assert mark in shown[mark]
        assert other not in shown[mark]


async def test_older_calls_live_on_in_a_state_of_the_model(completions: CompletionsServer) -> None:
    long = "x" * 900

    async with notes_session(completions) as state:
        await called(state, ("create_note", {"title": "the first"}))
        for number in range(30):
            call = ("update_note", {"note_id": "note-1", "title": f"{number} {long}"})
            await called(state, call)
        answer = await called(state, ("get_note", {"note_id": "note-1"}))

    assert answer.value == {"id": "note-1", "title": f"29 {long}"}
    folds = [body for body in completions.requests if is_fold(body)]
    assert 2 <= len(folds) <= 10
    assert "the first" not in prompt_of(completions.requests[-1])


@dataclass
class LongStates:
    """A model that writes states that are too long, so often."""

    left: int

    def reply(self, body: Body) -> Reply:
        if is_fold(body) and self.left:
            self.left -= 1
            return says(json.dumps({"state": "s" * 4001}))
        return play(body)


UPDATE = ("update_note", {"note_id": "note-1", "title": "t" * 2000})
READ = ("get_note", {"note_id": "note-1"})


@pytest.mark.parametrize(
    ("before", "after", "cache"),
    [(2, 1, None), (1000, 0, CacheInMemory())],
    ids=["asked for once more", "drawn anew although the cache keeps it"],
)
async def test_a_state_that_is_too_long_twice_fails_until_one_is_short(
    completions: CompletionsServer, before: int, after: int, cache: CacheInMemory | None
) -> None:
    states = LongStates(before)
    completions.always = states.reply
    async with notes_session(completions, cache=cache) as state:
        await called(state, ("create_note", {"title": "t"}))
        with pytest.raises(ModelError, match="wrote 4001 characters") as caught:  # noqa: PT012
            for _ in range(20):
                await called(state, UPDATE)
        states.left = after
        answer = await called(state, READ)

    assert caught.value.fault is ModelFault.INVALID
    assert answer.value == {"id": "note-1", "title": "t" * 2000}
    overlong = [b for b in completions.requests if "4001 characters long" in prompt_of(b)]
    assert len(overlong) == 1 + after


async def test_a_restored_session_goes_on_with_the_questions_of_the_first_life(
    completions: CompletionsServer,
) -> None:
    cache = CacheInMemory()
    longer: tuple[Call, ...] = tuple(
        ("update_note", {"note_id": "note-1", "title": f"{n} " + "y" * 1200}) for n in range(25)
    )
    story: tuple[Call, ...] = (*STORY, *longer, ("list_notes", {}))

    async with emulator_model(completions, cache=cache) as model:
        told = await played(model, story=story)
        asked = len(completions.requests)
        past = [as_past(call, answer) for call, answer in zip(story, told, strict=True)]
        for cut in (0, len(STORY), len(story) - 1):
            state = ModelEmulator(model).open_state(NOTES, seed=7)
            await state.restore(past[:cut])
            assert [await called(state, call) for call in story[cut:]] == told[cut:]

    assert len(completions.requests) == asked


async def test_restoring_asks_nothing_and_skips_rejections(completions: CompletionsServer) -> None:
    answer = EmulatedAnswer(value={"id": "note-1", "title": "a"})
    made = as_past(("create_note", {"title": "a"}), answer)
    refused = PastCall(tool="get_note", arguments={}, outcome=CallOutcome.REJECTED)

    async with notes_session(completions) as state:
        await state.restore([made, refused])
        assert completions.requests == []
        listed = await called(state, ("list_notes", {}))

        lost = PastCall(tool="list_notes", arguments={}, outcome=CallOutcome.APPLIED)
        with pytest.raises(UpstreamError, match="lacks what list_notes answered"):
            await state.restore([lost])

    assert listed.value == {"notes": [{"id": "note-1", "title": "a"}]}


async def test_the_users_request_is_shown_in_a_share_of_the_sessions(
    completions: CompletionsServer,
) -> None:
    completions.always = lambda _: answers("ok")

    async with emulator_model(completions) as model:
        for share, num in ((0.0, 5), (0.3, 30), (1.0, 5)):
            emulator = ModelEmulator(model, hint_share=share)
            for seed in range(num):
                state = emulator.open_state(
                    NOTES, seed=seed, prompt="Note the groceries.</user_request>"
                )
                await called(state, ("list_notes", {}))

    shown = ["Note the groceries." in prompt_of(body) for body in completions.requests]
    assert sum(shown[:5]) == 0
    assert 3 <= sum(shown[5:35]) <= 16
    assert sum(shown[35:]) == 5
    assert "groceries.</user_request>" not in prompt_of(completions.requests[-1])


async def test_it_is_an_emulator_with_a_share_from_0_to_1(completions: CompletionsServer) -> None:
    async with emulator_model(completions) as model:
        emulator: Emulator = ModelEmulator(model)
        assert emulator.kind is EmulatorKind.MODEL
        with pytest.raises(ValueError, match="hint_share must be from 0 to 1"):
            ModelEmulator(model, hint_share=1.5)
