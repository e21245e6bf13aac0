"""What supports each required argument of a chain, as far as code can tell (ASTRA sec. 2.1.2, first check).

An argument is supported by its own schema, by a join, by a field of an earlier result, or by the query. What
only a server can give, and nothing gives in time, is a fault. All else is open, for a judge: also what two
arguments could take from one place of the query.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from astra_mcp.answers import contains_answer, tokenize
from astra_mcp.synthesis.texts import Fault
from astra_mcp.synthesis.trajectories.chain import Chain
from astra_mcp.synthesis.trajectories.checks.arguments import (
    Argument,
    is_optional_in_effect,
    required_arguments,
)
from astra_mcp.synthesis.trajectories.checks.results import (
    HeldFields,
    ResultFields,
    plain_name,
    words_of,
)
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
_SUFFIXES: Final = frozenset(
    {"id", "uuid", "guid", "number", "name", "code", "key", "count", "size", "title"}
)
"""Last words of a name that a query may leave out: ``customer C-1044`` for ``customer_id``."""
_AROUND: Final = 24
"""Characters between the word of an argument and its value in a query."""
_MIN_WORD: Final = 3
_OPEN, _CLOSE = '"\u201c\u2018\u300a\u300c\u300e', '"\u201d\u2019\u300b\u300d\u300f'
_QUOTED: Final = re.compile(rf"[{_OPEN}][^{_CLOSE}]+[{_CLOSE}]|(?<!\w)'[^']+'(?!\w)")
_CODE: Final = re.compile(r"[^\W_]*\d[\w-]*|\w+[_/#:@]\w+|\b[A-Z]{3,}\b")
_CODE_HERE: Final = re.compile(r"[\w/#:@-]*\d[\w-]*|\w+[_/#:@]\w+|[A-Z]{3,}\b")
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z]\w+")
_DIGITS: Final = re.compile(r"\d(?:[\d.,]*\d)?(?![\w-])")
_LINK: Final = re.compile(r"[\s:=#]*(?:(?:of|is|to|named|called|number|no\.?|id)\b[\s:=#]*)?")
"""What stands between the word of an argument and its value, and nothing else."""
_FORMS: Final = {
    "email": re.compile(r"[\w.+-]+@[\w-]+\.\w+"),
    "uri": re.compile(r"https?://\S+|\bwww\.\S+"),
    "ipv4": re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    "phone": re.compile(r"(?<![\w.-])\+?\(?\d(?:[ ().\-/]{0,2}\d){6,14}(?![\w-])"),
    "uuid": re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE),
}
_FORMS_OF_WORDS: Final = {
    "email": "email",
    "mail": "email",
    "url": "uri",
    "uri": "uri",
    "uuid": "uuid",
    "phone": "phone",
    "telephone": "phone",
    "mobile": "phone",
    "fax": "phone",
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
    given = {a.id: _support(a, chain, held) for a in required}
    tokens = {a.id: _tokens(a, query) for a in required if given[a.id] is None}
    told = _shared_out([a for a in required if a.id in tokens], tokens)
    return [
        Weighed(a, support)
        if (support := Support.QUERY if a.id in told else given[a.id])
        else _unsupported(a, held, query)
        for a in required
    ]


def _support(argument: Argument, chain: Chain, held: Sequence[HeldFields]) -> Support | None:
    """What gives an argument that the query need not give."""
    joined = (j for j in chain.joins if j.source < j.target == argument.step)
    if is_optional_in_effect(argument) or argument.kinds == frozenset({"boolean"}):
        return Support.SCHEMA
    if any(join.argument.partition(".")[0] == argument.name for join in joined):
        return Support.JOIN
    return Support.RESULT if _is_held(argument, held[: argument.step]) else None


def _shared_out(
    arguments: Sequence[Argument], tokens: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """The ids of arguments for which the query has values enough: one token is of one argument.

    Arguments of one name may share a value over the steps of a chain.
    """
    told: set[str] = set()
    for argument in arguments:
        own = tokens[argument.id]
        rivals = [a for a in arguments if own & tokens[a.id]]
        among = frozenset[str]().union(*(tokens[a.id] for a in rivals))
        if own and len({plain_name(a.name) for a in rivals}) <= len(among):
            told.add(argument.id)
    return frozenset(told)


def _unsupported(argument: Argument, held: Sequence[HeldFields], query: str) -> Weighed:
    earlier, later = held[: argument.step], held[argument.step + 1 :]
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


def _tokens(argument: Argument, query: str) -> frozenset[str]:
    """What of the query clearly gives a value: all of its form, else one member, or one word beside it."""
    words = words_of(argument.name)
    options = [str(option) for option in argument.options]
    if options:
        said = frozenset(option for option in options if _is_said(option, words, query))
        return said if len(said) == 1 else frozenset()
    head = words[-2:-1] if words[-1:] and words[-1] in ("number", "address") else words[-1:]
    named = argument.schema.get("format") or _FORMS_OF_WORDS.get(head[0] if head else "")
    form = _FORMS.get(str(named))
    if form is not None:
        days = [] if named != "phone" else _DAY.findall(query)
        return frozenset(f.casefold() for f in form.findall(query) if f not in days)
    if named in ("date", "date-time"):
        return frozenset(token for token in tokenize(query) if _DAY.fullmatch(token))
    beside = frozenset(
        v for place in _places(words, query) for v in _values_beside(argument, place)
    )
    return beside if len(beside) == 1 else frozenset()


def _is_said(option: str, words: Sequence[str], query: str) -> bool:
    """Tell whether a query says a member, and can mean nothing else by it.

    A plain word means the member beside a word of the argument's name; one of several words, and one in
    capitals, everywhere.
    """
    spaced = option.replace("_", " ")
    if option != option.lower():
        return re.search(rf"\b{re.escape(option)}\b", query) is not None
    if len(option) <= _MIN_WORD:
        return False
    if not option.isalpha():
        return any(contains_answer(query, text) for text in (option, spaced))
    return any(contains_answer(place, option) for place in map(" ; ".join, _places(words, query)))


def _places(words: Sequence[str], query: str) -> Iterator[tuple[str, str]]:
    """What stands before and after the word in a query that a name is of."""
    named = words[-2:] if words[-1:] and words[-1] in _SUFFIXES else words[-1:]
    for word in named:
        if len(word) < _MIN_WORD or not word.isascii():
            continue
        for found in re.finditer(rf"\b{re.escape(word)}\w{{0,3}}\b", query, re.IGNORECASE):
            before = query[max(0, found.start() - _AROUND) : found.start()]
            yield before, query[found.end() : found.end() + _AROUND]


def _values_beside(argument: Argument, place: tuple[str, str]) -> Iterator[str]:
    """The values right before or after a word; an id stands after what it is of."""
    is_number = bool(argument.kinds) and argument.kinds <= _NUMBERS
    if argument.kinds and not is_number and "string" not in argument.kinds:
        return
    before, after = place
    link = _LINK.match(after)
    start = link.end() if link else 0
    following = (_DIGITS,) if is_number else (_QUOTED, _CODE_HERE)
    if not is_number and not argument.is_issued:
        following = (*following, re.compile(r"[A-Z]\w+"))
    found = (pattern.match(after, start) for pattern in following)
    values = [f[0].casefold() for f in islice(filter(None, found), 1)]
    # "order 3 huts" tells no id of an order.
    yield from (
        v for v in values if not (argument.is_issued and len(v) < _MIN_WORD and v.isdecimal())
    )
    if not argument.is_issued:
        for pattern in (_DIGITS,) if is_number else (_QUOTED, _NAME):
            ending = [f for f in pattern.finditer(before) if not before[f.end() :].strip()]
            yield from (f[0].casefold() for f in ending)


def _has_such_a_token(argument: Argument, query: str) -> bool:
    """Tell whether anything in a query could be the value that a server gave."""
    if argument.kinds and argument.kinds <= _NUMBERS:
        return re.search(r"\d", query) is not None
    if argument.schema.get("format") == "uuid":
        return _FORMS["uuid"].search(query) is not None
    text = _FORMS["email"].sub(" ", query)  # what a user has instead of an id
    return any(pattern.search(text) for pattern in (_QUOTED, _CODE))
