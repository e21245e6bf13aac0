"""Finding the answer in what a model wrote; what is no answer is a failure of a kind."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from astra_mcp.errors import ModelFault
from astra_mcp.llm.chat import ChatReply
from astra_mcp.llm.reading import UnreadableAnswerError, read_answer


class Verdict(BaseModel):
    """An answer as templates ask for them."""

    model_config = ConfigDict(frozen=True)

    score: int
    why: str = ""


class Anything(BaseModel):
    """An answer of which nothing is required."""

    model_config = ConfigDict(frozen=True, extra="allow")


def read(text: str | None, finish_reason: str = "stop", **more: Any) -> Verdict:
    reply = ChatReply(content=text, finish_reason=finish_reason, **more)
    return read_answer(reply, Verdict)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"score": 1, "why": "ok"}', id="bare"),
        pytest.param('```json\n{"score": 1, "why": "ok"}\n```', id="fenced"),
        pytest.param('```\n{"score": 1, "why": "ok"}', id="a fence that stays open"),
        pytest.param('Here it is: {"score": 1, "why": "ok"} I hope it helps.', id="words around"),
        pytest.param('<think>{"score": 5}</think>{"score": 1, "why": "ok"}', id="a thought"),
        pytest.param('Is it {"score": 5}?</think>\n{"score": 1, "why": "ok"}', id="only its end"),
        pytest.param(
            '<think>a</think>hm<THINK>b</THINK> {"score": 1, "why": "ok"}', id="two thoughts"
        ),
        pytest.param('[THINK]{"score": 5}[/THINK]{"score": 1, "why": "ok"}', id="in brackets"),
        pytest.param('{"score": 1, "why": "ok"}<think>{"score": 5}', id="a thought after it"),
        pytest.param('[{"score": 1, "why": "ok"}]', id="in a list"),
        pytest.param('{"score": 1, "why": "ok"} and again {"why": "ok", "score": 1}', id="twice"),
        pytest.param('For {x} the answer is {"score": 1, "why": "ok"}', id="other braces"),
        pytest.param("{'score': 1, 'why': 'ok'}", id="single quotes"),
        pytest.param('{"score": 1, "why": "ok",}', id="a comma too many"),
        pytest.param('{"score": 1 "why": "ok"}', id="a comma too few"),
        pytest.param('{score: 1, why: "ok"}', id="names without quotes"),
        pytest.param('{"score": 1, // good\n"why": "ok"}', id="a comment"),
    ],
)
def test_an_answer_is_found_whatever_stands_around_it(text: str) -> None:
    assert read(text) == Verdict(score=1, why="ok")


@pytest.mark.parametrize(
    "why",
    ["a } in it", '{"score": 2}', "<think>", "</think>", "```", "\\", '"', "...", "北京", "it's"],
)
def test_what_looks_like_a_mark_is_text_in_a_string(why: str) -> None:
    text = json.dumps({"score": 1, "why": why}, ensure_ascii=False)
    assert read(text).why == why
    if "think" not in why:
        assert read(f"So: {text} That is all.").why == why


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, ModelFault.EMPTY),
        ("", ModelFault.EMPTY),
        (" \n", ModelFault.EMPTY),
        ("<think>Hm.</think>", ModelFault.EMPTY),
        ('<think>It could be {"score": 1}', ModelFault.EMPTY),
        ("I cannot say.", ModelFault.NOT_JSON),
        ("[1, 2]", ModelFault.NOT_JSON),
        ('"words"', ModelFault.NOT_JSON),
        ("null", ModelFault.NOT_JSON),
        ("{}", ModelFault.INVALID),
        ('{"score": "high"}', ModelFault.INVALID),
        ('{"score": 1} or rather {"score": 2}', ModelFault.INVALID),
        ('[{"score": 1}, {"score": 2}]', ModelFault.INVALID),
        ('{"score": 1, "score": 2}', ModelFault.INVALID),
        ('{"score": NaN}', ModelFault.INVALID),
        ('{"score": 1, "why": "\\ud800"}', ModelFault.INVALID),
        ('{"score": 1, "why": "it goes on', ModelFault.TRUNCATED),
        ('{"score": 1, "why": "ok"', ModelFault.TRUNCATED),
        ('{"score": 1, "why": ["a", "b"', ModelFault.TRUNCATED),
        ('{"score": 1} and then {"score": ', ModelFault.TRUNCATED),
        ('"score": 1}', ModelFault.TRUNCATED),
        ("{'score': 1, 'why': ...}", ModelFault.TRUNCATED),
        ("{'score': 1, 'list': [1, 2, ...]}", ModelFault.TRUNCATED),
        ("{" * 5000 + "}" * 5000, ModelFault.INVALID),
        ('{"score":' * 5000 + "1" + "}" * 5000, ModelFault.INVALID),
        ("{'score':" * 500 + "1" + "}" * 500, ModelFault.INVALID),
    ],
)
def test_what_is_no_answer_fails_by_its_kind(text: str | None, fault: ModelFault) -> None:
    with pytest.raises(UnreadableAnswerError) as caught:
        read(text)
    assert caught.value.fault is fault, caught.value.message


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"finish_reason": "length"}, ModelFault.TRUNCATED),
        ({"finish_reason": "content_filter"}, ModelFault.DECLINED),
        ({"refusal": "I would rather not."}, ModelFault.DECLINED),
    ],
)
def test_an_answer_that_was_cut_or_declined_is_none_even_where_it_could_be_read(
    more: dict[str, str], fault: ModelFault
) -> None:
    with pytest.raises(UnreadableAnswerError) as caught:
        read('{"score": 1}', **more)
    assert caught.value.fault is fault


def test_a_form_of_the_wrong_kind_is_said_with_field_and_fault() -> None:
    with pytest.raises(UnreadableAnswerError, match=r"score: .*valid integer"):
        read('{"score": "high"}')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.text(min_size=1, max_size=8), VALUES, min_size=1, max_size=5)


@given(
    DOCUMENTS, st.sampled_from(["{}", "So: {}", "```json\n{}\n```", "<think>hm</think>{} Done."])
)
def test_any_object_is_read_as_it_was_written(document: dict[str, Any], around: str) -> None:
    text = around.replace("{}", json.dumps(document))
    reply = ChatReply(content=text, finish_reason="stop")
    assert read_answer(reply, Anything).model_extra == document


@given(DOCUMENTS, st.data())
def test_no_beginning_of_an_object_is_ever_taken_for_an_answer(
    document: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(document)
    end = data.draw(st.integers(min_value=1, max_value=len(text) - 1))
    with pytest.raises(UnreadableAnswerError) as caught:
        read_answer(ChatReply(content=text[:end], finish_reason="stop"), Anything)
    assert caught.value.fault is ModelFault.TRUNCATED


@given(st.text(alphabet='{}[]"\\:, .<think>/ab1\n', max_size=60))
def test_any_text_is_an_answer_or_a_failure_of_a_kind(text: str) -> None:
    with suppress(UnreadableAnswerError):
        read_answer(ChatReply(content=text, finish_reason="stop"), Anything)
