"""Two schemas as one: what is valid under the result is valid under both, as far as keywords allow.

Where they do not, as with two patterns, one of them is left out; who makes values checks them.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

__all__ = ["Schema", "kinds_of", "merged", "same"]

Schema = Mapping[str, Any]
"""A schema that is an object."""


def merged(first: Schema, second: Schema) -> dict[str, Any]:
    """Join two schemas, such as the members of an ``allOf``."""
    result = dict(first)
    if "if" in first and "if" in second:
        result["allOf"] = [
            *result.get("allOf", ()),
            {key: second[key] for key in _CONDITION & set(second)},
        ]
        second = {key: value for key, value in second.items() if key not in _CONDITION}
    for keyword, value in second.items():
        if keyword not in result or result[keyword] == value:
            result[keyword] = value
        elif keyword in _JOINS:
            result[keyword] = _JOINS[keyword](result[keyword], value)
        elif keyword in _IN_TURN:
            result["allOf"] = [*result.get("allOf", ()), {keyword: value}]
    return result


def _schemas(first: Any, second: Any) -> Any:
    if first is False or second is False:
        return False
    if not isinstance(first, dict):
        return second
    both: list[Any] = [first, second]
    return {"allOf": both} if isinstance(second, dict) else cast("Any", first)


def _properties(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return first | {n: _schemas(first[n], s) if n in first else s for n, s in second.items()}


def kinds_of(schema: Schema) -> Sequence[str]:
    """The types that a schema names; none where it names none."""
    kinds: Any = schema.get("type") or ()
    return [kinds] if isinstance(kinds, str) else kinds


def _types(first: str | list[str], second: str | list[str]) -> list[str]:
    left, right = kinds_of({"type": first}), kinds_of({"type": second})
    both = [kind for kind in left if kind in right]
    if "integer" not in both and "number" in {*left, *right} and "integer" in {*left, *right}:
        both.append("integer")
    return both


def _members(first: list[Any], second: list[Any]) -> list[Any]:
    return [member for member in first if any(same(member, other) for other in second)]


def same(first: Any, second: Any) -> bool:
    """Say whether two values are one in JSON, where true is not 1."""
    return first == second and isinstance(first, bool) == isinstance(second, bool)


def _prefix(first: list[Any], second: list[Any]) -> list[Any]:
    longer, shorter = sorted((first, second), key=len, reverse=True)
    return [*map(_schemas, longer, shorter), *longer[len(shorter) :]]


def _union(first: list[Any], second: list[Any]) -> list[Any]:
    return [*first, *(name for name in second if name not in first)]


_JOINS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _properties),
    "required": _union,
    "type": _types,
    "enum": _members,
    "allOf": operator.add,
    "prefixItems": _prefix,
    **dict.fromkeys(("items", "unevaluatedItems", "contains", "propertyNames"), _schemas),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), _schemas),
    **dict.fromkeys(
        ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"),
        max,
    ),
    **dict.fromkeys(
        ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"),
        min,
    ),
    "uniqueItems": lambda first, second: first or second,
}
_IN_TURN: Final = frozenset(("$ref", "anyOf", "oneOf"))
"""Are followed one after the other."""
_CONDITION: Final = frozenset(("if", "then", "else"))
