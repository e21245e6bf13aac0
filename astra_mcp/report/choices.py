"""Words out of a list that is known: which one is probably meant by another, and how that one is refused."""

import difflib
from collections.abc import Iterable

__all__ = ["closest", "not_one_of"]


def closest(word: str, known: Iterable[str]) -> str | None:
    """Find the known word that is probably meant; None where none is close."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def not_one_of(word: str, known: Iterable[str]) -> str:
    """Refuse a word in the way in which options do that have a list of values."""
    return f"{word!r} is not one of {', '.join(map(repr, known))}."
