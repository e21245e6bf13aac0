"""Schemas of all kinds, and values that may be valid under them, drawn from a seed.

Small vocabularies, so that a value drawn on its own is often valid under a schema drawn on its own.
"""

from collections.abc import Callable
from random import Random
from typing import Any

DIALECTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)

_NAMES = ("a", "b", "type")
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_SCALARS = (None, True, False, -1, 0, 1, 1.5, 2.5, "", "x", "xy", "2020-01-01")
_REFERENCES = ("#", "#/$defs/p", "#/$defs/q", "#/definitions/r", "#/properties/a", "#anchor")
_ONE = (
    "additionalProperties", "unevaluatedProperties", "items", "unevaluatedItems", "contains", "not",
    "propertyNames",
)  # fmt: skip
_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_SIZES = ("minLength", "maxLength", "maxItems", "maxProperties", "maxContains", "minContains")


class RandomSchemas:
    """What one seed draws."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311
        self._has_exclusive_numbers = True

    def document(self) -> dict[str, Any]:
        """A whole schema with definitions, in any dialect or none."""
        dialect = self._random.choice((None, None, *DIALECTS))
        self._has_exclusive_numbers = dialect != DIALECTS[0]
        document = {**self._keywords(3), "$defs": {}, "definitions": {"r": self._schema(2)}}
        for name in ("p", "q"):
            schema = self._schema(2)
            if name == "q" and isinstance(schema, dict):
                schema["$anchor"] = "anchor"
            document["$defs"][name] = schema
        if dialect is not None:
            document["$schema"] = dialect
        return document

    def value(self, depth: int = 3) -> Any:
        """Any JSON value."""
        kind = self._random.random()
        if depth == 0 or kind < 0.5:
            return self._random.choice(_SCALARS)
        if kind < 0.65:
            return [self.value(depth - 1) for _ in range(self._random.randrange(3))]
        return self.object(depth - 1)

    def object(self, depth: int = 3) -> dict[str, Any]:
        """A JSON object of a few members."""
        names = self._random.sample(_NAMES, self._random.randrange(len(_NAMES) + 1))
        return {name: self.value(depth) for name in names}

    def _schema(self, depth: int) -> dict[str, Any] | bool:
        kind = self._random.random()
        if kind < 0.1:
            return self._random.random() < 0.7
        if kind < 0.35:
            reference = {"$ref": self._random.choice(_REFERENCES)}
            return reference if kind < 0.25 else {**reference, **self._keywords(max(depth - 1, 0))}
        return self._keywords(max(depth - 1, 0))

    def _keywords(self, depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(self._random.randrange(1, 4)):
            is_nested = depth > 0 and self._random.random() < 0.6
            keyword, value = self._nested(depth) if is_nested else self._plain()
            schema[keyword] = value
        return schema

    def _plain(self) -> tuple[str, Any]:
        choose = self._random.choice
        pick: Callable[[], tuple[str, Any]] = choose(
            (
                lambda: ("type", choose(_TYPES)),
                lambda: ("type", self._random.sample(_TYPES, 3)),
                lambda: ("required", self._random.sample(_NAMES, self._random.randrange(3))),
                lambda: ("enum", self._random.sample(_SCALARS[:5], 3)),
                lambda: ("const", choose(_SCALARS)),
                lambda: ("minimum", choose((-1, 0, 1))),
                lambda: (
                    "exclusiveMaximum",
                    choose((0, 1, 2.5)) if self._has_exclusive_numbers else True,
                ),
                lambda: ("maximum", choose((0, 1, 2))),
                lambda: (choose(_SIZES), self._random.randrange(4)),
                lambda: ("format", choose(("date", "int32"))),
                lambda: ("default", choose(_SCALARS)),
                lambda: ("dependentRequired", {"a": ["b"]}),
                lambda: ("description", "text"),
                lambda: ("foreign", choose(_SCALARS)),
            )
        )
        return pick()

    def _nested(self, depth: int) -> tuple[str, Any]:
        kind = self._random.random()
        if kind < 0.3:
            keyword = self._random.choice(_MAPS)
            names = self._random.sample(_NAMES, self._random.randrange(1, 3))
            return keyword, {name: self._schema(depth) for name in names}
        if kind < 0.6:
            members = [self._schema(depth) for _ in range(self._random.randrange(1, 3))]
            return self._random.choice(_LISTS), members
        if kind < 0.7:
            return self._random.choice(("if", "then", "else")), self._schema(depth)
        return self._random.choice(_ONE), self._schema(depth)
