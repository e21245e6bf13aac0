"""What is said of episodes: by templates, by a file and by a model; and which of it teaches nothing."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.completions import Answer
from astra_mcp.errors import ConfigError
from astra_mcp.reward import Reward
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from astra_mcp.types import JsonObject, JsonValue
from gateway.api.seams import GoldCall
from training.signals.supervision.gold import Speech
from training.signals.supervision.guidance import Guidance
from training.signals.supervision.lessons import Lesson
from training.signals.supervision.questions import QuestionKey
from training.signals.supervision.reflections import (
    Reflection,
    call_fault,
    lessons_of_reflections,
    reflect,
    require_speakable,
)
from training.signals.supervision.reviews import error_turn, read_texts, turns_of
from training.signals.supervision.settings import SignalSettings

from asked_models import a_model
from completions_server import Body, CompletionsServer, says
from own_templates import make_renderer
from scripted_policy import CharacterTokenizer, tiny_renderer
from trajectories import a_trajectory

RENDERER, TOKENIZER = tiny_renderer(), CharacterTokenizer()
KEY = QuestionKey("harbour", None)
GOLD = [
    GoldCall(tool="look", arguments={"ship": "Ada"}, solves=(0,)),
    GoldCall(tool="weigh", arguments={}, solves=(1,)),
]


def tool(name: str, **properties: JsonValue) -> JsonObject:
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = (tool("look", ship={"type": "string"}), tool("weigh"))


def asked(id: str, name: str, arguments: str) -> AssistantMessage:
    return AssistantMessage(
        tool_calls=(ToolCall(id=id, function=FunctionCall(name=name, arguments=arguments)),)
    )


def note(id: str, **facts: Any) -> CallNote:
    given: dict[str, Any] = {"is_error": False, "server": "harbour", **facts}
    return CallNote(tool_call_id=id, seq=None, **given)


def episode(sample: int = 0, *, group: int = 3, is_solved: bool = False) -> Trajectory:
    """Look, which solves the first sub-task, then look again in vain, or weigh, which solves the other."""
    second = ("weigh", "{}", (1,)) if is_solved else ("look", '{"ship": "Bee"}', ())
    messages: tuple[Message, ...] = (
        UserMessage(content="How heavy is the Ada?"),
        asked("c1", "look", '{"ship": "Ada"}'),
        ToolMessage(tool_call_id="c1", content="a ship"),
        asked("c2", second[0], second[1]),
        ToolMessage(tool_call_id="c2", content="a bee"),
        AssistantMessage(content="I do not know."),
    )
    recall = 1.0 if is_solved else 0.5
    return a_trajectory(
        source={"kind": "environment", "name": "harbour", "question": None},
        labels={"group": str(group)},
        sample=sample,
        tools=TOOLS,
        messages=messages,
        calls=(note("c1", tool="look", solved=(0,)), note("c2", tool=second[0], solved=second[2])),
        reward=Reward(reward=recall, recall=recall, precision=1, solved=1, calls=2),
    )


def guidance(**reflections: Any) -> Guidance:
    settings = SignalSettings.model_validate(
        {
            "schedule": {"first": 1},
            "supervision": {"learning_rate": 0.1, "kind": "reflections"},
            "reflections": reflections,
        }
    )
    file = settings.reflections.file
    return Guidance(
        settings=settings,
        speech=Speech(RENDERER, TOKENIZER),
        gold={KEY: GOLD},
        hints={},
        texts=read_texts(file, [KEY]) if file else (),
    )


def taught(lesson: Lesson) -> tuple[str, str]:
    """What the policy is shown, and what it is to write."""
    begin = lesson.mask.index(True)
    assert all(lesson.mask[begin:])
    return TOKENIZER.decode(lesson.ids[:begin]), TOKENIZER.decode(lesson.ids[begin:])


def calls_in(text: str) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in RENDERER.dialect.read(text).calls]


def test_the_error_turn_is_the_first_that_did_nothing_for_what_was_left() -> None:
    failed, solved = episode(), episode(is_solved=True)
    turns = turns_of(failed, GOLD)
    assert error_turn(failed, turns) == 1
    assert [[call.tool for call in turn.missing] for turn in turns] == [
        ["look", "weigh"],
        ["weigh"],
        ["weigh"],
    ]
    assert error_turn(solved, turns_of(solved, GOLD)) is None


async def test_templates_say_what_record_and_gold_say() -> None:
    window = [episode(1), episode(0), episode(0, group=4, is_solved=True)]
    review, analysis, other = await reflect(window, guidance(), None)
    assert [each.kind for each in (review, analysis, other)] == ["review", "analysis", "review"]
    assert {each.dropped for each in (review, analysis, other)} == {None}
    look, weigh = ("look", '{"ship": "Ada"}'), ("weigh", "{}")
    assert calls_in(review.text) == [look, weigh, weigh]
    assert "Mistakes: the result of look holds no answer that was asked for." in review.text
    assert calls_in(analysis.text) == [weigh] * 5  # the fix, and four scenarios
    assert analysis.text.count("\nScenario ") == 4
    assert analysis.text.count("\nCounter-case ") == 1
    assert calls_in(other.text) == [look, weigh]


@pytest.mark.parametrize("condition", ["question", "analysis_prompt"])
async def test_a_reflection_is_learned_behind_the_question_or_the_prompt_that_asks_for_it(
    condition: Literal["question", "analysis_prompt"],
) -> None:
    told = guidance(condition=condition)
    reflections = await reflect([episode()], told, None)
    (lesson, _), dropped = lessons_of_reflections(reflections, told)
    assert not dropped
    shown, said = taught(lesson)
    assert said == reflections[0].text + RENDERER.end
    if condition == "question":
        assert shown == RENDERER.prompt(episode().messages[:1], TOOLS)
    else:
        assert "Review, turn by turn" in shown
        assert "I do not know." in shown


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Look closer.", None),
        ('Well:\n<tool_call>\n{"name": "weigh", "arguments": {}}\n</tool_call>\nSo.', None),
        ('<tool_call>\n{"name": "weigh", "arguments": {}\n</tool_call>', "unreadable_call"),
        ("Write <tool_call> first.", "unreadable_call"),
        ('<tool_call>\n{"name": "sink", "arguments": {}}\n</tool_call>', "unknown_tool"),
        ('<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>', "bad_arguments"),
        (
            '<tool_call>\n{"name": "look", "arguments": {"ship": 3}}\n</tool_call>',
            "bad_arguments",
        ),
        ("End with <|im_end|> here.", "control_token"),
        ("Begin with <|im_start|> here.", "control_token"),
    ],
)
async def test_a_call_that_could_not_be_made_drops_a_reflection_by_its_reason(
    tmp_path: Path, text: str, fault: str | None
) -> None:
    assert call_fault(text, TOOLS, RENDERER) == fault
    rows = tmp_path / "said.jsonl"
    row = {"environment": "harbour", "kind": "review", "text": text}
    other = {**row, "environment": "quay"}  # which nobody played
    rows.write_text("".join(f"{json.dumps(each)}\n" for each in (row, other)))
    told = guidance(source="file", file=rows)
    reflections = await reflect([episode()], told, None)
    assert [each.dropped for each in reflections] == [fault]
    lessons, dropped = lessons_of_reflections(reflections, told)
    assert (len(lessons), dict(dropped)) == ((1, {}) if fault is None else (0, {fault: 1}))


async def test_a_text_that_says_nothing_is_dropped_of_a_model_and_refused_in_a_file(
    tmp_path: Path,
) -> None:
    assert call_fault(" \n", TOOLS, RENDERER) == "empty"
    rows = tmp_path / "said.jsonl"
    rows.write_text(json.dumps({"environment": "harbour", "kind": "review", "text": " \n"}))
    with pytest.raises(ConfigError, match="row 1: text: it says nothing"):
        await reflect([episode()], guidance(source="file", file=rows), None)


@given(st.text())
def test_no_text_breaks_the_check(text: str) -> None:
    fault = call_fault(text, TOOLS, RENDERER)
    if fault is None:
        made = Reflection(
            kind="review",
            key=KEY,
            messages=(UserMessage(content="?"),),
            shown_tools=TOOLS,
            tools=TOOLS,
            text=text,
        )
        ((lesson,), _) = lessons_of_reflections([made], guidance())
        assert TOKENIZER.decode(lesson.ids).endswith(text + RENDERER.end)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"environment": "harbour", "kind": "poem", "text": "x"},
            r"row 1: kind: has to be one of review, analysis",
        ),
        (
            {"environment": "quay", "kind": "review", "text": "x"},
            r"said\.jsonl has no text about a question of \[\[data\]\]",
        ),
    ],
)
def test_a_file_that_says_nothing_of_what_is_played_is_refused(
    tmp_path: Path, row: JsonObject, message: str
) -> None:
    rows = tmp_path / "said.jsonl"
    rows.write_text(json.dumps(row) + "\n")
    with pytest.raises(ConfigError, match=message):
        read_texts(rows, [KEY])


def test_a_run_goes_on_with_the_texts_with_which_it_began(tmp_path: Path) -> None:
    rows = tmp_path / "said.jsonl"

    def digests(text: str) -> dict[str, str]:
        row = {"environment": "harbour", "kind": "review", "text": text}
        rows.write_text(json.dumps(row) + "\n")
        return guidance(source="file", file=rows).digests

    first, again, other = digests("Right."), digests("Right."), digests("Wrong.")
    assert first == again
    assert [name for name in first if first[name] != other[name]] == ["the reflections"]


async def test_a_model_fills_the_forms_and_is_held_to_the_tools(
    completions: CompletionsServer,
) -> None:
    def turn(name: str) -> JsonObject:
        calls: list[Any] = [{"name": name, "arguments": {}}]
        return {"intent": "i", "success": "s", "mistakes": "m", "ideal_calls": calls}

    case: dict[str, Any] = {"category": "c", "situation": "s", "calls": [], "criteria": ["k"]}
    review_form = {"turns": [turn("weigh"), turn("weigh")]}
    analysis_form: dict[str, Any] = {
        "root_cause": "r",
        "evidence": ["a", "b"],
        "fix": "f",
        "calls": [{"name": "sink", "arguments": {}}],
        "scenarios": [case] * 3,
        "counter_case": case,
    }

    def reply(body: Body) -> Answer:
        is_review = "Review, turn by turn" in str(body["messages"])
        return says(json.dumps(review_form if is_review else analysis_form))

    completions.always = reply
    async with a_model(completions) as adviser:
        review, analysis = await reflect([episode()], guidance(source="model"), adviser)
    assert calls_in(review.text) == [("weigh", "{}")] * 2
    assert (review.dropped, analysis.dropped) == (None, "unknown_tool")
    with pytest.raises(ConfigError, match="given no model"):
        await reflect([episode()], guidance(source="model"), None)


def test_a_dialect_without_calls_between_words_is_refused() -> None:
    require_speakable(RENDERER)
    require_speakable(make_renderer("mistral"))
    with pytest.raises(ConfigError, match="in the dialect llama no calls stand between words"):
        require_speakable(make_renderer("llama"))
