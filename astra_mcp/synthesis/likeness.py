"""Whether two texts ask nearly the same: by their tokens, where no number and no negation tells them apart.

A number or a negation is one token of many, and makes another task: "allow dogs" and "do not allow dogs".
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from astra_mcp.answers import tokenize
from astra_mcp.answers.tokens import CJK, fold
from astra_mcp.synthesis.numerals import numbers_in

__all__ = ["ALIKE", "ComparedText"]

ALIKE: Final = 0.8
"""Jaccard similarity of the sets of tokens from which two texts count as one."""
_NOT_NEGATING_WORDS = """
    特别 分别 区别 级别 类别 性别 个别 识别 辨别 差别 告别 离别 派别 国别 别人 别的 别墅 别名 别称 别致 别针
    是否 能否 可否 会否 非常 非洲 未来 无论 无线 无锡 不仅 不但 不过 不同 不错 不久 不论 不管 差不多
    莫斯科 莫名 莫非
"""
_NOT_NEGATING: Final = re.compile(
    "|".join(_NOT_NEGATING_WORDS.split()) + r"|(.)[不没]\1|\bnot only\b|\bno\.\s?(?=\d)"
)
"""Where the signs of a negation stand, and nothing is negated; 有没有 and 能不能 ask."""
_AUXILIARIES = "do|does|did|is|are|was|were|ca|could|should|would|wo|have|has|had|must|need"
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|without|non|none|nor|neither|nothing|nobody|nowhere|cannot|except|unless"
    r"|exclud(?:e|es|ing)|avoid(?:s|ing)?)\b"
    rf"|n['\u2019]t\b|\b(?:{_AUXILIARIES})nt\b"
    r"|禁止|避免|除了|除外|[不没别勿莫非无未否免]"
)
_CLAUSE_END: Final = re.compile(r"[,;:!?\n。、]|\.(?:\s|$)")
_FILLING_WORDS = "a an any the to be of do 要 能 可 以 会 想 用 是 必 得 需 有"
_FILLING: Final = frozenset(_FILLING_WORDS.split())
_NEGATED: Final = 2.0
"""Words by which a negation is known: what it negates; a CJK character is half of one."""
_CJK_TOKEN: Final = re.compile(f"[{CJK}]")
_PREFIXES: Final = ("un", "in", "im", "il", "ir", "dis", "non")
"""Of words that negate others: ``unavailable``."""


@dataclass(frozen=True, slots=True)
class ComparedText:
    """What of a text is compared."""

    tokens: frozenset[str]
    numbers: Counter[str]
    negated: Counter[tuple[str, ...]]
    """The first words of what each negation negates."""

    @staticmethod
    def of(text: str) -> "ComparedText":
        """Read a text."""
        tokens = tokenize(text)
        return ComparedText(frozenset(tokens), numbers_in(tokens), Counter(_negated(text)))

    def is_like(self, other: "ComparedText") -> bool:
        """Tell whether both ask nearly the same; one says so of the other as the other of it."""
        both = len(self.tokens & other.tokens)
        if both < ALIKE * len(self.tokens | other.tokens):
            return False
        if self.numbers != other.numbers or self.negated != other.negated:
            return False
        mine, others = self.tokens - other.tokens, other.tokens - self.tokens
        return not (_has_opposite(mine, others) or _has_opposite(others, mine))


def _negated(text: str) -> Iterator[tuple[str, ...]]:
    folded = _NOT_NEGATING.sub(" ", fold(unicodedata.normalize("NFKC", text)))
    found = [*_NEGATION.finditer(folded)]
    for place, negation in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(folded)
        clause_end = _CLAUSE_END.search(folded, negation.end(), end)
        yield tuple(
            _first_words(folded[negation.end() : clause_end.start() if clause_end else end])
        )


def _first_words(text: str) -> Iterator[str]:
    room = _NEGATED
    for token in tokenize(text):
        if token not in _FILLING and room > 0:
            room -= 0.5 if _CJK_TOKEN.fullmatch(token) else 1
            yield token


def _has_opposite(tokens: frozenset[str], others: frozenset[str]) -> bool:
    return any(prefix + token in others for token in tokens for prefix in _PREFIXES)
