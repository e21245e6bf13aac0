"""Thoughts that a model writes into its content, told apart from what it says.

Models mark them by tags such as ``<think>``. The first tag may stand in the prompt, where a template put it,
and the last one be missing, where the answer was cut.
"""

import re
from typing import NamedTuple

__all__ = ["THOUGHT_BEGINS", "THOUGHT_ENDS", "Said", "split_thoughts"]

_THOUGHT = r"think|thinking|thought|reasoning"
THOUGHT_BEGINS = re.compile(rf"<(?:{_THOUGHT})>|\[THINK\]", re.IGNORECASE)
THOUGHT_ENDS = re.compile(rf"</(?:{_THOUGHT})>|\[/THINK\]", re.IGNORECASE)
_TAG = re.compile(f"(?P<begins>{THOUGHT_BEGINS.pattern})|{THOUGHT_ENDS.pattern}", re.IGNORECASE)
_CODE = re.compile(r"^```[^\n]*\n.*?^```[ \t]*$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


class Said(NamedTuple):
    """A message in its two parts; None is a part without words."""

    content: str | None
    thoughts: str | None


def split_thoughts(text: str | None, thoughts: str | None = None) -> Said:
    """Take the thoughts out of a content.

    A tag in quoted code is a word like any other, unless a thought is open there. What stands before an end
    without a beginning is a thought, and so is what follows a beginning without an end.

    Args:
        text: What the model wrote; without tags it is left as it is.
        thoughts: Those that its endpoint kept apart; they come first.
    """
    if text is None or not _TAG.search(text):
        return Said(text, thoughts)
    said, thought = _pieces(text)
    parts = [part for part in ((thoughts or "").strip(), *thought) if part]
    return Said("\n\n".join(said) or None, "\n\n".join(parts) or None)


def _pieces(text: str) -> tuple[list[str], list[str]]:
    """Split by tags into words and thoughts, those that are blank left out."""
    code = [match.span() for match in _CODE.finditer(text)]
    said: list[str] = []
    thought: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(text):
        if not depth and any(start < tag.start() < end for start, end in code):
            continue
        piece = text[at : tag.start()].strip()
        if not tag["begins"] and not depth:
            thought, said = [*thought, *said, piece], []
        else:
            (thought if depth else said).append(piece)
        depth = depth + 1 if tag["begins"] else max(0, depth - 1)
        at = tag.end()
    (thought if depth else said).append(text[at:].strip())
    return [piece for piece in said if piece], [piece for piece in thought if piece]
