"""Texts as they may be stored and shown: without characters that no reader sees."""

import re

__all__ = ["clean_text", "storable_text"]

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Control characters, marks of direction, and invisible characters in which texts are hidden; not the joiners
that scripts and emoji are written with."""
_HALVES = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")


def clean_text(text: str) -> str:
    """Remove what no reader sees, unify line ends and cut white space off both ends.

    The words stay as they are, whoever they are meant for: a text is data.
    """
    whole = _HALVES.sub("\ufffd", text)
    return _UNSEEN.sub("", _LINE_ENDS.sub("\n", whole)).strip()


def storable_text(text: str) -> str:
    """Replace what a database cannot hold: NUL, and halves of characters."""
    return _HALVES.sub("\ufffd", text).replace("\x00", "\ufffd")
