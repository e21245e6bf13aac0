"""Two texts ask nearly the same by their tokens, and never where a number or a negation tells them apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.answers import tokenize
from astra_mcp.synthesis.likeness import ComparedText

EN = "Find me a quiet hotel near the old harbour of Bergen for my holiday in spring, {}, please."
ZH = "请帮我在卑尔根的老港口附近找一家安静又便宜的酒店。春天度假时住。{}。谢谢你的帮助。"
PLAIN = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=12).map(" ".join)
ANY = st.lists(
    st.sampled_from([*"abcdefg", "not", "don't", "2", "two", "三", "不", "unable", "able", ","]),
    max_size=12,
).map(" ".join)


def are_alike(one: str, other: str) -> bool:
    found = ComparedText.of(one).is_like(ComparedText.of(other))
    assert found is ComparedText.of(other).is_like(ComparedText.of(one))
    return found


@pytest.mark.claim("P42")
@given(PLAIN, PLAIN)
def test_plain_texts_are_alike_from_four_fifths_of_their_tokens_on(one: str, other: str) -> None:
    first, second = set(tokenize(one)), set(tokenize(other))
    is_enough = 5 * len(first & second) >= 4 * len(first | second)
    assert are_alike(one, other) is is_enough


@given(ANY, ANY)
def test_it_is_the_same_both_ways_and_every_text_is_like_itself(one: str, other: str) -> None:
    are_alike(one, other)
    assert are_alike(one, one)


@pytest.mark.claim("P69")
@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        (EN, "which allows dogs", "which does not allow dogs"),
        (EN, "which allows dogs", "which doesn\u2019t allow dogs"),
        (EN, "which should allow dogs", "which shouldnt allow dogs"),
        (EN, "with breakfast", "without breakfast"),
        (EN, "with a lift", "with no lift"),
        (EN, "with all 5 floors", "with no 5 floors"),
        (EN, "in a smoking room", "in a non-smoking room"),
        (EN, "refundable", "nonrefundable"),
        (EN, "reached by a direct train", "reached by an indirect train"),
        (EN, "with dogs and not cats", "with cats and not dogs"),
        (EN, "allow dogs, never allow cats", "never allow dogs, allow cats"),
        (EN, "\uff4e\uff4f\uff54 downtown", "downtown"),
        (EN, "for 2 nights", "for 3 nights"),
        (EN, "for two nights", "for three nights"),
        (EN, "for twenty nights", "for twenty-one nights"),
        (EN, "on the first floor", "on the second floor"),
        (EN, "for 2 guests and 2 rooms", "for 2 guests and 3 rooms"),
        (EN, "for 2 guests, 2 rooms and 3 beds", "for 2 guests, 3 rooms and 3 beds"),
        (EN, "on 3 May 2025", "on 4 May 2025"),
        (EN, "as in offer BK-12", "as in offer BK-13"),
        (EN, "for 1.5 days", "for 15 days"),
        (ZH, "可以带狗", "不可以带狗"),
        (ZH, "允许带狗", "禁止带狗"),
        (ZH, "含早餐", "不含早餐"),
        (ZH, "有电梯", "没有电梯"),
        (ZH, "请打扰", "请勿打扰"),
        (ZH, "要吸烟房、不要海景房", "要海景房、不要吸烟房"),
        (ZH, "住两晚", "住三晚"),
        (ZH, "住2晚", "住3晚"),
        (ZH, "住十二晚", "住二十晚"),
        (ZH, "5月3日", "5月4日"),
    ],
)
def test_a_number_or_a_negation_makes_another_task(text: str, one: str, other: str) -> None:
    first, second = text.format(one), text.format(other)
    tokens = set(tokenize(first)), set(tokenize(second))
    assert 5 * len(tokens[0] & tokens[1]) >= 4 * len(tokens[0] | tokens[1])
    assert not are_alike(first, second)


@pytest.mark.claim("P69")
@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        (EN, "which does not allow dogs", "which doesn't allow dogs"),
        (EN, "which does not allow dogs", "and which does not allow any dogs"),
        (EN, "for two nights", "for 2 nights"),
        (EN, "for twenty-one nights", "for 21 nights"),
        (EN, "on 3 May 2025", "on May 3, 2025"),
        (EN, "in room no. 5", "in room 5"),
        (EN, "not only by the sea", "by the sea"),
        (ZH, "不要带狗", "不能带狗"),
        (ZH, "住两晚", "住2晚"),
        (ZH, "特别便宜", "便宜"),
        (ZH, "有没有海景", "有海景"),
        (ZH, "带海景", "带海景的"),
    ],
)
def test_the_same_number_or_negation_in_other_words_does_not(
    text: str, one: str, other: str
) -> None:
    assert are_alike(text.format(one), text.format(other))
