"""What supports each required argument of a chain, as far as code can tell (ASTRA sec. 2.1.2, first check).

An argument is supported by its own schema, by a join, by a field of an earlier result, or by the query. What
only a server can give, and nothing gives in time, is a fault. All else is open, for a judge.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from astra_mcp.answers import contains_answer, tokenize
from astra_mcp.synthesis.texts import Fault
from astra_mcp.synthesis.trajectories.chain import Chain
from astra_mcp.synthesis.trajectories.checks.arguments import (
    Argument,
    is_optional_in_effect,
    required_arguments,
)
from astra_mcp.synthesis.trajectories.checks.results import HeldFields, ResultFields, words_of
from astra_mcp.synthesis.trajectories.checks.shown_chain import tools_of
from astra_mcp.synthesis.trajectories.server import Documents

__all__ = ["Support", "Weighed", "weigh"]

_GENERIC_WORDS = """
    address amount content count data date description end input key keyword label language limit link message
    name number page path price query result size start state status text time title type url value
"""
_GENERIC: Final = frozenset(_GENERIC_WORDS.split())
"""Names that say nothing of what a value is of: a result that holds one need not hold this one."""
_NUMBERS: Final = frozenset({"integer", "number"})
_AROUND: Final = 24
"""Characters between the word of an argument and its value in a query."""
_MIN_WORD: Final = 3
_OPEN, _CLOSE = '"\u201c\u2018\u300a\u300c\u300e', '"\u201d\u2019\u300b\u300d\u300f'
_QUOTED: Final = re.compile(rf"[{_OPEN}][^{_CLOSE}]+[{_CLOSE}]|(?<!\w)'[^']+'(?!\w)")
_CODE: Final = re.compile(r"[^\W_]*\d[\w-]*|\w+[_/#:@]\w+|\b[A-Z]{3,}\b")
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z]\w+")
_FORMS: Final = {
    "email": re.compile(r"[\w.+-]+@[\w-]+\.\w+"),
    "uri": re.compile(r"https?://\S+|\bwww\.\S+"),
    "ipv4": re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    "uuid": re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE),
}
_FORMS_OF_WORDS: Final = {
    "email": "email",
    "mail": "email",
    "url": "uri",
    "uri": "uri",
    "uuid": "uuid",
}
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


class Support(StrEnum):
    """What an argument is known by."""

    SCHEMA = "schema"
    JOIN = "join"
    RESULT = "result"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class Weighed:
    """A required argument, with what supports it or is wrong with it; neither leaves it open."""

    argument: Argument
    support: Support | None = None
    fault: Fault | None = None
    giver: int | None = None
    """Where nothing supports it: the first later step, from 1, whose result holds it."""

    @property
    def is_open(self) -> bool:
        """True where code cannot tell."""
        return self.support is None and self.fault is None


def weigh(chain: Chain, documents: Documents, query: str, fields: ResultFields) -> list[Weighed]:
    """Weigh each required argument of a chain, in the order of its steps.

    Args:
        chain: Its joins count as they are.
        documents: Have its tools.
        query: What the user asks.
        fields: Says what results hold.
    """
    tools = tools_of(chain, documents)
    servers = [documents[step.server] for step in chain.steps]
    held = [fields.held(server, tool) for server, tool in zip(servers, tools, strict=True)]
    required = [a for step, tool in enumerate(tools) for a in required_arguments(step, tool)]
    return [_weighed(argument, chain, held, query) for argument in required]


def _weighed(argument: Argument, chain: Chain, held: Sequence[HeldFields], query: str) -> Weighed:
    earlier, later = held[: argument.step], held[argument.step + 1 :]
    joined = (j for j in chain.joins if j.source < j.target == argument.step)
    if is_optional_in_effect(argument) or argument.kinds == frozenset({"boolean"}):
        return Weighed(argument, Support.SCHEMA)
    if any(join.argument.partition(".")[0] == argument.name for join in joined):
        return Weighed(argument, Support.JOIN)
    if _is_held(argument, earlier):
        return Weighed(argument, Support.RESULT)
    if _is_told(argument, query):
        return Weighed(argument, Support.QUERY)
    is_known = all(fields.is_whole for fields in earlier)
    numbered = enumerate(later, argument.step + 2)
    giver = next((n for n, h in numbered if argument.names & (h.names | h.likely)), None)
    if is_known and argument.is_issued and not _has_such_a_token(argument, query):
        return Weighed(argument, fault=_fault(argument, giver), giver=giver)
    return Weighed(argument, giver=giver)


def _fault(argument: Argument, giver: int | None) -> Fault:
    what = f"step {argument.step + 1} ({argument.tool.name}) needs {argument.name!r}"
    if giver is not None:
        return Fault("wrong_order", f"{what}, which only step {giver} finds out, after it")
    return Fault(
        "unsupported_argument",
        f"{what}, which only a server can give; no earlier result holds it, and the query has no token of"
        " its form",
    )


def _is_held(argument: Argument, earlier: Sequence[HeldFields]) -> bool:
    if _GENERIC.issuperset(words_of(argument.name)):
        return False
    return any(argument.names & fields.names for fields in earlier)


def _is_told(argument: Argument, query: str) -> bool:
    """Tell whether the query clearly gives a value: a member, one of the form, or one beside the name."""
    options = [str(option) for option in argument.options]
    if options:
        return any(_is_said(option, query) for option in options)
    words = words_of(argument.name)
    named = argument.schema.get("format") or _FORMS_OF_WORDS.get(words[-1] if words else "")
    form = _FORMS.get(str(named))
    if form is not None:
        return form.search(query) is not None
    if named in ("date", "date-time"):
        return any(_DAY.fullmatch(token) for token in tokenize(query))
    return any(_value_beside(argument, place) for place in _places(words, query))


def _is_said(option: str, query: str) -> bool:
    """Tell whether a query says a member; a short one is a word of its own unless it has its very letters."""
    if len(option) > _MIN_WORD:
        return any(contains_answer(query, text) for text in (option, option.replace("_", " ")))
    return option != option.lower() and re.search(rf"\b{re.escape(option)}\b", query) is not None


def _places(words: Sequence[str], query: str) -> Iterator[str]:
    """What stands around each word of a name in a query, the word itself left out."""
    for word in words:
        if len(word) < _MIN_WORD or not word.isascii():
            continue
        for found in re.finditer(rf"\b{re.escape(word)}\w{{0,3}}\b", query, re.IGNORECASE):
            before = query[max(0, found.start() - _AROUND) : found.start()]
            yield f"{before} ; {query[found.end() : found.end() + _AROUND]}"


def _value_beside(argument: Argument, place: str) -> bool:
    if argument.kinds and argument.kinds <= _NUMBERS:
        return re.search(r"\d", place) is not None
    if argument.kinds and "string" not in argument.kinds:
        return False
    patterns = (_QUOTED, _CODE) if argument.is_issued else (_QUOTED, _CODE, _NAME)
    return any(pattern.search(place) for pattern in patterns)


def _has_such_a_token(argument: Argument, query: str) -> bool:
    """Tell whether anything in a query could be the value that a server gave."""
    if argument.kinds and argument.kinds <= _NUMBERS:
        return re.search(r"\d", query) is not None
    if argument.schema.get("format") == "uuid":
        return _FORMS["uuid"].search(query) is not None
    text = _FORMS["email"].sub(" ", query)  # what a user has instead of an id
    return any(pattern.search(text) for pattern in (_QUOTED, _CODE))
