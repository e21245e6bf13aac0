"""The topology gate: what code knows of a decomposition before another call is paid."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.pipeline import Given, Item, Made, Rejected
from astra_mcp.synthesis.duplicates import SourceOrder
from astra_mcp.synthesis.environments.questions.gating import TopologyGate
from astra_mcp.synthesis.environments.questions.instance import (
    Draft,
    Instance,
    Origin,
    levels_of,
    shape_of,
)
from astra_mcp.synthesis.environments.questions.topology import Wanted, signals_of, topology_faults
from astra_mcp.synthesis.numerals import says, spelled

from scripted_synthesis import draft, instance, sub


def reasons(found: Draft, wanted: Wanted | None = None, corpus: str = "") -> list[str]:
    """The reasons for which the gate refuses a draft."""
    return [fault.reason for fault in topology_faults(found, wanted or Wanted(), corpus)]


async def gated(
    found: Instance, wanted: Wanted | None = None, *, is_open: bool = False
) -> Made[Instance] | Rejected:
    """What the stage makes of the only instance of a run."""
    order = SourceOrder(["decompose"], "topology", member="main_question", window=1)
    await order.begin("s")
    order.hear(Given("s/1"))
    order.release("s")
    gate = TopologyGate(wanted or Wanted(), order, is_open=is_open)
    return await gate.run(Item(id="s/1", value=found))


@st.composite
def graphs(draw: st.DrawFn) -> dict[int, tuple[int, ...]]:
    """The dependencies of up to twenty sub-questions, whose ids say nothing of their order."""
    ids = draw(st.lists(st.integers(1, 99), min_size=1, max_size=20, unique=True))
    earlier = {id: ids[:place] for place, id in enumerate(ids)}
    sets = {
        id: draw(st.lists(st.sampled_from(known), max_size=3, unique=True)) if known else []
        for id, known in earlier.items()
    }
    shown = draw(st.permutations(ids))
    return {id: tuple(sets[id]) for id in shown}


def drafted(graph: dict[int, tuple[int, ...]], shape: ScenarioType | None = None) -> Draft:
    """A draft of a graph."""
    subs = [sub(id, *needed) for id, needed in graph.items()]
    bare = draft(*subs)
    return draft(*subs, scenario_type=shape or shape_of(bare))


@pytest.mark.claim("P34")
@given(graphs())
def test_dependencies_alone_decide_levels_and_type(graph: dict[int, tuple[int, ...]]) -> None:
    found = drafted(graph)
    levels = levels_of(found)
    for id, needed in graph.items():
        assert levels[id] == 1 + max((levels[other] for other in needed), default=0)
    width = Counter(levels.values())
    is_wide, is_deep = max(width.values()) > 1, len(width) > 1
    expected = {
        (False, False): "Single-Hop",
        (True, False): "Parallel Single-Hop",
        (False, True): "Multi-Hop",
        (True, True): "Parallel Multi-Hop",
    }
    assert shape_of(found) == expected[is_wide, is_deep]
    assert reasons(found) == []
    others = [shape for shape in ScenarioType if shape is not shape_of(found)]
    assert {*map(tuple, (reasons(drafted(graph, other)) for other in others))} == {
        ("type_mismatch",)
    }
    depth = max(levels.values())
    assert reasons(found, Wanted(hops=(depth + 1, depth + 2))) == ["hops_out_of_range"]
    assert reasons(found, Wanted(types=tuple(others))) == ["other_type"]


@pytest.mark.claim("P34")
@given(graphs(), st.data())
def test_any_circle_is_refused(graph: dict[int, tuple[int, ...]], data: st.DataObject) -> None:
    low = data.draw(st.sampled_from(sorted(graph)))
    above = {low}
    while more := {id for id, needed in graph.items() if above & {*needed}} - above:
        above |= more
    top = data.draw(st.sampled_from(sorted(above)))
    if top in graph[low]:
        return
    circle = {**graph, low: (*graph[low], top)}
    assert reasons(drafted(circle, ScenarioType.MULTI_HOP)) == ["cycle"]


@pytest.mark.claim("P34")
async def test_the_models_own_levels_and_flags_are_kept_as_signals_and_decide_nothing() -> None:
    subs = (sub(1, hop_level=2, is_parallel=True), sub(2, 1, hop_level=2, is_parallel=False))
    told = [*signals_of(draft(*subs))]
    assert told == [
        "hop_level of 1 is said to be 2, and is 1",
        "is_parallel of 1 is said to be true",
    ]
    made = await gated(instance(*subs))
    assert isinstance(made, Made)
    assert made.outputs[0].value.signals == tuple(told)
    assert made.outputs[0].value.shape is ScenarioType.MULTI_HOP


DATED = "Which code comes in the end for the red door on September 3, 2026, at 1,500 metres?"
SIDE_BY_SIDE = {"scenario_type": "Parallel Single-Hop"}
LATER = sub(1, question="What of September 4, 2026?")
FAULTS: list[tuple[str, tuple[dict[str, Any], ...], dict[str, Any]]] = [
    ("missing_field", (), {"title": " "}),
    ("missing_field", (), {"final_answer": ""}),
    ("missing_field", (sub(1, question=""), sub(2, 1)), {}),
    ("missing_field", tuple(sub(n) for n in range(1, 22)), {}),
    ("empty_answer", (sub(1, answer=" "), sub(2, 1)), {}),
    ("bad_ids", (sub(1), sub(1)), {}),
    ("bad_ids", (sub(0), sub(2)), {}),
    ("bad_ids", (sub(1), sub(2, 1, 1)), {}),
    ("unknown_dependency", (sub(1), sub(2, 7)), {}),
    ("cycle", (sub(1, 2), sub(2, 1)), {}),
    ("cycle", (sub(1, 1), sub(2)), {}),
    ("unspecific_answer", (sub(1, answer="yes"), sub(2, 1)), {}),
    ("unspecific_answer", (sub(1, answer="7"), sub(2, 1)), {}),
    ("answer_in_question", (sub(1, question="Is Elm Gate it?", answer="Elm Gate"), sub(2, 1)), {}),
    ("answer_in_question", (), {"main_question": "Which comes after CODE-111?"}),
    ("ungrounded_value", (sub(1, question="What of BK-20931?"), sub(2, 1)), {}),
    ("ungrounded_value", (sub(1, question=f"What of {'7' * 3000}?"), sub(2, 1)), {}),
    (
        "ungrounded_value",
        (sub(1), sub(2, question="What of CODE-111?")),
        {"scenario_type": "Parallel Single-Hop"},
    ),
    (
        "ungrounded_value",
        (LATER, sub(2, 1)),
        {"main_question": DATED},
    ),
    (
        "ungrounded_value",
        (sub(1, question="What of \uff22\uff2b\uff0d\uff12\uff10\uff19\uff13\uff11?"), sub(2, 1)),
        {},
    ),
    (
        "ungrounded_value",
        (sub(1, question="\u7b2c\uff13\uff12\uff10\u53f7\u8f66\uff1f"), sub(2, 1)),
        {},
    ),
    ("ungrounded_value", (sub(1, question="What of \u0663\u0662\u0660?"), sub(2, 1)), {}),
    ("too_long", (), {"title": "t" * 201}),
    ("too_long", (), {"main_question": "Which code comes in the end? " * 200}),
    ("too_long", (sub(1, answer="a" * 20_000), sub(2, 1)), {}),
    ("hidden_character", (), {"title": "Two\ncodes"}),
    ("hidden_character", (), {"title": "Two \u202esedoc"}),
    ("hidden_character", (), {"main_question": "Which code\x1b[2J comes for the red door?"}),
    ("hidden_character", (sub(1, question="What is\u2066 it?"), sub(2, 1)), {}),
    ("underivable", (), {"final_answer": "CODE-111"}),
]


@pytest.mark.claim("P34")
@pytest.mark.parametrize(("reason", "subs", "more"), FAULTS)
def test_each_fault_is_refused_for_its_own_reason_alone(
    reason: str, subs: tuple[dict[str, Any], ...], more: dict[str, Any]
) -> None:
    assert {*reasons(draft(*subs, **more))} == {reason}


@pytest.mark.parametrize(
    "question",
    ["What of 3 September 2026?", "What of 2026-09-03?", "What of 1500 metres?", "What of step 2?"],
)
def test_what_the_main_question_tells_in_another_spelling_is_grounded(question: str) -> None:
    subs = (sub(1, question=question), sub(2, 1, question="And after CODE-111?"))
    assert reasons(draft(*subs, main_question=DATED)) == []


@pytest.mark.parametrize(
    "title",
    ["Caf\u00e9 \u2013 \u00fcber", "\u591c\u95f4\u5217\u8f66", "\U0001f469\u200d\U0001f680 crew"],
)
def test_what_people_write_is_no_hidden_character(title: str) -> None:
    main = "Which code\n\u3000comes in the end for the red door?"
    assert reasons(draft(title=title, main_question=main)) == []


@pytest.mark.claim("P34")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("14 crates", "fourteen crates"),
        ("14 crates", "\uff11\uff14 crates"),
        ("fourteen crates", "14 crates"),
        ("14\u7bb1", "\u5341\u56db\u7bb1"),
        ("320\u5143", "\u4e09\u767e\u4e8c\u5341\u5143"),
        ("\u4e09\u767e\u4e8c\u5341\u5143", "320\u5143"),
    ],
)
def test_an_answer_that_a_question_tells_in_another_spelling_is_refused(
    answer: str, told: str
) -> None:
    subs = (sub(1, question=f"Why {told}?", answer=answer), sub(2, 1))
    assert reasons(draft(*subs))[0] == "answer_in_question"
    main = f"Which code comes for the red door with {told}?"
    assert reasons(draft(sub(1, answer=answer), sub(2, 1), main_question=main)) == [
        "answer_in_question"
    ]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("4 crates", "twenty-four crates"),
        ("4 crates", "one hundred and four crates"),
        ("14\u7bb1", "\u4e8c\u5341\u56db\u7bb1"),
        ("14 crates", "fourteen boxes"),
    ],
)
def test_a_number_within_a_longer_one_is_another_one(answer: str, told: str) -> None:
    main = f"Which code comes for the red door with {told}?"
    assert reasons(draft(sub(1, answer=answer), sub(2, 1), main_question=main)) == []


@given(st.integers(10, 9999))
def test_a_number_is_grounded_however_the_main_question_spells_it(number: int) -> None:
    for way in spelled(str(number)):
        main = f"Which code comes for the red door, {' '.join(way)} of them?"
        subs = (sub(1, question=f"What of {number}?"), sub(2, 1))
        assert reasons(draft(*subs, main_question=main)) == []
        assert says(main, str(number))


@pytest.mark.parametrize("field", ["id", "hop_level", "dependencies", "derivation"])
def test_a_number_that_no_other_program_reads_is_none_of_the_form(field: str) -> None:
    long = 2**64
    told = draft().model_dump(mode="json")
    if field == "derivation":
        told["derivation"]["sub_questions"] = [long]
    else:
        told["sub_questions"][0][field] = [long] if field == "dependencies" else long
    with pytest.raises(ValidationError, match="64 bits"):
        Draft.model_validate(told)
    assert Draft.model_validate(draft().model_dump(mode="json")) == draft()


@pytest.mark.claim("P33")
async def test_what_code_cannot_derive_goes_on_with_a_note_for_the_judge() -> None:
    for final, is_open in (
        ("CODE-111 and CODE-222", False),
        ("CODE-111, but never CODE-222", True),
    ):
        made = await gated(instance(final_answer=final))
        assert isinstance(made, Made)
        assert made.outputs[0].value.is_derivation_open is is_open


@pytest.mark.claim("P41")
async def test_answers_are_marked_by_where_they_come_from_and_strictness_refuses_made_up_ones() -> (
    None
):
    corpus = "The first code is CODE-111, it says."
    made = await gated(instance(corpus=corpus))
    assert isinstance(made, Made)
    assert made.outputs[0].value.origins == {1: Origin.FROM_CORPUS, 2: Origin.SYNTHESIZED}
    strict = await gated(instance(corpus=corpus), Wanted(is_strict=True))
    assert isinstance(strict, Rejected)
    assert (strict.reason, "CODE-222" in strict.detail) == ("not_in_corpus", True)
    whole = await gated(instance(corpus=corpus + " CODE-222"), Wanted(is_strict=True))
    assert isinstance(whole, Made)
    free = await gated(instance())
    assert isinstance(free, Made)
    assert free.outputs[0].value.origins == {}


@pytest.mark.claim("P32")
async def test_a_question_that_was_given_stays_word_for_word() -> None:
    same = await gated(instance(asked_question="Which code  comes in\nthe end for the red door?"))
    assert isinstance(same, Made)
    other = await gated(instance(asked_question="Which code is it?"))
    assert isinstance(other, Rejected)
    assert other.reason == "other_question"


async def test_a_domain_is_one_of_the_labels_however_it_is_spelled() -> None:
    made = await gated(instance(domain="Food and-Dining", label=None))
    assert isinstance(made, Made)
    assert made.outputs[0].value.label == "food_and_dining"
    other = await gated(instance(domain="things", label=None))
    assert isinstance(other, Rejected)
    assert other.reason == "unknown_domain"


@pytest.mark.claim("P50")
@pytest.mark.parametrize(("reason", "subs", "more"), FAULTS)
async def test_a_control_run_lets_all_through_and_notes_what_the_gate_would_refuse(
    reason: str, subs: tuple[dict[str, Any], ...], more: dict[str, Any]
) -> None:
    made = await gated(instance(*subs, **more), is_open=True)
    assert isinstance(made, Made)
    assert made.outputs[0].value.gate_faults == (reason,)
