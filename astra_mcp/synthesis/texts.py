"""What is wrong with a text that a model wrote, whatever it says: too long, or not what a reader sees."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Fault", "text_faults"]

_MAX_TOLD = 8
"""Characters that a message names."""
_JOINERS = frozenset("\u200c\u200d")
"""Invisible, and part of how words and emoji are written."""
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that show nothing, or turn others around."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something that a model wrote is refused."""

    reason: str
    """A short name that the yield table counts by."""
    detail: str


def text_faults(name: str, text: str, most: int, *, white: str = " \n\r\t") -> Iterator[Fault]:
    """Find that a text is too long (``too_long``), or holds what nobody sees (``hidden_character``).

    Args:
        name: Of the text, in the words of the fault.
        text: Is looked at.
        most: Characters that it may have.
        white: Characters that may stand in it although they show nothing.
    """
    if len(text) > most:
        yield Fault("too_long", f"{name} has {len(text)} characters, more than {most}")
    hidden = (c for c in text if unicodedata.category(c) in _HIDDEN and c not in _JOINERS)
    found = sorted({f"U+{ord(c):04X}" for c in hidden if c not in white})
    if found:
        yield Fault("hidden_character", f"{name} holds {', '.join(found[:_MAX_TOLD])}")
