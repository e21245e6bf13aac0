"""What an argument is for, by its name and description: the size of a page, a text to write, a code."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from astra_mcp.synthesis.trajectories.checks.results import plain_name, words_of

__all__ = ["End", "chooses", "end_of", "is_measure", "is_of_paging", "is_whole", "is_written"]

_PAGING_NAMES = """
    limit page page_limit page_size page_number page_num page_no page_index per_page page_count offset skip
    result_per_page item_per_page row_per_page max_result max_num_result max_item max_row max_record max_entry
    max_count num_result number_of_result n_result result_limit result_count top_k top_n start_index
"""
_PAGING: Final = frozenset(_PAGING_NAMES.split())
_COUNTS: Final = frozenset(
    {"count", "size", "num", "number", "n", "k", "first", "top", "max", "row", "item"}
)
_OF_ROWS: Final = re.compile(
    r"\b(?:number|count|max(?:imum)?|how many|limit)\b.{0,30}\b(?:results?|rows?|records?|entries|hits"
    r"|matches|items)\b.{0,12}\b(?:return|fetch|retrieve|show|per page|list)",
    re.IGNORECASE,
)
"""How a description says that a number is of the rows of a result."""
_WHOLE_WORDS = """
    id uuid guid phone telephone mobile tel fax number no card account iban bic zip postcode postal isbn
    passport serial sku
"""
_WHOLE: Final = frozenset(_WHOLE_WORDS.split())
"""Arguments whose values are no words: whoever joins two of them makes a third."""
_MEASURE_WORDS = """
    quantity qty amount price cost budget age night duration distance radius width height length weight depth
    temperature percent percentage latitude longitude lat lon lng minute hour
"""
_MEASURES: Final = frozenset(_MEASURE_WORDS.split())
"""Arguments whose numbers measure something: the id of a thing is none."""
_PLAIN_WORDS = (
    "name address place city street location recipient customer email url uri type language format"
)
_NEVER: Final = _WHOLE | frozenset(_PLAIN_WORDS.split())
_WRITTEN_WORDS = """
    body caption comment content description explanation feedback instruction memo message note prompt reason
    remark subject summary text thought
"""
_WRITTEN: Final = frozenset(_WRITTEN_WORDS.split())
_MARKUP: Final = frozenset({"html", "markdown", "md", "plain"})
_LOOKING: Final = frozenset({"search", "query", "find", "filter", "lookup", "keyword"})
_IS_FOR_TEXT: Final = re.compile(
    r"(?:the |an? )?(?:[\w-]+ ){0,2}(?:message|body|content|text|comment|prompt|summary|note)s?"
    r"(?:\s+(?:to|for|of|that|which|in)\b|\W*$|[.,:;(])",
    re.IGNORECASE,
)
_IS_OF_LOOKING: Final = re.compile(
    r"\b(?:search|quer(?:y|ies)|look|find|filter|match)", re.IGNORECASE
)
_PROGRAMS: Final = frozenset(
    {"code", "command", "expression", "formula", "pattern", "regex", "script"}
)
_OF_PROGRAMS: Final = frozenset(
    {"source", "program", "python", "javascript", "js", "shell", "script"}
)
_SIGNS: Final = re.compile(r"[(){}\[\]=;|<>\\$*+^]|(?:^|\s)--?\w")
_SQL_NAMES: Final = frozenset({"sql", "query", "statement"})
_SQL: Final = re.compile(
    r"\s*(?:select\b.*\bfrom\b|insert\s+into\b|update\b.*\bset\b|delete\s+from\b|with\b.*\bas\s*\(\s*select\b"
    r"|(?:create|alter|drop)\s+(?:\w+\s+){0,3}(?:table|view|index|database|schema)\b)",
    re.IGNORECASE | re.DOTALL,
)
_CREATING_WORDS = (
    "add compose create draft insert make new post publish save schedule send submit write"
)
_CREATING: Final = frozenset(_CREATING_WORDS.split())
_QUOTED: Final = re.compile("[\"'`]([^\"'`]{1,40})[\"'`]")
_EXAMPLE: Final = re.compile(r"\b(?:e\.?g|i\.?e|examples?|such as|as in|like)\b", re.IGNORECASE)
_CHOICE: Final = re.compile(r"[a-z][a-z_A-Z-]*|[A-Z_-]+")
_MIN_CHOICES: Final = 2


class End(StrEnum):
    """Of a way, a time or a conversion."""

    ORIGIN = "origin"
    DESTINATION = "destination"


_ENDS: Final = {
    **dict.fromkeys(("from", "origin", "source", "src", "departure", "start"), End.ORIGIN),
    **dict.fromkeys(("to", "destination", "dest", "target", "arrival", "end"), End.DESTINATION),
}


def end_of(name: str) -> tuple[End | None, tuple[str, ...]]:
    """Which end an argument is for, and its other words; no end of one that says neither, or both."""
    words = words_of(name)
    ends = {_ENDS[word] for word in words if word in _ENDS}
    return ends.pop() if len(ends) == 1 else None, tuple(w for w in words if w not in _ENDS)


def is_measure(name: str) -> bool:
    """True of amounts, which no id of a thing tells."""
    words = words_of(name)
    return words[-1:] != [] and words[-1] in _MEASURES


def is_of_paging(name: str, description: str) -> bool:
    """True of how many rows of a result to give, or from which on: what states nothing."""
    plain = plain_name(name)
    return plain in _PAGING or (plain in _COUNTS and _OF_ROWS.search(description) is not None)


def is_whole(name: str) -> bool:
    """True of ids, codes and numbers of things, that have to be told in one piece."""
    head = words_of(name)[-1:]
    return _is_named_code(name) or (head != [] and head[0] in _WHOLE)


def is_written(name: str, description: str, text: str, tool: str) -> bool:
    """True where a text is the assistant's own: a message, a program, the title of what a tool creates."""
    words = words_of(name)
    if words[-1:] and words[-1] in _MARKUP:
        words = words[:-1]
    head = words[-1] if words else ""
    if head in _SQL_NAMES:
        return _SQL.match(text) is not None
    if head in _PROGRAMS:
        return not _is_named_code(name) and _SIGNS.search(text) is not None
    if head in _NEVER or not _LOOKING.isdisjoint(words):
        return False
    if head == "title":
        return words_of(tool)[:1] != [] and words_of(tool)[0] in _CREATING
    says = _IS_FOR_TEXT.match(description) and not _IS_OF_LOOKING.search(description)
    return head in _WRITTEN or bool(says)


def chooses(name: str, description: str) -> Iterator[str]:
    """What a description lets choose among: words in quotes that are no examples, two or more at once.

    Names and codes are nobody's choice; one value alone may be of somebody else's call.
    """
    if words_of(name)[-1:] and words_of(name)[-1] in _NEVER - {"type", "language", "format"}:
        return
    for part in re.split(r"[;()\n]|\.\s+(?=[A-Z])", description):
        found = [] if _EXAMPLE.search(part) else _QUOTED.findall(part)
        if len(found) >= _MIN_CHOICES:
            yield from (each for each in found if _CHOICE.fullmatch(each))


def _is_named_code(name: str) -> bool:
    """True of a code that is of something else than a program, such as ``discount_code``."""
    words = words_of(name)
    return len(words) > 1 and words[-1] == "code" and words[-2] not in _OF_PROGRAMS
