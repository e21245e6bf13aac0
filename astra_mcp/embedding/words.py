"""Splitting texts into words, so that a query and a document in any script meet.

Names are split where programmers join words (``snake_case``, ``camelCase``, ``mp3``), and the whole is
kept beside its parts, so that ``GitHub`` is found by ``github`` too. Scripts that write without spaces
have no words that could be found without a dictionary: every two neighbouring characters are one.
"""

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["STOP_WORDS", "is_unspaced", "split_words"]

STOP_WORDS = frozenset(
    (
        "a an and any are as at be been but by can do does for from had has have how i if in into is it its "
        "may me more my no not of on or our out so such than that the their them then there these they this "
        "to up us was we were what when where which who will with would you your"
    ).split()
)
"""English words that say nothing of what a text is about."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, Kana, Han and Hangul."""
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_JOINT = re.compile(
    r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
"""Where a run of letters and digits was joined."""
_MAX_WHOLE_PARTS = 3
"""Runs of more parts are sentences in camelCase, and nobody searches for the whole of one."""
_MAX_LENGTH = 40
"""Longer runs are keys and hashes; they are cut."""


def split_words(text: str) -> Iterator[str]:
    """Split a text into its words, in order, in Unicode's compatible form and without case.

    Words consist of letters and digits alone. Nothing is left out: :data:`STOP_WORDS` are for the caller
    to drop.
    """
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        if is_unspaced(run):
            yield from _pairs(run)
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
    for part in parts:
        yield part.casefold()[:_MAX_LENGTH]
    if 1 < len(parts) <= _MAX_WHOLE_PARTS:
        yield run.casefold()[:_MAX_LENGTH]
