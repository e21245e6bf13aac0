"""Words of names: how ``listPullRequests``, ``pull_request`` and ``pull-requests`` come to be one noun.

English only: other scripts are words as they stand. Knows neither tools nor schemas.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

__all__ = ["MASS", "is_plural", "key_of", "plural", "singular", "words_of"]

_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*[a-z]*|\d+|[^\W\d_A-Za-z]+")
_DISTINCT = 20_000
"""So many names are remembered with their words."""
_LONGEST = 128
"""Longer texts are no names."""
_READ = 1000

_IRREGULAR: Final = {
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "mice": "mouse",
    "indices": "index",
    "vertices": "vertex",
    "matrices": "matrix",
    "criteria": "criterion",
    "caches": "cache",
    "movies": "movie",
    "cookies": "cookie",
    "zombies": "zombie",
    "apis": "api",
    "emojis": "emoji",
    "wikis": "wiki",
    "kpis": "kpi",
    "taxis": "taxi",
    "ids": "id",
    "aliases": "alias",
    "statuses": "status",
    "buses": "bus",
    "viruses": "virus",
    "leaves": "leaf",
    "shelves": "shelf",
    "knives": "knife",
    "lives": "life",
    "quizzes": "quiz",
    "shoes": "shoe",
    "toes": "toe",
    "canoes": "canoe",
}
_PLURALS: Final = {one: many for many, one in _IRREGULAR.items()}
_MASS = """
    data info information news weather status metadata media content software feedback history
    analytics statistics stats series traffic money help usage progress health dns sms https css
    aws kubernetes ios js gps saas mathematics physics settings preferences details config
    inventory activity knowledge memory documentation
"""
MASS: Final = frozenset(_MASS.split())
"""Nouns that are not counted: one name for one and for all of it."""
_SIBILANTS: Final = ("s", "x", "z", "ch", "sh")


def words_of(name: str) -> tuple[str, ...]:
    """Split a name where programmers join words, in lower case: ``getIDs`` is ``get``, ``ids``."""
    return _known_words(name) if len(name) <= _LONGEST else _split(name[:_READ])


@lru_cache(_DISTINCT)
def _known_words(name: str) -> tuple[str, ...]:
    return _split(name)


def _split(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name.replace("IDs", "Ids")))


def key_of(name: str) -> str:
    """The normal form of a field's name, in which ``dueDate``, ``due-date`` and ``due_date`` are one."""
    return _known_key(name) if len(name) <= _LONGEST else name


@lru_cache(_DISTINCT)
def _known_key(name: str) -> str:
    return "_".join(_split(name)) or name.lower()


def singular(word: str) -> str:
    """``orders`` is ``order``; of several words joined by ``_`` the last changes."""
    return _with_last(word, _one)


def _with_last(words: str, change: Callable[[str], str]) -> str:
    head, _, last = words.rpartition("_")
    return f"{head}_{change(last)}" if head else change(last)


def _one(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in MASS or not word.isascii() or len(word) <= 3 or not word.endswith("s"):
        return word
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return word[:-2]
    return word[:-1]


def plural(word: str) -> str:
    """``order`` is ``orders``; of several words joined by ``_`` the last changes."""
    return _with_last(word, _many)


def _many(word: str) -> str:
    if word in _PLURALS:
        return _PLURALS[word]
    if word in MASS or not word.isascii() or is_plural(word):
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(_SIBILANTS) else "s")


def is_plural(word: str) -> bool:
    """Say whether a word, or the last of several joined by ``_``, names more than one."""
    last = word.rpartition("_")[2]
    return _one(last) != last
