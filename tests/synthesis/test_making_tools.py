"""Tools of sub-questions: document, scaling, call, code, a run; all of an instance or none."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.environments.building.accepting import Accepting
from astra_mcp.synthesis.environments.building.making_tools import BuildAttempts, ToolSynthesis
from astra_mcp.synthesis.environments.building.tool import Built, Tool

from scripted_synthesis import InThisProcess, ScriptedAsks, instance, lookup, lookup_code, sub

ONE = instance(sub(1, answer="Elm Gate"), scenario_type="Single-Hop")
DOCUMENT = lookup(1, "a", {"a": "Elm Gate", "b": "Oak Gate"}).document.model_dump(mode="json")
GOOD = {"code": lookup_code({"a": "Elm Gate", "b": "Oak Gate"}), "neighbours": {"key": ["b"]}}
MUTE = {"code": lookup_code({"a": "Nobody", "b": "Oak Gate"})}
CONSTANT = {"code": "def find_code(key):\n    return 'Elm Gate'\n", "neighbours": {"key": ["b"]}}


BAD_ANSWERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("tool_document", lambda value: {**DOCUMENT, "input_schema": {"default": value}}),
    ("call", lambda value: {"arguments": {"key": [value]}}),
    ("call", lambda value: {"arguments": {"key": "a"}, "sources": {"key": [value]}}),
    ("implementation", lambda value: {**GOOD, "neighbours": {"note": [{"of": value}]}}),
]


def model(**answers: Any) -> ScriptedAsks:
    """A model that makes a good tool but for what is said otherwise."""
    found = {"tool_document": DOCUMENT, "scaling": DOCUMENT, "call": {"arguments": {"key": "a"}}}
    return ScriptedAsks(**{**found, "implementation": GOOD, **answers})


async def made(asked: ScriptedAsks, found: Any = ONE, **attempts: int) -> Made[Built] | Rejected:
    """What the stage makes of an instance."""
    stage = ToolSynthesis(asked, "m", InThisProcess(), BuildAttempts(**attempts))
    return await stage.run(Item(id="s/1", value=found))


@pytest.mark.claim("P45")
async def test_the_document_is_widened_and_the_call_is_made_of_question_and_document_alone() -> (
    None
):
    scaled = {**DOCUMENT, "description": "Widened."}
    asked = model(scaling=scaled)
    built = await made(asked)
    assert isinstance(built, Made)
    assert built.outputs[0].value.tools[0].document.description == "Widened."
    assert asked.names() == ["tool_document", "scaling", "call", "implementation"]
    told = {name: user for name, user, _ in asked.asked}
    assert "Widened." in told["call"]
    assert {name: "Elm Gate" in user for name, user in told.items()} == {
        "tool_document": True,
        "scaling": True,
        "call": False,
        "implementation": True,
    }


@pytest.mark.claim("P46")
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (MUTE, "does not state the answer 'Elm Gate'"),
        (CONSTANT, "with another record, states the answer"),
        ({"code": "def find_code(key)\n"}, "does not parse"),
        ({"code": lookup_code({"b": "Oak Gate"})}, "fails the answer"),
    ],
    ids=["another answer", "a constant", "no python", "an error"],
)
async def test_code_that_does_not_find_its_answer_is_tried_again_from_the_call(
    bad: dict[str, Any], words: str
) -> None:
    def second_is_good(_: str, sample: int) -> dict[str, Any]:
        return GOOD if sample else bad

    asked = model(implementation=second_is_good)
    built = await made(asked)
    assert isinstance(built, Made)
    assert asked.names() == ["tool_document", "scaling", *["call", "implementation"] * 2]
    (attempt,) = built.outputs[0].value.attempts
    assert words in attempt.complaint
    assert all(words in user for _, user, sample in asked.asked if sample)


@pytest.mark.parametrize("value", [2**64, float("inf"), "\ud800"], ids=["long", "infinite", "half"])
@pytest.mark.parametrize(
    ("prompt", "answer"),
    BAD_ANSWERS,
)
async def test_what_no_other_program_reads_is_not_of_the_form_of_an_answer(
    prompt: str, answer: Callable[[Any], Any], value: Any
) -> None:
    with pytest.raises(ValidationError):
        await made(model(**{prompt: answer(value)}))


@pytest.mark.claim("P46")
async def test_attempts_are_bounded_from_the_call_and_from_the_document() -> None:
    asked = model(implementation=MUTE)
    refused = await made(asked, inner=2, outer=3)
    assert isinstance(refused, Rejected)
    assert refused.reason == "no_implementation"
    assert "in 6 attempts" in refused.detail
    assert asked.names() == ["tool_document", "scaling", *["call", "implementation"] * 2] * 3


@pytest.mark.claim("P47")
async def test_an_instance_has_all_its_tools_or_is_none() -> None:
    def without_second(user: str, _: int) -> dict[str, Any]:
        return MUTE if '"id": 2' in user else GOOD

    both = instance(sub(1, answer="Elm Gate"), sub(2, answer="Elm Gate"))
    refused = await made(model(implementation=without_second), both, inner=1, outer=1)
    assert isinstance(refused, Rejected)
    assert "sub-question 2" in refused.detail
    leaf = both.sub_questions[1].model_copy(update={"needs_tool": False})
    partly = both.model_copy(update={"sub_questions": (both.sub_questions[0], leaf)})
    built = await made(model(implementation=without_second), partly, inner=1, outer=1)
    assert isinstance(built, Made)
    assert [tool.solves for tool in built.outputs[0].value.tools] == [(1,)]


class Examiner:
    """An acceptance that refuses tools by a word in their code, and names them."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.num_examined = 0

    async def __call__(self, bundle: Bundle) -> list[FailedCheck]:
        """Refuse."""
        self.num_examined += 1
        is_bad = self.word in bundle.code
        return [FailedCheck.of(Check.OPEN_TABLE, "find_code shows Oak Gate")] if is_bad else []


def pair() -> Built:
    """Two tools, of which one is refused."""
    both = instance(sub(1, answer="Elm Gate"), sub(2, answer="Ash Gate"))
    both = both.model_copy(update={"scenario_type": "Parallel Single-Hop"})
    first = lookup(1, "a", {"a": "Elm Gate", "b": "Oak Gate"})
    second = lookup(2, "c", {"c": "Ash Gate"}, name="seek_name")
    return Built(instance=both, tools=(first, second))


def repaired(tool: Tool, records: dict[str, str]) -> dict[str, Any]:
    """The answer that gives a tool other records."""
    return {**tool.model_dump(mode="json"), "code": lookup_code(records)}


@pytest.mark.claim("P48")
async def test_what_the_acceptance_says_is_what_the_tool_that_it_names_is_mended_by() -> None:
    asked = ScriptedAsks(repair=repaired(pair().tools[0], {"a": "Elm Gate", "d": "Fir Gate"}))
    examiner = Examiner("Oak Gate")
    stage = Accepting(asked, "m", InThisProcess(), examiner, "1", BuildAttempts())
    done = await stage.run(Item(id="s/1", value=pair()))
    assert isinstance(done, Made)
    built = done.outputs[0].value
    assert "Fir Gate" in built.tools[0].code
    assert built.tools[1] == pair().tools[1]
    assert [(a.step, a.sub_questions) for a in built.attempts] == [("accept", (1,))]
    assert [("open_table: find_code shows Oak Gate" in user) for _, user, _ in asked.asked] == [
        True
    ]
    assert examiner.num_examined == 2


@pytest.mark.claim("P48")
async def test_what_is_never_mended_is_rejected_for_what_the_acceptance_said_first() -> None:
    asked = ScriptedAsks(repair=repaired(pair().tools[0], {"a": "Elm Gate", "b": "Oak Gate"}))
    examiner = Examiner("Oak Gate")
    stage = Accepting(asked, "m", InThisProcess(), examiner, "1", BuildAttempts(outer=2))
    refused = await stage.run(Item(id="s/1", value=pair()))
    assert refused == Rejected("open_table", "open_table: find_code shows Oak Gate")
    assert (examiner.num_examined, len(asked.asked)) == (3, 2)


async def test_a_repair_that_solves_less_or_does_not_run_is_told_so_and_never_taken() -> None:
    less: dict[str, Any] = {**repaired(pair().tools[0], {"a": "Elm Gate"}), "calls": []}
    broken: dict[str, Any] = {
        **less,
        "calls": repaired(pair().tools[0], {})["calls"],
        "code": "def",
    }
    answers: list[dict[str, Any]] = [less, broken]

    def in_turn(_: str, sample: int) -> dict[str, Any]:
        return answers[sample % 2]

    asked = ScriptedAsks(repair=in_turn)
    stage = Accepting(
        asked, "m", InThisProcess(), Examiner(""), "1", BuildAttempts(inner=2, outer=1)
    )
    mended = await stage.repair(pair(), ["find_code is bad"], sample=0)
    assert mended.tools == pair().tools
    assert "calls solve ()" in mended.attempts[1].complaint
    assert "does not parse" in mended.attempts[2].complaint
    assert "calls solve ()" in asked.asked[1][1]
