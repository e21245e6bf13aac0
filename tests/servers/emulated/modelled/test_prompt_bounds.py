"""No prompt is longer than it says, whatever is documented, called and answered."""

import json
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.completions import Reply
from astra_mcp.types import JsonValue
from servers.emulated.modelled.emulator import ModelEmulator
from servers.emulated.modelled.excerpts import MAX_PROMPT_CHARS, cut

from completions_server import Body, open_completions_server, says
from emulated_worlds import document_of
from notes_world import answers, emulator_model, is_fold, prompt_of, section, tool

HUGE = 20_000
NAMES = ("server", "tool", "input_schema", "output_schema", "user_request", "state", "entities")
LATER_NAMES = ("values", "recent_calls", "call", "calls", "rejected_answer", "faults")
CLOSING = [f"</{name}" for name in (*NAMES, *LATER_NAMES)]


def length_of(body: Body) -> int:
    return sum(len(message["content"]) for message in body["messages"])


def filled(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


class HugeAnswers:
    """A model that says as much as it may, and contradicts itself at every third call."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.num_answers = 0

    def reply(self, body: Body) -> Reply:
        if is_fold(body):
            return says(json.dumps({"state": filled(self.unit, 4000).strip()}))
        self.num_answers += 1
        kept: JsonValue = {
            "id": f"{self.num_answers}-{filled(self.unit, 150)}",
            "text": filled(self.unit, 20_000),
        }
        if self.num_answers % 3 == 0 and not section(body, "faults"):
            kept = {"id": 1, "text": "no text"}
        return answers({"notes": [kept]})


async def worst_prompts(unit: str, num_calls: int) -> list[Body]:
    """Make calls of which nothing is short: what a session of the greatest length asks."""
    text = filled(unit, HUGE)
    fields: dict[str, Any] = {
        f"f{n}": {"type": "string", "description": text[:300]} for n in range(20)
    }
    note = {"type": "object", "description": text, "properties": {"id": {"type": "string"}}}
    notes = {"type": "array", "items": note}
    output = {"type": "object", "description": text[:4000], "properties": {"notes": notes}}
    lists = tool("list_notes", "about", description=text, output=output, **fields)
    others = [tool(f"tool_{n}_" + "n" * 100, description=text[:900]) for n in range(99)]
    document = document_of(lists, *others)
    async with open_completions_server() as server:
        server.always = HugeAnswers(unit).reply
        async with emulator_model(server) as model:
            state = ModelEmulator(model, hint_share=1.0).open_state(document, seed=1, prompt=text)
            for _ in range(num_calls):
                await state.answer(lists, {"about": text})
        return server.requests


@pytest.mark.claim("P31")
@pytest.mark.parametrize("calls", [12, pytest.param(200, marks=pytest.mark.volume)])
async def test_calls_with_huge_results_stay_within_the_bound(calls: int) -> None:
    requests = await worst_prompts(" ".join(CLOSING), calls)

    assert len(requests) > calls
    assert any(map(is_fold, requests))
    assert any(section(body, "faults") for body in requests)
    assert 0.5 * MAX_PROMPT_CHARS < max(map(length_of, requests)) <= MAX_PROMPT_CHARS
    assert "more characters]" in prompt_of(requests[-1])


@pytest.mark.volume
@settings(max_examples=8)  # each is a session of the longest prompts
@given(unit=st.sampled_from([*CLOSING, "x", "\n", '"', "\\", "\u5317", "\U0001f600", "\x00"]))
def test_no_text_makes_a_prompt_longer_than_the_bound(unit: str) -> None:
    requests = anyio.run(worst_prompts, unit, 9)

    assert any(map(is_fold, requests))
    assert max(map(length_of, requests)) <= MAX_PROMPT_CHARS


@given(text=st.text(max_size=300), length=st.integers(40, 300))
def test_what_is_cut_says_how_much_is_missing(text: str, length: int) -> None:
    shown = cut(text, length)

    assert len(shown) <= length
    if len(text) <= length:
        assert shown == text
    else:
        kept, _, mark = shown.rpartition(" [... ")
        assert text.startswith(kept)
        assert mark == f"{len(text) - len(kept)} more characters]"
