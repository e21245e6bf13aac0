"""Lists and nouns as people write them."""

from collections.abc import Sequence

__all__ = ["indefinite", "listed"]


def listed(items: Sequence[str], language: str, *, either: bool = False) -> str:
    """``A, B and C``, or with ``either`` ``A, B or C``; in Chinese ``A、B和C``."""
    *first, last = items
    if not first:
        return last
    if language == "zh":
        return "、".join(first) + "和" + last
    return ", ".join(first) + (" or " if either else " and ") + last


def indefinite(noun: str) -> str:
    """An English noun with its article: ``a ticket``, ``an order``."""
    is_vowel = noun[0] in "aeiou" and not noun.startswith("uni")
    return f"{'an' if is_vowel else 'a'} {noun}"
