"""Splitting texts into words, so that a query and a document meet whatever their script and form.

* Names are split where programmers join words (``snake_case``, ``camelCase``, ``mp3``), and every two parts
  that stood together are a word as well, so that ``listGitHubIssues`` is found by ``github`` too.
* English words lose the endings of number and tense, and nouns in -ion become their verbs. Stemmers that cut
  more off take a conversation for a conversion, and what is general for what is generated.
* Scripts that write without spaces have no words that could be found without a dictionary: every two
  neighbouring characters are one. Common Chinese words are followed by their English.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

__all__ = ["STOP_WORDS", "english_of", "is_unspaced", "split_words"]

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"  # Kana, Han, Hangul
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_JOINT = re.compile(
    r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
"""Where a run of letters and digits was joined."""
_MAX_LENGTH = 40
"""Longer words are keys and hashes; they are cut."""
_DISTINCT_WORDS = 50_000
"""So many are remembered with their stems; a hundred thousand tools have fewer."""
_VOWELS = frozenset("aeiouy")
_SAME_IN_PLURAL = frozenset({"news"})
_SINGULAR_ENDINGS = ("ss", "us", "is")
_NOUN_ENDINGS = {"tion": "t", "ssion": "ss", "rsion": "rt"}
"""Translation, compression, conversion; shorter words such as station come from no verb."""


def english_of(run: str) -> Iterator[str]:
    """Give the English of the known words in a run of Chinese characters, the longest that fit first."""
    glossary, max_length = _glossary()
    at = 0
    while at < len(run):
        for length in range(max_length, 0, -1):
            english = glossary.get(run[at : at + length])
            if english is not None:
                yield english
                at += length
                break
        else:
            at += 1


@cache
def _glossary() -> tuple[dict[str, str], int]:
    """Read the list once: the English by the Chinese, and the length of the longest Chinese word."""
    lines = files("astra_mcp.embedding").joinpath("glossary.tsv").read_text("utf-8").splitlines()
    english = {chinese: words for chinese, _, words in (line.partition("\t") for line in lines)}
    return english, max(map(len, english))


@lru_cache(_DISTINCT_WORDS)
def _stem(word: str) -> str:
    """Cut the endings off that English words take in a sentence, and what changes before them."""
    if len(word) <= 3 or not word.isascii() or word in _SAME_IN_PLURAL:
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(_SINGULAR_ENDINGS):
        word = word[:-1]
    word = _without_tense(word)
    for ending, of_verb in _NOUN_ENDINGS.items():
        if word.endswith(ending) and len(word) > 7:
            return word.removesuffix(ending) + of_verb
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _without_tense(word: str) -> str:
    for ending, min_length in (("ing", 3), ("ed", 4)):
        root = word.removesuffix(ending)
        if root != word and len(root) >= min_length and not _VOWELS.isdisjoint(root):
            is_doubled = root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if is_doubled else root
    return word


def split_words(text: str) -> Iterator[str]:
    """Split a text into its words, in order, in Unicode's compatible form and without case.

    Words consist of letters and digits alone. :data:`STOP_WORDS` are among them, for the caller to drop.
    """
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        if is_unspaced(run):
            yield from _pairs(run)
            for english in english_of(run):
                yield from map(_stem, english.split())
        else:
            yield from _parts(run)


def is_unspaced(word: str) -> bool:
    """Say whether a word is of a script that writes without spaces."""
    return _IS_UNSPACED.match(word) is not None


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def _parts(run: str) -> Iterator[str]:
    parts = _JOINT.split(run)
    yield from map(_word, parts)
    for first, second in pairwise(parts):
        yield _word(first + second)


def _word(part: str) -> str:
    return _stem(part.casefold()[:_MAX_LENGTH])


_ENGLISH = """
a an and any are as at be been but by can do does for from had has have how i if in into is it its may me
more my no not of on or our out so such than that the their them then there these they this to up us was we
were what when where which who will with would you your
"""
_CHINESE = """
的 了 和 是 在 我 你 把 将 从 为 与 及 或 并 到 对 等 请 怎么 如何 什么 可以 一个 一下 我们 帮我
查询 查找 查看 获取
"""
"""The last four open nearly every Chinese request and say less than the words after them."""
STOP_WORDS = frozenset(split_words(f"{_ENGLISH} {_CHINESE}"))
"""Words, as :func:`split_words` gives them, that say nothing of what a text is about."""
