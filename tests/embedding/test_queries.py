"""Of a query the words remain that say what is searched for, with what tools say for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.embedding.queries import query_words
from astra_mcp.embedding.words import split_words


def words(text: str) -> set[str]:
    return set(split_words(text))


def test_of_a_question_the_words_remain_that_say_what_is_searched_for() -> None:
    question = "Hello, could you please tell my sister on Monday 12 May which pharmacy is open?"
    assert set(query_words(question).asked) == words("pharmacy open")
    asked = set(query_words("你好, 麻烦帮我看看今天的天气").asked)
    assert "天气" in asked
    assert not words("今天 看看 麻烦") & asked


def test_a_short_query_keeps_what_a_question_would_lose() -> None:
    assert set(query_words("new day 42").asked) == words("new day 42")


@pytest.mark.parametrize(
    "particular", ["https://example.com/forum/a", "someone@forum.example.com", "0xF00ba7Bc12"]
)
def test_addresses_are_not_searched_for_where_other_words_are(particular: str) -> None:
    assert query_words(f"open {particular}").asked == ("open",)
    assert query_words(particular).asked


def test_a_name_and_its_number_are_one_word_as_in_names_of_tools() -> None:
    assert "sha256" in query_words("the SHA-256 of a file").asked


@pytest.mark.parametrize(
    ("form", "base"), [("sent", "send"), ("written", "write"), ("feet", "foot")]
)
def test_irregular_forms_are_searched_for_by_their_base(form: str, base: str) -> None:
    assert set(query_words(form).asked) == words(base)


def test_what_tools_say_for_an_everyday_word_is_searched_for_with_less_weight() -> None:
    photo = query_words("photo album")
    assert "imag" in photo.meant
    assert not set(photo.asked) & set(photo.meant)
    question = query_words(
        "Could I perhaps see an old photo album of the wooden boat that he built?"
    )
    assert 0 < photo.weights["imag"] < question.weights["imag"] < question.weights["photo"] == 1


async def test_a_question_is_like_the_tool_that_says_it_in_other_words() -> None:
    question = "Could you send me one photo of the old harbour, please, before Tuesday evening?"
    texts = ["Finds an image by keyword", "Finds a holiday by date"]
    wanted = (await LexicalEmbedder().embed([question], as_query=True))[0]
    image, holiday = (await LexicalEmbedder().embed(texts)) @ wanted
    assert image > 0.2
    assert image > 2 * holiday


@given(st.text())
def test_any_query_gives_some_distinct_words_or_has_none(text: str) -> None:
    found = query_words(text)
    together = (*found.asked, *found.meant)
    assert len(set(together)) == len(together) <= 64
    assert bool(found.asked) is any(split_words(text))
