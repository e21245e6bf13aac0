"""Does anything tell the values that a call is given? What nothing tells is made up.

A value is told by the query, by an earlier result, or by the schema (defaults, members, examples). It may be
written otherwise: days and times, numbers in words, multiples by a unit, words in another form and order. A
text of many words, and a program, is the assistant's own, but for the numbers, codes and addresses in it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from astra_mcp.answers import match_in_slices, tokenize
from astra_mcp.synthesis.trajectories.checks.results import listed, object_of, words_of
from astra_mcp.synthesis.trajectories.checks.spoken import (
    Claim,
    claims_of,
    is_in_another_script,
    multiples,
)
from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.guesses import resolve

__all__ = ["invented_values"]

_MAX_VALUES: Final = 200
"""Of one call; each is looked for in all that is known."""
_MAX_SHOWN: Final = 120
_MAX_DEPTH: Final = 8
_SMALL: Final = 100
_LIMIT_WORDS = "limit page size per count num top first offset skip result row item k n"
_LIMITS: Final = frozenset(_LIMIT_WORDS.split())
_WRITTEN_WORDS = """
    body code command comment content description expression formula message note pattern prompt reason regex
    script sql subject summary thought title
"""
_WRITTEN: Final = frozenset(_WRITTEN_WORDS.split())
"""Arguments for texts of the assistant's own."""
_SQL: Final = re.compile(r"\s*(?:select|insert|update|delete|create|with)\s", re.IGNORECASE)
_MAX_PARTS: Final = 2000
_PARTS: Final = frozenset({"year", "month", "day"})
_QUOTED: Final = re.compile("[\"'`]([^\"'`]{1,40})[\"'`]")
_EXAMPLE: Final = re.compile(r"\b(?:e\.?g|i\.?e|examples?|such as|like)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Value:
    """One text or number of the arguments."""

    argument: str
    """The argument that holds it."""
    name: str
    """Of the innermost member that holds it."""
    value: str | int | float

    @property
    def is_free(self) -> bool:
        """True for what states nothing: signs alone, or how many rows to give."""
        if not any(c.isalnum() for c in str(self.value)):
            return True
        is_small = isinstance(self.value, int) and 0 <= self.value <= _SMALL
        return is_small and not _LIMITS.isdisjoint(words_of(self.name))

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
) -> list[str]:
    """Say which values of a call nothing tells, in words for the model that wrote them.

    Args:
        arguments: Of the call.
        schema: Of the tool's arguments.
        query: What the user asks.
        results: Of the earlier calls.
        sources: By argument, the words of the query that a name is another script's writing of.
    """
    values = [value for value in _values(arguments) if not value.is_free]
    if len(values) > _MAX_VALUES:
        return [f"the arguments hold {len(values)} values, more than {_MAX_VALUES}"]
    named = {argument: _named(schema, argument) for argument in arguments}
    days = [token for token in tokenize(query) if re.fullmatch(r"\d{4}-\d\d-\d\d", token)]
    claims = {
        value: [*_claims(value, query, sources)]
        for value in values
        if str(value.value) not in named[value.argument] and not value.is_part_of(days)
    }
    found, unread = await _found(claims.values(), [query, *results])
    return [
        f"{value.argument!r} has the value {canonical_json(value.value).decode()[:_MAX_SHOWN]}, which"
        f" neither the query nor an earlier result tells{unread}"
        for value, ways in claims.items()
        if not any(all(group & found for group in claim) for claim in ways)
    ]


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


def _values(arguments: JsonObject) -> Iterator[_Value]:
    for argument, value in arguments.items():
        for name, leaf in _leaves(argument, value):
            yield _Value(argument, name, leaf)


def _leaves(name: str, value: JsonValue) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, dict):
        for inner, member in value.items():
            yield from _leaves(inner, member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(name, member)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value


def _claims(value: _Value, query: str, sources: Mapping[str, Sequence[str]]) -> Iterator[Claim]:
    is_written = not _WRITTEN.isdisjoint(words_of(value.name)) or _SQL.match(str(value.value))
    yield from claims_of(value.value, is_written=bool(is_written))
    yield [frozenset(multiples(value.value, query))]
    text = value.value
    # Whether a name is that of another script is not checked: only that its source is told, and no number.
    if isinstance(text, str) and not any(c.isdigit() for c in text):
        for source in sources.get(value.argument, ()):
            if is_in_another_script(text, source):
                yield [frozenset({source})]


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
        own = [found[word] for word in ("default", "const", "example") if word in found]
        for value in (*own, *listed(found, "enum"), *listed(found, "examples")):
            named.update(str(leaf) for _, leaf in _leaves("", cast("JsonValue", value)))
        named.update(_quoted_in(str(found.get("description", ""))))
        inner = (*object_of(found.get("properties")).values(), found.get("items"))
        branches = (b for word in ("anyOf", "oneOf", "allOf") for b in listed(found, word))
        waiting += [(each, depth + 1) for each in (*inner, *branches)]
    return frozenset(named)


def _quoted_in(description: str) -> Iterator[str]:
    """What a description puts in quotes, but for its examples: those are of somebody else's call."""
    for part in re.split(r"[;()\n]|\.\s+(?=[A-Z])", description):
        if not _EXAMPLE.search(part):
            yield from _QUOTED.findall(part)
