"""The matcher: what counts as containing an answer, and which answers are too weak to look for."""

import datetime as dt
import json
import string
from decimal import Decimal

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.answers import (
    Matching,
    answer_fault,
    contains_answer,
    match_answers,
    match_in_slices,
    tokenize,
)
from astra_mcp.seeds import generator
from astra_mcp.types import JsonValue, ToolResult

CONTAINED = [
    # numbers
    ("the total is 7.", "7"),
    ("1,234.50 USD", "1234.5 USD"),
    ("$1,234.50", "1234.5"),
    ("price: 42.50", "42.5"),
    ("\uff10\uff17", "7"),
    ("007", "7"),
    (".5", "0.5"),
    ("-5°C", "-5 °C"),
    ("\u22125", "-5"),
    ("x=-5.20", "-5.2"),
    ("45\uff05", "45%"),
    ("12kg", "12 kg"),
    ("12 kg", "12kg"),
    ("Total: 1,234,567", "1234567"),
    # dates and times
    ("2025年9月3日", "2025-09-03"),
    ("September 3, 2025", "2025-09-03"),
    ("Sept. 3, 2025", "2025-09-03"),
    ("3rd of September 2025", "2025-09-03"),
    ("2025/9/3", "2025-09-03"),
    ("2025-09-03T10:00:00Z", "2025-09-03"),
    ("2025-09-03T10:00:00+02:00", "10:00"),
    ("2025-09-03T10:00", "2025-09-03 10:00"),
    ("2025-09-03/2025-09-05", "2025-09-05"),
    ("2025-09-03至2025-09-05", "2025-09-05"),
    ("9:05", "09:05:00"),
    ("12:30-13:45", "13:45"),
    ("12:30\u201313:45", "12:30"),
    ("2025-09-03\u20132025-09-05", "2025-09-05"),
    ("2025-09-03 \u2013 2025-09-05", "2025-09-03"),
    ("\u0661\u0662\u0663", "123"),
    ("\u20135°C", "-5°C"),
    # words, codes, scripts
    ("BK\u20119038", "BK-9038"),
    ("BK\u20139038", "BK-9038"),
    ("BK-90\u200b38", "BK-9038"),
    ("Mar\u00adble", "marble"),
    ("位于北京市", "北京"),
    ("第3名", "3"),
    ("Ｂ栋１２０３室", "B栋1203室"),
    ("bk-20931,", "BK-20931"),
    ("CAFÉ au lait", "café"),
    ("a large-print edition", "large print"),
    ("write to a@b.com", "a@b.com"),
    ('{"a": "x\\ny"}', "x y"),
    ("from A/B", "B"),
]
NOT_CONTAINED = [
    ("17", "7"),
    ("[1, 234]", "1234"),
    ("1,234,5", "1234"),
    ("12,34", "1234"),
    ("-5°C", "5°C"),
    ("1234.5", "$1,234.50"),
    ("between 3-5 days", "5"),
    ("v1.2.3", "1.2"),
    ("192.168.0.1", "168"),
    ("19:05", "9:05"),
    ("10:30:45", "10:30"),
    ("BK-20931", "20931"),
    ("GEOG-2310", "GEOG"),
    ("B栋1203室", "203"),
    ("420万元", "20万"),
    ("1/2 cup", "2"),
    ("12-2025-09-03-4", "2025-09-03"),
    ("2025-09", "2025"),
    ("a@b.com", "b.com"),
    ("1.234,50", "1234.5"),
    ("03/09/2025", "2025-09-03"),
    ("anything", ""),
    ("...", "..."),
]


@pytest.mark.parametrize(("text", "answer"), CONTAINED)
def test_text_contains_the_answer(text: str, answer: str) -> None:
    assert contains_answer(text, answer), (tokenize(text), tokenize(answer))


@pytest.mark.parametrize(("text", "answer"), NOT_CONTAINED)
def test_text_does_not_contain_the_answer(text: str, answer: str) -> None:
    assert not contains_answer(text, answer), (tokenize(text), tokenize(answer))


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_a_number_contains_only_itself(one: int, other: int) -> None:
    assert contains_answer(f"it is {one}.", str(other)) == (one == other)


@given(st.decimals(-(10**9), 10**9, places=2))
def test_grouping_and_trailing_zeros_do_not_matter(value: Decimal) -> None:
    assert contains_answer(f"costs {value:,} USD", f"{value} USD")


@given(st.dates(min_value=dt.date(1000, 1, 1)))
def test_every_spelling_of_a_day_is_the_same_day(day: dt.date) -> None:
    spellings = [
        f"{day:%Y-%m-%d}",
        f"{day:%Y/%m/%d}",
        f"{day:%B %d, %Y}",
        f"{day:%d %b %Y}",
        f"{day:%Y年%m月%d日}",
    ]
    assert len({tokenize(s) for s in spellings}) == 1


ANSWERS = st.one_of(
    st.text(string.ascii_letters + " ", min_size=3).filter(lambda t: tokenize(t) != ()),
    st.text("北京市海淀区中关村大街", min_size=2),
    st.dates().map(str),
    st.from_regex(r"[A-Z]{2}-[0-9]{4,6}", fullmatch=True),
    st.from_regex(r"-?[1-9][0-9]{0,5}\.[0-9]{2} (USD|kg)", fullmatch=True),
)


@given(ANSWERS, st.sampled_from(["note", "value 3", "北京"]))
def test_an_answer_is_found_in_every_rendering_of_a_result(answer: str, other: str) -> None:
    values: tuple[JsonValue, ...] = (
        {"other": other, "answer": answer},
        [other, answer],
        f"{other}: {answer}.",
    )
    for value in values:
        assert contains_answer(ToolResult.from_value(value).text, answer)


@given(ANSWERS)
def test_case_and_width_do_not_matter(answer: str) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in answer)
    assert tokenize(wide) == tokenize(answer) == tokenize(answer.upper())


@given(
    st.lists(
        st.sampled_from(["7", "kg", "7 kg", "北京", "BK-1", "\\n", "ﬁ", ",", " ", "Kg"]), max_size=8
    ),
    st.lists(st.sampled_from(["7 kg", "北京", "BK-1", "fi", "17 kg"]), max_size=3),
)
def test_a_short_text_has_the_answers_that_it_has_as_the_beginning_of_a_long_one(
    parts: list[str], answers: list[str]
) -> None:
    text = "".join(parts)
    long = text + "\n" + "x " * 20_000
    assert match_answers(text, answers).found == match_answers(long, answers).found


@given(st.text())
def test_any_text_contains_itself_unless_it_has_no_token(text: str) -> None:
    assert contains_answer(text, text) == bool(tokenize(text))


@given(st.text(), st.text("true false 北京 BK-1 7kg", min_size=1))
def test_the_matcher_never_raises(text: str, answer: str) -> None:
    contains_answer(text, answer)
    answer_fault(text)
    json.dumps(tokenize(text))


WORDS = r"""
    hotel Lena Ortiz May march Sept. Sep north-west BK-9038 GEOG-2310 v1.2.3 a@b.com x_y kg USD pm 3rd 2nd
    of Straße CAFÉ 北京 位于北京市 第3名 3天 2025年9月3日 9月 日 true null -5 +7 1,234.50 12,34 007 .5 0.5
    42.0 0 00 10 1,234,567 1234 12kg 5°C -5°C 45% $7 2025-09-03 2025/9/3 2025-09-03T10:00:00Z 9:05 09:05:00
    2025-09-03T10:00:00+02:00 10:00 12:30-13:45 2025-09 192.168.0.1 1/2 3-5 3, 2025 September \n \"q\"
    2025-09-03/2025-09-05
"""
PHRASES = (
    *WORDS.split(),
    "zz\u200bz",
    "\u22125",
    "\uff17",
    "September 3, 2025",
    "3 Sep 2025",
    "Sep 3",
    "2025年 9 月 3 日",
    "\u2212 5",
)
BETWEEN = (
    *8 * " ",
    ", ",
    ". ",
    ": ",
    "-",
    "/",
    "_",
    "",
    "\n",
    '","',
    '":',
    "(",
    ")",
    "、",
    "。",
    "=",
    "@",
    "|",
)


def stands_in(tokens: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """What the matcher decides, by reading all tokens."""
    length = len(wanted)
    return length > 0 and any(tokens[i : i + length] == wanted for i in range(len(tokens)))


@pytest.mark.parametrize("pairs", [150, pytest.param(100_000, marks=pytest.mark.volume)])
@pytest.mark.timeout(1200)
def test_searching_finds_what_reading_every_token_finds(pairs: int) -> None:
    made = generator(0, "texts and answers")

    def text(most: int) -> str:
        length = made.randint(1, most)
        return "".join(made.choice(PHRASES) + made.choice(BETWEEN) for _ in range(length))

    found = 0
    for _ in range(pairs):
        where, length = text(made.choice((4, 40))), made.randint(1, 3)
        tokens = tokenize(where)
        start = made.randrange(len(tokens)) if tokens else 0
        answer = text(2) if made.random() < 0.4 else " ".join(tokens[start : start + length])
        is_there = stands_in(tokens, tokenize(answer))
        assert contains_answer(where, answer) == is_there, (where, answer)
        found += is_there
    assert pairs / 3 < found < pairs


@given(st.integers(32_600, 32_900), st.sampled_from(["x", "x ", "位", "\u0661", "½ "]))
def test_an_answer_is_found_wherever_a_large_text_is_cut(before: int, filler: str) -> None:
    text = (filler * before)[:before] + " 3rd of September 2025, 10:30 " + filler * before
    assert contains_answer(text, "2025-09-03 10:30")
    assert not contains_answer(text, "2025-09-03 10:31")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\ufdfa" * 1000 + " 7 kg", "4 times as long"),
        ("a" + "\u0301\u0327" * 16 + " 7 kg", "combining marks"),
        ("".join(f"{i} -7kg " for i in range(20_000)) + " 7 kg", "near misses"),
    ],
)
def test_a_text_that_would_be_costly_is_not_matched_and_says_so(text: str, reason: str) -> None:
    matching = match_answers(text, ("7 kg",))
    assert (matching.found, reason in (matching.refusal or "")) == (frozenset(), True)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ("R-101-{n:03}", "R-101"),
        ("1998-05-{n:03}", "1998"),
        ("{n}.5 kg", "5 kg"),
        ("john.smith@host{n}.org", "Smith"),
        ("10:30:{n:03}", "10:30"),
    ],
)
def test_a_long_list_of_near_misses_hides_no_answer(row: str, answer: str) -> None:
    rows = ", ".join(row.format(n=n) for n in range(5000))
    assert match_answers(rows, (answer,)) == Matching()
    for text in (f"{rows}, {answer}", f"{answer}, {rows}"):
        assert match_answers(text, (answer,)) == Matching(frozenset({answer}))


async def test_others_have_their_turn_while_a_large_text_is_read() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        assert await match_in_slices("small 7 kg", ("7 kg",)) == Matching(frozenset({"7 kg"}))
        assert turns == 0
        await match_in_slices("a+" * 2**19, ("7 kg",))
        group.cancel_scope.cancel()
    assert turns >= 2**20 // 33_000


@pytest.mark.timeout(30)  # time that grows with the square of the length takes minutes
@pytest.mark.parametrize(
    ("unit", "answer"),
    [
        *(
            ("1,", "1,111"),
            ("5a5", "5 a"),
            ("\u0661", "123"),
            ("a.", "a b"),
            ("a+", "aa"),
            ("a@", "a@b.com"),
        ),
        *(
            ("1 may ", "2025-05-01"),
            ("2025-09-03-", "2025-09-04"),
            ("\u20131", "1 kg"),
            ("7 ", "7 kg"),
        ),
        *(("2025年1月", "2025-01-01"), ("-7 kg ", "7 kg"), ("0", "100"), ("e\u0301", "eee")),
    ],
)
def test_a_large_text_is_searched_in_time_linear_in_its_length(unit: str, answer: str) -> None:
    assert not contains_answer(unit * (2_000_000 // len(unit)), answer)


@pytest.mark.parametrize(
    "answer",
    [
        "BK-20931",
        "abc",
        "北京",
        "7 kg",
        "$7",
        "¥5",
        "5元",
        "45%",
        "2025-09-03",
        "09:05",
        "123",
        "3天",
    ],
)
def test_specific_answers_are_accepted(answer: str) -> None:
    assert answer_fault(answer) is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("  ...", "empty"),
        ("True", "truth value"),
        ("否", "truth value"),
        ("N/A", "truth value"),
        ("ab", "fewer than 3"),
        ("12", "fewer than 3"),
        ("-5", "fewer than 3"),
        ("北", "fewer than 2"),
        ("€", "fewer than 3"),
        ("(42)", "fewer than 3"),
        ("42.0", "fewer than 3"),
        ("042", "fewer than 3"),
        ("1 1", "fewer than 3"),
        ("Yes.", "truth value"),
        ('"true"', "truth value"),
        ("N.A.", "truth value"),
        ("True / yes", "truth value"),
        ("Not found.", "truth value"),
        ("是的", "truth value"),
        ("没有。", "truth value"),
    ],
)
def test_weak_answers_are_refused_with_the_reason(answer: str, reason: str) -> None:
    fault = answer_fault(answer)
    assert fault is not None
    assert reason in fault
