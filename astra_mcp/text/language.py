"""The language that a document is written in.

Scripts that belong to one language decide alone, in the shortest text; between languages of one script a
statistical model decides, and only where there is enough text for it.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Protocol, cast

from py3langid import langid  # pyright: ignore[reportMissingTypeStubs] - it ships none

__all__ = ["language_of"]

_MIN_LETTERS = 12
"""Fewer letters of a script that many languages share say nothing."""
_MIN_OWN_LETTERS = 2
"""Letters of a script of one language, where they are enough to know it."""
_FOREIGN_SHARE = 0.2
"""Technical texts are full of English words; such a share of another script makes a text one of it."""
_MAX_CHARACTERS = 1500
"""So much of a text is looked at."""

_NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|https?://\S+|\S+@\S+|<[^>]+>|\b\w*[_/\\{}=]\w*\b|\b[a-z]+[A-Z]\w*\b",
    re.DOTALL,
)
"""Code, addresses and names, which are of no language."""

_LETTERS = re.compile(r"[^\W\d_]+")
_SCRIPTS = {
    "ja": re.compile("[\u3041-\u30ff]"),
    "zh": re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "th": re.compile("[\u0e01-\u0e5b]"),
    "he": re.compile("[\u05d0-\u05ea]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "": re.compile("[\u0400-\u052f\u0600-\u06ff\u0900-\u0dff\u10a0-\u10ff\u0530-\u058f]"),
}
"""The letters of scripts by the language that each belongs to; last those that several share."""

_LATIN_LANGUAGES = (
    "ca", "cs", "da", "de", "en", "es", "fi", "fr", "hr", "hu", "id", "it", "nl", "no", "pl", "pt",
    "ro", "sk", "sv", "tr", "vi",
)  # fmt: skip
"""Languages that software is documented in; rarer ones would take terse English for theirs."""
_OTHER_LANGUAGES = ("ar", "bg", "fa", "hi", "ru", "sr", "uk", "ur", "bn", "ta", "te", "ka", "hy")
_ENGLISH_UNLESS = 0.9
"""Another language in Latin script must be so certain: lists of technical terms look like many."""


class _Model(Protocol):
    """What is used of the classifier, whose package has no types."""

    @classmethod
    def from_model_file(cls, model_file: str, *, norm_probs: bool) -> "_Model": ...

    def classify(self, text: str) -> tuple[str, float]: ...

    def set_languages(self, langs: Iterable[str]) -> None: ...


def language_of(texts: Iterable[str]) -> str | None:
    """Tell the language of a document, as ISO 639-1; None where there is too little text.

    Args:
        texts: Its parts, the most telling first.
    """
    text = _NOT_PROSE.sub(" ", "\n".join(texts)[:_MAX_CHARACTERS])
    num_letters = sum(map(len, _LETTERS.findall(text)))
    counts = Counter({own: len(letters.findall(text)) for own, letters in _SCRIPTS.items()})
    num_foreign = sum(counts.values())
    if num_foreign >= _MIN_OWN_LETTERS and num_foreign >= _FOREIGN_SHARE * num_letters:
        return _by_script(text, counts)
    if num_letters - num_foreign < _MIN_LETTERS:
        return None
    language, certainty = _model(_LATIN_LANGUAGES).classify(text)
    return language if language == "en" or certainty >= _ENGLISH_UNLESS else "en"


def _by_script(text: str, counts: Counter[str]) -> str | None:
    """Decide among scripts; Japanese is written with Han too, but never without Kana."""
    if counts["ja"] >= _MIN_OWN_LETTERS and counts["ja"] >= _FOREIGN_SHARE * counts["zh"]:
        counts["ja"] += counts.pop("zh")
    language, number = counts.most_common(1)[0]
    if language or number < _MIN_LETTERS:
        return language or None
    return _model(_OTHER_LANGUAGES).classify(text)[0]


@cache
def _model(languages: tuple[str, ...]) -> _Model:
    """Load the model that chooses among some languages; it ships with its package."""
    identifier = cast("type[_Model]", langid.LanguageIdentifier)
    model = identifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    model.set_languages(languages)
    return model
