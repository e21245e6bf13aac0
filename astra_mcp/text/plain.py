"""Words that others wrote, as they may stand in a terminal, a log or a message: nothing in them steers it."""

import re

__all__ = ["one_line", "visible"]

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\xad\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\uffa0\U000e0000-\U000e007f]"
)
"""Controls, marks that turn the direction of text, halves of characters, and what nobody sees: blanks of no
width, soft hyphens, fillers and tags. Joiners stay, which scripts and emoji need."""


def visible(text: str) -> str:
    """Write out every character that would steer a terminal; lines and tabs stay."""
    return _UNSEEN.sub(lambda found: _escape(found[0]), text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Put a text into one line that holds no control character at all."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def _escape(character: str) -> str:
    code = ord(character)
    if code < 1 << 8:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
