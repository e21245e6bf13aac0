"""One quantity in a short text: a number with its unit, where nothing else in the text can change it.

A text is read, or it is not: what negates, bounds or scales a number, a second number, a numeral in words and
every word that neither the question knows nor a closed list leave it unread, and a judge reads it.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import dropwhile, pairwise
from typing import Self

from astra_mcp.answers import tokenize
from astra_mcp.answers.tokens import MONTHS, fold, tokenize_plain
from astra_mcp.synthesis.numerals import is_numeral

__all__ = ["Quantity", "Wording", "read_quantity"]

_MAX_DIGITS = 50
"""A longer number is no amount."""
_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}(?!\d)")
"""May be a thousand and more, as much of Europe writes it."""
_CURRENCIES = frozenset("$€£¥₹₩")
_CODE = re.compile(r"[a-z][a-z\d_-]*\d[a-z\d_-]*")
_HARMLESS = re.compile(r"[\s.,:;!?\"'\u3002\u3001\u2018-\u201d]*")
_IN_ALL = re.compile("(?<![零一二三四五六七八九十百千万亿两])一(?=[共起并])")
"""A numeral that counts nothing."""
_SCALES = frozenset({"thousand", "million", "billion", "trillion", "千", "万", "亿"})
"""May follow a number as a part of its unit."""
_OF_DATES = frozenset("月日号")
"""Behind a number they name a day or a month."""
_NEUTRAL_WORDS = """
    a about all altogether amount amounts an and answer approximately are at by combined come comes cost costs
    final for from had has have he held her his hold holds i in is it its make makes of on overall roughly she
    so sum that the their then there these they this those to together total totals was we were which
    will with you your
    共 总 合 计 是 为 有 的 约 要 付 在 和 与 及 了 也 都 其 它 们 这 那 即 由 从 于 来 你 我 他 她 您 应 需
"""
_TURNING_WORDS = """
    above after almost another any anybody anyone anything barely before below besides between but
    cannot double either else except excluding few fewer former formerly half hardly if instead least
    less minus more most nearly negative neither never no nobody none nor not nothing other otherwise over
    plus rather short some t than times twice under unless unlike until up without wrong
    不 没 无 非 否 未 除 但 或 多 少 至 超 过 低 高 上 下 内 外 近 半 倍 负 减 加 几 各 别 勿 莫 第
"""
_NEUTRAL = frozenset(_NEUTRAL_WORDS.split())
"""Words that change nothing of what stands beside them."""
_TURNING = frozenset(_TURNING_WORDS.split())
"""Words that may make another statement of what follows or stands before."""
_MEASURING = frozenset({"per", "each", "every", *"每年月日号时分", *MONTHS})
"""Words that do so but where the question has them before the same word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """An amount as a text tells it."""

    value: Fraction
    places: int
    """Decimal places that are told; zeros at the end count for none."""
    unit: tuple[str, ...]
    """A sign of currency before the number, and the words behind it; plurals are their singulars."""
    is_ambiguous: bool
    """Its point may group thousands."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of questions, which an answer may repeat around what it states."""

    stems: frozenset[str]
    """Plurals as their singulars."""
    pairs: frozenset[tuple[str, str]]
    """Words that stand next to one another."""

    @classmethod
    def of(cls, *texts: str) -> Self:
        """Take the words of texts."""
        words = [tokenize(_IN_ALL.sub(" ", text)) for text in texts]
        stems = frozenset(_stem(token) for tokens in words for token in tokens)
        return cls(stems, frozenset(pair for tokens in words for pair in pairwise(tokens)))

    def has(self, words: Iterable[str]) -> bool:
        """Tell whether it has all of these stems."""
        return self.stems.issuperset(words)

    def allows(self, tokens: Sequence[str]) -> bool:
        """Tell whether tokens say nothing of their own, and turn nothing into another statement."""
        ahead = {*pairwise(tokens)} & self.pairs
        repeated = {first for first, _ in ahead}
        return all(
            token not in _TURNING
            and (token in _NEUTRAL or _stem(token) in self.stems)
            and (token in repeated or not _is_measuring(token))
            for token in tokens
        )


def _is_measuring(token: str) -> bool:
    return token in _MEASURING or (is_numeral(token) and token not in _NEUTRAL)


def read_quantity(
    text: str, wording: Wording, unit: Sequence[str] | None = None
) -> Quantity | None:
    """Read the one quantity of a text; None where it is not clear what it states.

    Args:
        text: An answer.
        wording: Of the questions, which may stand around the number.
        unit: That is expected; without it all words behind the number are the unit.
    """
    normal = _IN_ALL.sub(" ", fold(unicodedata.normalize("NFKC", text)))
    spans = [*tokenize_plain(normal)]
    places = [n for n, (_, _, token) in enumerate(spans) if _NUMBER.fullmatch(token)]
    if len(places) != 1 or not _is_plainly_set(normal, spans):
        return None
    tokens = [token for _, _, token in spans]
    place = places[0]
    before, number, behind = tokens[:place], tokens[place], tokens[place + 1 :]
    sign = before[-1:] if before and before[-1] in _CURRENCIES else []
    before = [t for t in before[: len(before) - len(sign)] if not _CODE.fullmatch(t)]
    told, rest = _split(sign, behind, unit)
    is_plain = wording.allows(before) and wording.allows(rest)
    if not is_plain or not _is_amount(before, told, rest):
        return None
    return _quantity(number, told, normal[slice(*spans[place][:2])])


def _is_plainly_set(text: str, spans: Sequence[tuple[int, int, str]]) -> bool:
    """Tell whether nothing but white space and the signs of sentences stands between the tokens."""
    left, end = "", 0
    for start, stop, _ in spans:
        left += text[end:start]
        end = max(end, stop)
    return _HARMLESS.fullmatch(left + text[end:]) is not None


def _split(
    sign: Sequence[str], behind: Sequence[str], unit: Sequence[str] | None
) -> tuple[tuple[str, ...], Sequence[str]]:
    """The unit, and what follows it."""
    words = (*sign, *map(_stem, behind))
    if unit is not None and words[: len(unit)] == tuple(unit):
        return tuple(unit), behind[len(unit) - len(sign) :] if len(unit) >= len(sign) else behind
    end = len(behind)
    while end > 1 and behind[end - 1] in _NEUTRAL:
        end -= 1
    return words[: len(sign) + end], behind[end:]


def _is_amount(before: Sequence[str], unit: Sequence[str], rest: Sequence[str]) -> bool:
    """Tell whether a number counts or measures, and is no label such as ``platform 12``."""
    scaled = [word for word in unit if word not in _CURRENCIES]
    words = [*dropwhile(_SCALES.__contains__, scaled)]
    if any(word in _TURNING or word in MONTHS or is_numeral(word) for word in words):
        return False
    if words and words[0] in _OF_DATES:
        return False
    has_noun = bool(unit) or (bool(rest) and rest[0] not in _NEUTRAL)
    return has_noun or not before or before[-1] in _NEUTRAL


def _quantity(number: str, unit: tuple[str, ...], raw: str) -> Quantity | None:
    found = _NUMBER.fullmatch(number)
    if found is None or len(number) > _MAX_DIGITS:
        return None
    return Quantity(
        value=Fraction(number),
        places=len(found[1] or ""),
        unit=unit,
        is_ambiguous=_GROUPED.match(raw) is not None,
    )


def _stem(token: str) -> str:
    """The singular of a plural that ends with s, roughly: only equality is asked for."""
    for many, one in (("ies", "y"), ("es", ""), ("s", "")):
        if len(token) > len(many) + 1 and token.endswith(many) and token.isalpha():
            return token.removesuffix(many) + one
    return token.removesuffix("e") if len(token) > 2 and token.isalpha() else token
