"""What of a task's words a tool may need: values that a variation must not lose."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from astra_mcp.answers import answer_fault, contains_answer, match_answers, tokenize
from astra_mcp.environments.acceptance.grounding import spellings
from astra_mcp.sent_answers import free_texts
from astra_mcp.synthesis.trajectories.chain import ExecutedCall
from astra_mcp.synthesis.trajectories.server import Documents

__all__ = ["details_of", "lost_details", "lost_values"]

_PAIRS: Final = (
    '""',
    "``",
    "\u201c\u201d",
    "\u201e\u201c",
    "\u2018\u2019",
    "\u00ab\u00bb",
    "\u300a\u300b",
    "\u300c\u300d",
    "\u300e\u300f",
)
"""Marks between which a text quotes; a straight single one only where it is no apostrophe."""
_QUOTED: Final = re.compile(
    "|".join(rf"{a}([^{a}{b}\n]{{1,200}}){b}" for a, b in _PAIRS)
    + r"|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_SMALL: Final = re.compile(r"\d{1,2}")
_URL: Final = re.compile(r"https?://[!-~]*[\w/]")


def details_of(text: str) -> tuple[str, ...]:
    """Find the values that a text tells: numbers, codes, dates, addresses, and what it quotes.

    Each once; dates and numbers as they are compared (``2025-09-03``).
    """
    quoted = ("".join(groups).strip() for groups in _QUOTED.findall(text))
    values = (token for token in tokenize(text) if re.search(r"[0-9@]", token))
    found = [*_URL.findall(text), *quoted, *values]
    return tuple(dict.fromkeys(detail for detail in found if tokenize(detail)))


def lost_details(original: str, variation: str) -> tuple[str, ...]:
    """Find the values of a text that another one does not tell, at least in no spelling that code knows."""
    told = set(tokenize(variation))
    kept = set(details_of(variation))
    return tuple(
        detail
        for detail in details_of(original)
        if detail not in kept
        and not told.issuperset(tokenize(detail))
        and not contains_answer(variation, detail)
    )


def lost_values(
    executed: Iterable[ExecutedCall], documents: Documents, original: str, variation: str
) -> Iterator[str]:
    """Find the values that a task tells, that its executed calls took, and that a variation does not tell.

    What an argument chooses among is no such value. A number of one or two digits may stand in words; all
    else that is too short to be looked for is left to a judge.
    """
    for call in executed:
        server = documents.get(call.step.server)
        tool = server.tool(call.step.tool) if server else None
        schema: Mapping[str, object] = tool.input_schema if tool else {}
        for value in free_texts(call.arguments, schema):
            if _is_lost(value, original, variation):
                yield value


def _is_lost(value: str, original: str, variation: str) -> bool:
    if _SMALL.fullmatch(value):
        forms = {*spellings(int(value)), value}
        # Who says "one" or "first" seldom counts.
        counting = forms if int(value) > 1 else {value}
        told = match_answers(original, counting).found
        return bool(told) and not match_answers(variation, forms).found
    if answer_fault(value) is not None:
        return False
    return contains_answer(original, value) and not contains_answer(variation, value)
