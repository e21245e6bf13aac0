"""Lists and amounts as people write them."""

from collections.abc import Sequence

__all__ = ["listed"]


def listed(items: Sequence[str], language: str) -> str:
    """``A, B and C``; in Chinese ``A、B和C``."""
    *first, last = items
    if not first:
        return last
    if language == "zh":
        return "、".join(first) + "和" + last
    return ", ".join(first) + " and " + last
