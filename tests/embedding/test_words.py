"""Words of queries and of documents meet, whatever their script and form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.embedding.words import STOP_WORDS, english_of, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("get_weather-forecast", ["get", "weather", "forecast"]),
        ("getGitHubIssue", ["get", "git", "hub", "issu", "getgit", "github", "hubissu"]),
        ("1HourData", ["1", "hour", "data", "1hour", "hourdata"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("\uff26\uff35\uff2c\uff2c\u3000width", ["full", "width"]),
        ("天", ["天"]),
        ("", []),
        ("¡…!", []),
    ],
)
def test_names_and_texts_are_split_where_their_words_meet(text: str, words: list[str]) -> None:
    assert list(split_words(text)) == words


@pytest.mark.parametrize("name", ["GitHub", "mp3", "TikTok"])
def test_a_joined_name_is_found_whole_and_by_its_parts(name: str) -> None:
    words = list(split_words(name))
    assert len(words) >= 3
    assert "".join(words[:-1]) == words[-1] == name.lower()


def test_names_joined_in_different_ways_share_a_word() -> None:
    assert "oauth" in set(split_words("OAuth2")) & set(split_words("oauth2"))
    assert "github" in set(split_words("getGitHubIssue")) & set(split_words("GITHUB"))


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        ("currency", "currencies", True),
        ("translate", "translation", True),
        ("convert", "conversions", True),
        ("forecasts", "Forecasting", True),
        ("listed", "list", True),
        ("running", "runs", True),
        ("news", "new", False),
        ("conversion", "conversation", False),
        ("general", "generate", False),
        ("status", "stat", False),
        ("string", "str", False),
        ("note", "not", False),
    ],
)
def test_forms_of_one_english_word_are_equal_and_words_that_only_look_alike_are_not(
    one: str, other: str, are_equal: bool
) -> None:
    assert (list(split_words(one)) == list(split_words(other))) is are_equal


def test_every_two_characters_of_chinese_are_a_word_and_common_words_are_followed_by_their_english() -> (
    None
):
    assert list(split_words("上海天气weather")) == ["上海", "海天", "天气", "weather", "weather"]


def test_the_longest_known_chinese_word_is_taken() -> None:
    assert list(english_of("看加密货币汇率")) == ["cryptocurrency", "exchange rate"]


def test_stop_words_are_stems_so_that_split_words_are_found_among_them() -> None:
    assert all(word in STOP_WORDS for word in split_words("What does this have? 的 查询"))


@given(st.text())
def test_any_text_gives_words_of_letters_and_digits_without_case(text: str) -> None:
    for word in split_words(text):
        assert word
        assert '"' not in word
        assert not any(part.isspace() for part in word)
        assert "_" not in word
