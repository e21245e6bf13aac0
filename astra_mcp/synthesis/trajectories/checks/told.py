"""Does anything tell the values that a call is given? What nothing tells is made up.

A value is told by the query, by an earlier result, or by the schema (defaults, members); an amount is not
told by the id of a thing. It may be written otherwise: days and times, numbers in words, multiples by a unit,
words in another form and order. What an argument is for (``checks/purposes.py``) says whether the assistant
may write of its own, or how many rows to give; numbers, codes and addresses in its texts are told all the
same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from astra_mcp.answers import match_in_slices, tokenize
from astra_mcp.environments.acceptance.grounding import spellings
from astra_mcp.synthesis.trajectories.checks.purposes import (
    End,
    chooses,
    end_of,
    is_measure,
    is_of_paging,
    is_whole,
    is_written,
)
from astra_mcp.synthesis.trajectories.checks.results import (
    listed,
    object_of,
    without_ids,
    words_of,
)
from astra_mcp.synthesis.trajectories.checks.spoken import (
    Claim,
    claims_of,
    is_in_another_script,
    multiples,
    stands_alone,
)
from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.guesses import resolve

__all__ = ["invented_values", "swapped_ends"]

_MAX_VALUES: Final = 200
"""Of one call; each is looked for in all that is known."""
_MAX_SHOWN: Final = 120
_MAX_DEPTH: Final = 8
_SMALL: Final = 100
_MAX_DIGITS: Final = 40
_MIN_SOURCE: Final = 2
_INTEGER: Final = re.compile(r"[1-9]\d{0,8}")
_NUMBER: Final = re.compile(r"\+?[\d\s().\-/]*\d")
_MAX_PARTS: Final = 2000
_MAX_APART: Final = 4
"""Tokens between the name of one end and the word that leads to the other: ``from Rome by train to Bari``."""
_FROM_WORDS = ("from", "从", "自", "由")
_TO_WORDS = ("to", "into", "until", "到", "至", "往", "去", "飞", "抵")
_BACK: Final = re.compile(
    r"\b(?:back|return\w*|round|reverse\w*|vice|both|home|again)\b|返|双程|双向|反过来|回",
    re.IGNORECASE,
)
"""What says that a way is also gone the other way."""
_PARTS: Final = frozenset({"year", "month", "day"})


@dataclass(frozen=True, slots=True)
class _Value:
    """One text or number of the arguments."""

    argument: str
    """The argument that holds it."""
    name: str
    """Of the innermost member that holds it."""
    value: str | int | float
    description: str
    """Of the argument."""

    @property
    def is_free(self) -> bool:
        """True for what states nothing: signs alone, or how many rows to give."""
        if not any(c.isalnum() for c in str(self.value)):
            return True
        is_small = isinstance(self.value, int) and 0 <= self.value <= _SMALL
        return is_small and is_of_paging(self.name, self.description)

    @property
    def is_measured(self) -> bool:
        """True for a number of an argument that measures something."""
        is_number = re.fullmatch(r"-?\d+(?:\.\d+)?", str(self.value)) is not None
        return is_number and is_measure(self.name)

    def is_part_of(self, days: Iterable[str]) -> bool:
        """True for the year, the month or the day of a day, as ``2026-05-03``."""
        if not isinstance(self.value, int) or _PARTS.isdisjoint(words_of(self.name)):
            return False
        return any(self.value in map(int, day.split("-")) for day in days)


async def invented_values(
    arguments: JsonObject,
    schema: Mapping[str, Any],
    *,
    query: str,
    results: Sequence[str],
    sources: Mapping[str, Sequence[str]],
    tool: str = "",
) -> list[str]:
    """Say which values of a call nothing tells, in words for the model that wrote them.

    Args:
        arguments: Of the call.
        schema: Of the tool's arguments.
        query: What the user asks.
        results: Of the earlier calls.
        sources: By argument, the words of the query that a name is another script's writing of.
        tool: Its name, which says whether it creates something.
    """
    values = [value for value in _values(arguments, schema) if not value.is_free]
    if len(values) > _MAX_VALUES:
        return [f"the arguments hold {len(values)} values, more than {_MAX_VALUES}"]
    named = {argument: _named(schema, argument) for argument in arguments}
    days = [token for token in tokenize(query) if re.fullmatch(r"\d{4}-\d\d-\d\d", token)]
    claims = {
        value: [*_claims(value, query, results, sources, tool)]
        for value in values
        if str(value.value) not in named[value.argument] and not value.is_part_of(days)
    }
    known = [query, *results]
    found, unread = await _found(claims.values(), known)
    measures = {value: ways for value, ways in claims.items() if value.is_measured}
    amounts, _ = await _found(measures.values(), [query, *map(without_ids, results)])
    return [
        f"{value.argument!r} has the value {canonical_json(value.value).decode()[:_MAX_SHOWN]}, which"
        f" neither the query nor an earlier result tells{unread}"
        for value, ways in claims.items()
        if not _holds(ways, amounts if value in measures else found)
        or not stands_alone(str(value.value), known)
    ]


def swapped_ends(
    arguments: JsonObject, query: str, earlier: Sequence[JsonObject] = ()
) -> list[str]:
    """Say that a call has the two ends the wrong way round, where a query names both in their order.

    Args:
        arguments: Of the call.
        query: What the user asks, such as ``from Rome to Bari``.
        earlier: Arguments of the earlier calls: who has gone there may go back.
    """
    if _BACK.search(query):
        return []
    tokens = tokenize(query)
    been = [{text for text in each.values() if isinstance(text, str)} for each in earlier]
    return [
        f"{origin!r} is {start[:_MAX_SHOWN]!r} and {destination!r} is {end[:_MAX_SHOWN]!r}, and the query"
        " says it the other way round"
        for origin, destination in _pairs_of_ends(arguments)
        if isinstance(start := arguments[origin], str)
        and isinstance(end := arguments[destination], str)
        and not any({start, end} <= texts for texts in been)
        and _leads(tokens, end, start)
        and not _leads(tokens, start, end)
    ]


def _pairs_of_ends(names: Iterable[str]) -> list[tuple[str, str]]:
    """The arguments of two ends that are of one thing by their other words, or the only ones."""
    found = [(name, *end_of(name)) for name in names]
    origins = [(name, rest) for name, end, rest in found if end is End.ORIGIN]
    destinations = [(name, rest) for name, end, rest in found if end is End.DESTINATION]
    pairs = [(a, b) for a, rest in origins for b, other in destinations if rest == other]
    is_clear = len(origins) == len(destinations) == 1
    return [(origins[0][0], destinations[0][0])] if is_clear else pairs


def _leads(tokens: Sequence[str], start: str, end: str) -> bool:
    """Tell whether a text says ``from START to END``, with few words between them."""
    first = _ends_behind(tokens, _FROM_WORDS, start)
    last = _ends_behind(tokens, _TO_WORDS, end)
    apart = range(_MAX_APART + 1)
    return any(to - after in apart for _, after in first for to, _ in last)


def _ends_behind(tokens: Sequence[str], words: Sequence[str], value: str) -> list[tuple[int, int]]:
    """Where one of the words stands, and where the value right behind it ends."""
    ways = {tokenize(text) for text in spellings(value)} - {()}
    return [
        (place, place + 1 + len(way))
        for place, word in enumerate(tokens)
        if word in words
        for way in ways
        if tuple(tokens[place + 1 : place + 1 + len(way)]) == way
    ]


def _holds(ways: Sequence[Claim], found: set[str]) -> bool:
    return any(all(group & found for group in claim) for claim in ways)


async def _found(claims: Iterable[Sequence[Claim]], texts: Sequence[str]) -> tuple[set[str], str]:
    """Which members of groups stand in the texts, and why a text was not read where one was not."""
    wanted = {text for ways in claims for claim in ways for group in claim for text in group}
    found: set[str] = set()
    unread = ""
    for text in texts if wanted else ():
        matching = await match_in_slices(text, wanted)
        found |= matching.found
        unread = f" (a result was not read: {matching.refusal})" if matching.refusal else unread
    return found, unread


def _values(arguments: JsonObject, schema: Mapping[str, Any]) -> Iterator[_Value]:
    properties = object_of(schema.get("properties"))
    for argument, value in arguments.items():
        known = resolve(object_of(properties.get(argument)), dict(schema))
        for name, leaf in _leaves(argument, value):
            yield _Value(argument, name, leaf, str(known.get("description", "")))


def _leaves(name: str, value: JsonValue) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, dict):
        for inner, member in value.items():
            yield from _leaves(inner, member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(name, member)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value


def _claims(
    value: _Value,
    query: str,
    results: Sequence[str],
    sources: Mapping[str, Sequence[str]],
    tool: str,
) -> Iterator[Claim]:
    text = value.value
    if isinstance(text, str) and is_whole(value.name):
        number = int(text) if _INTEGER.fullmatch(text) else text
        grouped = _groupings(text, [query, *results])
        yield [frozenset({*spellings(text), *spellings(number), *grouped})]
    else:
        own = is_written(value.name, value.description, str(text), tool)
        yield from claims_of(text, [query, *results], is_written=own)
        yield [frozenset(multiples(text, query))]
    # Whether a name is that of another script is not checked: only that its source is told, and no number.
    if isinstance(text, str) and not any(c.isdigit() for c in text):
        for source in sources.get(value.argument, ()):
            if len(source.strip()) >= _MIN_SOURCE and is_in_another_script(text, source):
                yield [frozenset({source})]


def _groupings(text: str, known: Sequence[str]) -> Iterator[str]:
    """A number such as of a phone as it is grouped elsewhere: ``030 1234`` for ``0301234``."""
    digits = re.sub(r"\D", "", text)
    if _NUMBER.fullmatch(text) and 0 < len(digits) <= _MAX_DIGITS:
        grouped = re.compile(
            r"(?<![\w.-])\+?\(?" + r"[ ().\-/]{0,2}".join(digits) + r"(?![\w-]|\.\d)"
        )
        for each in known:
            yield from (found[0] for found in grouped.finditer(each))


def _named(schema: Mapping[str, Any], argument: str) -> frozenset[str]:
    """The values that a schema names for an argument, as texts."""
    root = dict(schema)
    waiting: list[tuple[object, int]] = [(object_of(root.get("properties")).get(argument), 0)]
    named: set[str] = set()
    for _ in range(_MAX_PARTS):
        if not waiting:
            break
        part, depth = waiting.pop()
        found = resolve(object_of(part), root)
        if not found or depth > _MAX_DEPTH:
            continue
        own = [found[word] for word in ("default", "const") if word in found]
        for value in (*own, *listed(found, "enum")):
            named.update(str(leaf) for _, leaf in _leaves("", cast("JsonValue", value)))
        named.update(chooses(argument, str(found.get("description", ""))))
        inner = (*object_of(found.get("properties")).values(), found.get("items"))
        branches = (b for word in ("anyOf", "oneOf", "allOf") for b in listed(found, word))
        waiting += [(each, depth + 1) for each in (*inner, *branches)]
    return frozenset(named)
