"""Which entities of a noun a call is about, in which order, and which page of them."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, NamedTuple, TypeVar

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import is_plural, key_of, singular
from astra_mcp.values.vocabulary import meaning_of
from servers.emulated.offline.fields import PAIRED, range_of
from servers.emulated.parameters import Parameter, Role
from servers.emulated.verbs import ToolReading, Verb

__all__ = [
    "EntityRefusedError",
    "Filter",
    "as_list",
    "filters_of",
    "page_of",
    "query_of",
    "sort_of",
    "words_match",
]

T = TypeVar("T")

_DEFAULT_LIMIT: Final = 20
_MAX_LIMIT: Final = 200
_COUNTED: Final = re.compile(r"^(?:num|number_of|max|n|top|max_num|total)_(\w+)$")
_MAX_PLACE: Final = 2**53
"""Of pages and offsets; programs that read JSON know no greater whole numbers for certain."""
_OPERATORS: Final = re.compile(
    r"\b[\w.]+\s*(?::|=|!=|<|>|~)\s*(?:\"[^\"]*\"|\S+)|\b(?:AND|OR|NOT|ORDER BY|ASC|DESC)\b|[*\"'(){}\[\]|]"
)
"""What query languages add to the words that are searched for."""
_SELECT: Final = re.compile(r"\s*select\b.+\bfrom\b", re.IGNORECASE | re.DOTALL)
_FACET: Final = re.compile(
    r"\b(status|state|priority|assignee|severity|is)\s*[:=]\s*(?:[\"']([^\"']+)[\"']|([\w-]+))",
    re.IGNORECASE,
)
"""What query languages ask of members that most things have, such as ``status:open``."""
_EITHER: Final = re.compile(r"\b(?:OR|NOT)\b")
"""A query with one of these does not ask for all that it names."""
_COMPARED: Final = re.compile(
    r"\b\w+\s+(?:contains|like)\s+(?:'([^']+)'|\"([^\"]+)\")", re.IGNORECASE
)
"""Such as ``name contains 'budget'``."""
_NARROWING: Final = frozenset(("filter", "name_filter", "pattern", "contains", "prefix"))
"""Words that the rows of a list are to hold."""
_MAX_QUERY: Final = 80
_READ: Final = 1000
_CURSOR: Final = "offset:"
_IN_WORDS: Final = frozenset(("name", "title", "display_name", "full_name"))
"""A list is narrowed by a part of what its entities are called."""
_WORDY: Final = frozenset(("name", "title", "sentence", "paragraph", "query", "tag"))
"""Arguments of these meanings hold words to search for, where a search has no better one."""


class EntityRefusedError(Exception):
    """A real API would refuse the call; the message is what it would say."""


class Filter(NamedTuple):
    """What an argument asks of entities."""

    key: str
    """Of the field, in normal form."""
    value: JsonValue
    sign: int
    """0 for the same, 1 for at least, -1 for at most."""
    is_part: bool = False
    """A part of the member is enough, and ``*`` stands for anything."""

    def passes(self, members: Sequence[JsonValue]) -> bool:
        """Say whether an entity has what is asked for; one without the member passes.

        Args:
            members: The member of the key, if the entity has it.
        """
        if not members:
            return True
        if self.sign:
            return _is_ordered(members[0], self.value, self.sign)
        wanted, have = as_list(self.value), as_list(members[0])
        if self.is_part:
            return any(_holds(str(h), str(w)) for w in wanted for h in have)
        return not wanted or not {_folded(w) for w in wanted}.isdisjoint(map(_folded, have))


def as_list(value: JsonValue) -> list[JsonValue]:
    """One or many values, as a list."""
    return value if isinstance(value, list) else [value]


def _holds(text: str, part: str) -> bool:
    return fnmatchcase(text.casefold(), f"*{part.casefold().strip('*')}*")


def _folded(value: JsonValue) -> str:
    return re.sub(r"[_\s-]+", " ", str(value)).strip().casefold()


def _is_ordered(found: JsonValue, bound: JsonValue, sign: int) -> bool:
    try:
        difference = float(str(found)) - float(str(bound))
    except ValueError:
        left, right = str(found), str(bound)
        difference = (left > right) - (left < right)
    return difference * sign >= 0


def filters_of(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> Iterator[Filter]:
    """What the arguments of a list ask of its entities."""
    query = reading.parameter(Role.QUERY)
    asked = arguments.get(query.name) if query is not None else None
    if isinstance(asked, str) and _EITHER.search(asked[:_READ]) is None:
        for key, quoted, plain in _FACET.findall(asked[:_READ]):
            yield Filter("state" if key.lower() == "is" else key_of(key), quoted or plain, 0)
    pair = _pair(reading, arguments)
    if pair is not None:
        named, wanted = pair
        yield Filter(key_of(str(arguments[named.name])), arguments[wanted.name], 0)
    for parameter in reading.parameters:
        value = arguments.get(parameter.name)
        if parameter.role is not Role.FIELD or value is None or isinstance(value, dict):
            continue
        if pair is not None and parameter in pair:
            continue
        if parameter.name == reading.id_parameter or value in ("", "all"):
            continue
        bound = range_of(parameter.key)
        if bound is None:
            is_part = parameter.key in _IN_WORDS and not parameter.is_required
            yield Filter(parameter.key, value, 0, is_part)
        elif bound[0]:
            yield Filter(bound[0], value, bound[1])


def _pair(
    reading: ToolReading, arguments: Mapping[str, JsonValue]
) -> tuple[Parameter, Parameter] | None:
    """The argument that names a member and the one that says what it is to be, if both are given."""
    given = [p for p in reading.parameters if arguments.get(p.name) not in (None, "")]
    named = next((p for p in given if p.key in PAIRED and isinstance(arguments[p.name], str)), None)
    value = next((p for p in given if p.key in ("value", "field_value", "equals")), None)
    return None if named is None or value is None else (named, value)


def query_of(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> tuple[str | None, str]:
    """The argument that holds what is searched for, and its plain words; empty where it has none."""
    name = _query_argument(reading, arguments)
    if name is None:
        return None, ""
    value = arguments[name]
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = text[:_READ]
    if _SELECT.match(text):
        return name, ""
    quoted = [found[0] or found[1] for found in _COMPARED.findall(text)]
    plain = " ".join(" ".join(quoted).split() or _OPERATORS.sub(" ", text).split())
    return name, plain[:_MAX_QUERY].strip()


def _query_argument(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> str | None:
    parameter = reading.parameter(Role.QUERY)
    if parameter is not None and isinstance(arguments.get(parameter.name), str | list):
        return parameter.name
    if reading.verb is Verb.LIST:
        words = (p.name for p in reading.parameters if p.key in _NARROWING)
        return next((name for name in words if _is_plain_text(arguments.get(name))), None)
    if reading.verb is not Verb.SEARCH or _pair(reading, arguments) is not None:
        return None
    texts = (
        p.name
        for p in reading.parameters
        if p.role is Role.FIELD and p.is_required and "string" in p.types and _is_words(p.key)
    )
    return next((name for name in texts if name in arguments), None)


def _is_plain_text(value: JsonValue) -> bool:
    return isinstance(value, str) and re.search(r"[=<>:{}]", value) is None


def _is_words(key: str) -> bool:
    return meaning_of(key)[1] in _WORDY or key.endswith(("query", "keyword"))


def words_match(query: str, shown: Mapping[str, JsonValue]) -> bool:
    """Say whether an entity holds all words of a query, wherever and in whatever case."""
    text = "\n".join(_texts(shown.values())).casefold()
    return all(word in text for word in query.casefold().split())


def _texts(values: Iterable[JsonValue]) -> Iterator[str]:
    for value in values:
        match value:
            case dict():
                yield from _texts(value.values())
            case list():
                yield from _texts(value)
            case None | bool():
                pass
            case _:
                yield str(value)


_CURSORS: Final = ("next_cursor", "next_page_token", "next_token", "continuation_token")
_TOTALS: Final = ("total", "total_count", "total_results", "num_found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which part of a list to show."""

    offset: int
    limit: int
    number: int | None
    """Its number, where the call asked for pages."""
    has_cursor: bool
    """The tool goes on by cursors."""

    def part(self, rows: list[T]) -> list[T]:
        """What is on the page."""
        return rows[self.offset : self.offset + self.limit]

    def describe(self, total: int) -> JsonObject:
        """What an answer says of its place in the whole list."""
        told: JsonObject = {"total": total}
        if self.number is not None:
            told["page"] = self.number
        if self.has_cursor:
            told["next_cursor"] = self._cursor(total)
        return told

    def synonyms(self, total: int) -> JsonObject:
        """The same, by the names that output schemas may have for it."""
        cursors: JsonObject = dict.fromkeys(_CURSORS, self._cursor(total))
        has_more = self.offset + self.limit < total
        return {
            **cursors,
            **dict.fromkeys(_TOTALS, total),
            "has_more": has_more,
            "limit": self.limit,
        }

    def _cursor(self, total: int) -> str | None:
        after = self.offset + self.limit
        if after >= total:
            return None
        return urlsafe_b64encode(f"{_CURSOR}{after}".encode()).decode().rstrip("=")


def page_of(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> Page:
    """Read which page is asked for.

    Raises:
        RefusedError: An argument is no number, or no cursor that was given out.
    """
    limit = _number(reading, arguments, Role.LIMIT, _DEFAULT_LIMIT)
    if reading.parameter(Role.LIMIT) is None:
        limit = _own_limit(reading, arguments) or limit
    limit = min(max(limit, 1), _MAX_LIMIT)
    number = _number(reading, arguments, Role.PAGE, 0)
    offset = _number(reading, arguments, Role.OFFSET, 0)
    cursor = reading.parameter(Role.CURSOR)
    sent = arguments.get(cursor.name) if cursor is not None else None
    if cursor is not None and sent:
        offset = _read_cursor(cursor.name, str(sent))
    elif number > 0:
        offset = (number - 1) * limit
    return Page(
        offset=max(offset, 0),
        limit=limit,
        number=number if reading.parameter(Role.PAGE) and number > 0 else None,
        has_cursor=cursor is not None,
    )


def _own_limit(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> int | None:
    """``num_stocks`` or ``max_posts`` says how many of a list to give."""
    for parameter in reading.parameters:
        value, match = arguments.get(parameter.name), _COUNTED.match(parameter.key)
        if match is None or isinstance(value, bool) or not str(value).isdigit():
            continue
        noun = reading.noun or ""
        one = singular(match[1])
        if is_plural(match[1]) and one in (noun, noun.rpartition("_")[2], "item", "entry"):
            return int(str(value))
    return None


def _number(
    reading: ToolReading, arguments: Mapping[str, JsonValue], role: Role, default: int
) -> int:
    parameter = reading.parameter(role)
    if parameter is None:
        return default
    value = arguments.get(parameter.name, parameter.schema.get("default"))
    if value is None or value == "":
        return default
    try:
        number = int(float(str(value)))
    except (ValueError, OverflowError):
        raise EntityRefusedError(
            f"Invalid value for {parameter.name}: {value!r} is not a number"
        ) from None
    if abs(number) > _MAX_PLACE:
        raise EntityRefusedError(f"Invalid value for {parameter.name}: {value!r} is out of range")
    return number


def _read_cursor(name: str, cursor: str) -> int:
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        return int(text.removeprefix(_CURSOR))
    except ValueError:
        raise EntityRefusedError(f"Invalid {name}: {cursor!r}") from None


def sort_of(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> tuple[str, bool] | None:
    """Read ``sort=price``, ``-price``, ``price:desc`` or ``price`` beside ``order=desc``.

    Returns:
        The field in normal form, and whether downwards; None where no order is asked for.
    """
    sort, direction = reading.parameter(Role.SORT), reading.parameter(Role.DIRECTION)
    wanted = arguments.get(sort.name) if sort is not None else None
    if not isinstance(wanted, str) or not wanted:
        return None
    field, *way = re.split(r"[:,\s]+", wanted.lstrip("-+"))
    asked = str(arguments.get(direction.name) or "") if direction is not None else ""
    is_down = wanted.startswith("-") or (asked or "".join(way[:1])).lower().startswith("desc")
    return key_of(field), is_down
