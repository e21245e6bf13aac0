"""Thoughts in a content: what is said never holds them, and nothing of either is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.llm.thoughts import split_thoughts


@pytest.mark.claim("P73")
@pytest.mark.parametrize(
    ("text", "content", "thoughts"),
    [
        ("It rains.", "It rains.", None),
        (None, None, None),
        (" It rains.\n", " It rains.\n", None),
        ("<think>Oslo?</think>\n\nIt rains.", "It rains.", "Oslo?"),
        ("<think>\n\n</think>\n\nIt rains.", "It rains.", None),
        ("Oslo?</think>It rains.", "It rains.", "Oslo?"),
        ("<think>Oslo? I look", None, "Oslo? I look"),
        ("I look. <think>Where?", "I look.", "Where?"),
        ("<think>a</think>b<THINKING>c</THINKING>d", "b\n\nd", "a\n\nc"),
        ("<think>a<think>b</think>c</think>d", "d", "a\n\nb\n\nc"),
        ("[THINK]嗯[/THINK]下雨。", "下雨。", "嗯"),
        ("Write `<think>` before it.", "Write `<think>` before it.", None),
        ("```\n<think>x</think>\n```\nSo.", "```\n<think>x</think>\n```\nSo.", None),
        ("<think>in `</think>` code", "` code", "in `"),
        ("<think>ab", None, "ab"),
        ("<thinker>a</thinker>", "<thinker>a</thinker>", None),
    ],
)
def test_thoughts_are_taken_out_of_what_is_said(
    text: str | None, content: str | None, thoughts: str | None
) -> None:
    assert split_thoughts(text) == (content, thoughts)


def test_what_the_endpoint_kept_apart_comes_first() -> None:
    assert split_thoughts("<think>b</think>c", "a") == ("c", "a\n\nb")
    assert split_thoughts("c", "a") == ("c", "a")


words = st.text("abc ", max_size=6)


@given(st.lists(st.tuples(st.booleans(), words), max_size=6), st.booleans())
def test_every_piece_ends_on_its_side(pieces: list[tuple[bool, str]], is_cut: bool) -> None:
    text = "".join(f"<think>{w}</think>" if thought else w for thought, w in pieces)
    if is_cut and pieces and pieces[-1][0]:
        text = text.removesuffix("</think>")

    said = split_thoughts(text)

    for is_thought, part in ((False, said.content), (True, said.thoughts)):
        expected = "".join(w for thought, w in pieces if thought is is_thought)
        assert "".join((part or "").split()) == "".join(expected.split())


@given(st.text("`a\n<>/thinkTHINK[]", max_size=30).map(lambda t: t.replace("`", "")))
def test_without_code_no_tag_is_left(text: str) -> None:
    said = split_thoughts(f"{text}<think>b</think>{text}")

    assert split_thoughts(said.content) == (said.content, None)
