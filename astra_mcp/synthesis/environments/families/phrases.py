"""Lists and amounts as people write them."""

from collections.abc import Sequence

__all__ = ["listed"]


def listed(items: Sequence[str], language: str, *, either: bool = False) -> str:
    """``A, B and C``, or with ``either`` ``A, B or C``; in Chinese ``A、B和C``."""
    *first, last = items
    if not first:
        return last
    if language == "zh":
        return "、".join(first) + "和" + last
    return ", ".join(first) + (" or " if either else " and ") + last
