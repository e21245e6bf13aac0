"""Numbers in the tokens of texts, whether in digits or in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from astra_mcp.answers import contains_answer, tokenize
from astra_mcp.environments.acceptance.grounding import spellings

__all__ = ["is_numeral", "numbers_in", "says", "spelled"]

_DIGITS = 18
"""A longer number has no other spellings."""
_LARGE = "hundred thousand million billion trillion dozen point and 百 千 万 亿 点 两 半"
_JOINING = frozenset({"point", "and", "点"})
"""Words in numbers that are mostly others."""
_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_IN_WORDS = 100
_MOST_WORDS = 3
"""Of a number below that: 二十一."""
_LONGEST = 12
"""Tokens of an answer whose numbers are looked for in other spellings: an amount has no more."""


@lru_cache(maxsize=4096)
def spelled(token: str) -> tuple[tuple[str, ...], ...]:
    """The ways in which a question may say a token that names a value, each as tokens; itself first."""
    is_number = token.isdecimal() and len(token) <= _DIGITS
    ways = (tokenize(text) for text in spellings(int(token) if is_number else token))
    return tuple(dict.fromkeys(way for way in ways if way))


@cache
def _numerals() -> frozenset[str]:
    words = {t for n in range(_IN_WORDS) for way in spelled(str(n)) for t in way}
    return frozenset(w for w in words if not w[0].isdigit()) - _ENDINGS | {*_LARGE.split()}


def is_numeral(token: str) -> bool:
    """Tell whether a token is a word, or a Chinese character, of which numbers are made."""
    return token in _numerals()


@cache
def _in_words() -> dict[tuple[str, ...], str]:
    """Small numbers by their tokens in words."""
    ways = {way: str(n) for n in range(_IN_WORDS) for way in spelled(str(n))}
    return {**ways, ("两",): "2"}


def numbers_in(tokens: Sequence[str]) -> Counter[str]:
    """Count the numbers among tokens, those in words as those in digits, and codes that have digits."""
    found: Counter[str] = Counter()
    start = 0
    while start < len(tokens):
        ends = range(min(start + _MOST_WORDS, len(tokens)), start, -1)
        end = next((e for e in ends if tuple(tokens[start:e]) in _in_words()), start + 1)
        said = tokens[start]
        number = _in_words().get(tuple(tokens[start:end]))
        if number is not None or any(c.isdigit() for c in said):
            found[number or said] += 1
        elif is_numeral(said) and said not in _JOINING:
            found[said] += 1
        start = end
    return found


def says(text: str, answer: str) -> bool:
    """Tell whether a text states an answer by the matcher, also with its numbers in words or in digits."""
    if contains_answer(text, answer):
        return True
    told, wanted = tokenize(text), tokenize(answer)
    if len(wanted) > _LONGEST:
        return False
    waiting, seen = [(start, 0) for start in range(len(told))], set[tuple[int, int]]()
    while waiting:
        here = waiting.pop()
        if here[1] == len(wanted) > 0:
            return True
        if here not in seen and here[0] < len(told):
            seen.add(here)
            waiting.extend(_steps(told, here[0], wanted, here[1]))
    return False


def _steps(told: Sequence[str], i: int, wanted: Sequence[str], j: int) -> Iterator[tuple[int, int]]:
    """The ways to read one value on in both."""
    if told[i] == wanted[j]:
        yield i + 1, j + 1
    elif wanted[j].isdecimal():
        yield from ((end, j + 1) for end in _ends(told, i, wanted[j]))
    elif told[i].isdecimal():
        yield from ((i + 1, end) for end in _ends(wanted, j, told[i]))


def _ends(tokens: Sequence[str], start: int, number: str) -> Iterator[int]:
    """Where a number ends that stands in words at a place, and is no part of a longer one."""
    for way in spelled(number):
        end = start + len(way)
        if way[0] == tokens[start] and tuple(tokens[start:end]) == way:
            around = (*tokens[max(0, start - 1) : start], *tokens[end : end + 1])
            if not any(map(is_numeral, around)):
                yield end
