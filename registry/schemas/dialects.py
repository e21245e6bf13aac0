"""Dialects of JSON Schema: which keywords each knows, and under which of them schemas stand."""

from collections.abc import Iterator
from enum import IntEnum

from astra_mcp.types import JsonObject, JsonValue

__all__ = [
    "ANNOTATIONS",
    "SILENT",
    "Dialect",
    "children",
    "dialect_of",
    "is_known",
]


class Dialect(IntEnum):
    """A dialect, later ones greater."""

    DRAFT_3 = 3
    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019_09 = 8
    DRAFT_2020_12 = 9
    """Also where a schema names no dialect, which is what MCP says of it."""


_MARKS = {
    "draft-03": Dialect.DRAFT_3,
    "draft-04": Dialect.DRAFT_4,
    "draft-06": Dialect.DRAFT_6,
    "draft-07": Dialect.DRAFT_7,
    "2019-09": Dialect.DRAFT_2019_09,
}

_FIRST: dict[str, Dialect] = {
    "const": Dialect.DRAFT_6,
    "contains": Dialect.DRAFT_6,
    "propertyNames": Dialect.DRAFT_6,
    "if": Dialect.DRAFT_7,
    "then": Dialect.DRAFT_7,
    "else": Dialect.DRAFT_7,
    "dependentRequired": Dialect.DRAFT_2019_09,
    "dependentSchemas": Dialect.DRAFT_2019_09,
    "maxContains": Dialect.DRAFT_2019_09,
    "minContains": Dialect.DRAFT_2019_09,
    "unevaluatedItems": Dialect.DRAFT_2019_09,
    "unevaluatedProperties": Dialect.DRAFT_2019_09,
    "prefixItems": Dialect.DRAFT_2020_12,
}
"""Keywords that an earlier dialect ignores."""

_LAST: dict[str, Dialect] = {"dependencies": Dialect.DRAFT_7}
"""Keywords that a later dialect ignores."""

ANNOTATIONS = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
    }
)
"""Keywords that say something about a value and forbid none."""

SILENT = frozenset(
    {
        "$schema", "$id", "id", "$anchor", "$comment", "$vocabulary", "$dynamicAnchor",
        "$recursiveAnchor", "$defs", "definitions",
    }
)  # fmt: skip
"""Keywords that say nothing any more once every reference is resolved."""

_ONE = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_MAPS = frozenset(
    {
        "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
        "properties",
    }
)  # fmt: skip


def dialect_of(schema: JsonObject) -> Dialect:
    """The dialect that a whole schema says it is written in."""
    name = schema.get("$schema")
    if not isinstance(name, str):
        return Dialect.DRAFT_2020_12
    return next((d for mark, d in _MARKS.items() if mark in name), Dialect.DRAFT_2020_12)


def is_known(keyword: str, dialect: Dialect) -> bool:
    """Say whether a keyword means anything in a dialect, given that it does in some."""
    first = _FIRST.get(keyword, Dialect.DRAFT_3)
    return first <= dialect <= _LAST.get(keyword, Dialect.DRAFT_2020_12)


def children(schema: JsonObject) -> Iterator[JsonValue]:
    """All that stands where the grammar has a schema, one level below."""
    for keyword, value in schema.items():
        if isinstance(value, dict):
            if keyword in _MAPS:
                yield from value.values()
            elif keyword in _ONE:
                yield value
        elif isinstance(value, list) and keyword in _LISTS:
            yield from value
