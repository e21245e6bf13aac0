"""What a result says, beside what it repeats of the arguments."""

import re
from collections.abc import Collection, Iterator

from astra_mcp.answers import tokenize
from astra_mcp.environments.acceptance.planned import Observation
from astra_mcp.types import JsonValue, canonical_json

__all__ = ["are_days", "leaves", "masked", "shown", "words_of"]

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def leaves(node: JsonValue, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every scalar that says something, with the path of names that leads to it."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value, (*path, "[]"))
    elif node not in (None, "", False, 0):
        yield path, str(node)


def words_of(value: JsonValue) -> tuple[str, ...]:
    """Tokens by which a result would repeat an argument."""
    return tokenize(value if isinstance(value, str) else canonical_json(value).decode())


def masked(seen: Observation, words: Collection[str]) -> tuple[str, ...]:
    """Tokens of a result without those that only repeat arguments."""
    return tuple(t for t in tokenize(seen.result.text) if t not in words)


def are_days(values: Collection[JsonValue]) -> bool:
    """Tell whether several values are given, and all are days."""
    return len(values) > 1 and all(isinstance(v, str) and _DAY.match(v) for v in values)


def shown(values: Collection[JsonValue]) -> str:
    """Some values as JSON, for a message."""
    return ", ".join(canonical_json(v).decode() for v in [*values][:4])
