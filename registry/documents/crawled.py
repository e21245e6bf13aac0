"""What a crawler took off a page besides a tool: headings, buttons of forms, and words of sentences.

Such a page has the name of a tool, a text and a form. A crawler that reads it line by line takes the heading
of the page for the description of the first tool, and single words for parameters: they have no type but
``string``, are never required, and come in the order of the page. All of it is told by rule: equal pages give
equal tools, whoever published them.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import ServerDocument, ToolDocument

__all__ = ["CleanedTool", "clean_page"]

_HEADING: Final = re.compile(r"\s*(?:Deploy|Claim) Server\b.*?\bTry in Playground\b\s*", re.DOTALL)
_BUTTONS: Final = (("Add", "Item"), ("True", "False"))
"""Of the forms, for lists and for yes or no, in the order of the page."""
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CAPITALISED: Final = re.compile(r"[A-Z][a-z]*")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_SMALL_WORD_LIST: Final = """
about across after all and any as at based be before between by current each every existing for from given
have if in into is it its multiple new of on one or out over per single some specific specified that their
these this those through to up using via when where which with within without you your
"""
_SMALL_WORDS: Final = _ARTICLES | frozenset(_SMALL_WORD_LIST.split())
"""Words that join others in a sentence; a parameter may be called by one, though hardly between others."""
_CRAWLED_MEMBERS: Final = frozenset({"type", "properties", "required"})
_SHOWN_CHARACTERS: Final = 200
_MIN_RUN: Final = 3
"""So many words in the order of the description are a part of it, whatever they are."""


@dataclass(frozen=True, slots=True)
class CleanedTool:
    """A tool without what belongs to its page."""

    document: ToolDocument
    notes: tuple[str, ...] = ()
    """What was left out, for people."""
    is_unread: bool = False
    """True where the page shows the tool's own name in place of its parameters: they are not known."""


def clean_page(document: ServerDocument) -> tuple[CleanedTool, ...]:
    """Take out of the tools of a crawled document what belongs to the page.

    The parameters of a tool stay as they are where one says more than a crawler reads off a page.
    """
    names = frozenset(tool.name for tool in document.tools)
    capitals = any(
        name[:1].isupper() for tool in document.tools for name in _required(tool.input_schema)
    )
    return tuple(_cleaned(tool, names, capitals=capitals) for tool in document.tools)


def _cleaned(tool: ToolDocument, names: frozenset[str], *, capitals: bool) -> CleanedTool:
    description, is_headed = _without_heading(tool.description, names)
    notes = ["description: the heading of its page left out"] if is_headed else []
    bare = _bare_parameters(tool.input_schema)
    told = _Parameters(tool.name, description or "", bare, names, takes_capitals=capitals)
    left_out = told.of_page()
    left = [name for name in bare if name not in left_out]
    is_unread = tool.name in bare and (not left or left == [tool.name])
    if left_out:
        shown = ", ".join(left_out)[:_SHOWN_CHARACTERS]
        notes.append(f"input_schema: {len(left_out)} words of its page left out: {shown}")
    schema = _without(tool.input_schema, left_out)
    cleaned = replace(tool, description=description, input_schema=schema)
    return CleanedTool(cleaned, tuple(notes), is_unread and not _required(tool.input_schema))


def _without_heading(text: str | None, names: frozenset[str]) -> tuple[str | None, bool]:
    match = _HEADING.match(text or "")
    if text is None or match is None:
        return text, False
    rest = text[match.end() :].strip()
    return ("" if rest in names or " " not in rest else rest), True


def _required(schema: JsonValue) -> Sequence[str]:
    required = schema.get("required") if isinstance(schema, dict) else None
    names = required if isinstance(required, list) else []
    return [name for name in names if isinstance(name, str)]


def _bare_parameters(schema: JsonValue) -> Mapping[str, bool]:
    """The parameters in order, and whether each is required; none where one says more than ``string``."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        return {}
    says_more = any(said != {"type": "string"} for said in properties.values())
    if says_more or not schema.keys() <= _CRAWLED_MEMBERS:
        return {}
    required = set(_required(schema))
    return {name: name in required for name in properties}


def _without(schema: JsonValue, names: Sequence[str]) -> JsonValue:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not names or not isinstance(schema, dict) or not isinstance(properties, dict):
        return schema
    left: JsonObject = {name: said for name, said in properties.items() if name not in names}
    return {**schema, "properties": left}


class _Parameters:
    """What stands where the parameters of one tool do."""

    def __init__(
        self,
        tool: str,
        description: str,
        bare: Mapping[str, bool],
        tools: frozenset[str],
        *,
        takes_capitals: bool,
    ) -> None:
        self._tool = tool
        self._tools = tools
        self._names = list(bare)
        self._is_required = list(bare.values())
        self._takes_capitals = takes_capitals
        self._own_parts = {part.lower() for part in _PARTS.findall(tool)}
        words = _WORD.findall(description)
        self._pairs = set(itertools.pairwise(words))
        self._words = frozenset(words)

    def of_page(self) -> tuple[str, ...]:
        """Those that are none, in order."""
        found = {*self._headings(), *self._buttons(), *self._sentences()}
        return tuple(self._names[at] for at in sorted(found))

    def _headings(self) -> Iterator[int]:
        """Names of tools: its own, and those of others that are no plain words."""
        for at, name in enumerate(self._names):
            is_other = name in self._tools and len(_PARTS.findall(name)) > 1
            if not self._is_required[at] and (name == self._tool or is_other):
                yield at

    def _buttons(self) -> Iterator[int]:
        for at, pair in enumerate(zip(self._names, self._names[1:], strict=False)):
            if pair in _BUTTONS and not any(self._is_required[at : at + 2]):
                yield from (at, at + 1)

    def _sentences(self) -> Iterator[int]:
        at = 0
        while at < len(self._names):
            end = self._end_of_sentence(at)
            yield from range(at, end)
            at = max(end, at + 1)

    def _end_of_sentence(self, begin: int) -> int:
        """Follow a sentence from a word; the word itself where it begins none."""
        if not self._is_word(begin):
            return begin
        end = begin + 1
        while end < len(self._names) and self._is_word(end) and self._follows(end):
            end += 1
        run = self._names[begin:end]
        return end if self._is_sentence(run) else begin

    def _is_word(self, at: int) -> bool:
        return not self._is_required[at] and _WORD.fullmatch(self._names[at]) is not None

    def _follows(self, at: int) -> bool:
        """Say whether a word goes on with what the one before it began."""
        before, word = self._names[at - 1], self._names[at]
        if (before, word) in self._pairs:
            return True
        if word[0].isupper() and (word in self._words or not self._takes_capitals):
            return True
        is_told_elsewhere = before in self._words and word in self._words
        return not is_told_elsewhere and (word in _SMALL_WORDS or self._is_of_name(word))

    def _is_sentence(self, run: Sequence[str]) -> bool:
        if self._is_capitalised(run[0]) or run[0] in _ARTICLES:
            return True
        pairs = list(itertools.pairwise(run))
        told = sum(pair in self._pairs for pair in pairs) == len(pairs)
        return told and (len(run) >= _MIN_RUN or any(word in _SMALL_WORDS for word in run[1:]))

    def _is_capitalised(self, word: str) -> bool:
        if _CAPITALISED.fullmatch(word) is None and not word.isupper():
            return False
        return not self._takes_capitals or word in self._words

    def _is_of_name(self, word: str) -> bool:
        lower = word.lower()
        return any(
            lower == part or lower.rstrip("s") == part.rstrip("s") for part in self._own_parts
        )
