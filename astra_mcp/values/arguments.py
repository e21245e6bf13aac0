"""Random arguments that a tool's schema allows, the same for the same seed: what guessing agents send.

Importing it takes half a second, so that whoever needs it does so late.

The values come from Hypothesis: ``hypothesis-jsonschema`` makes the strategies of single values, and the
target that Hypothesis offers to external fuzzers turns seeded bytes into one value, without search,
database or output. Objects and arrays are put together here, so that their strings can be drawn from
what is known; ``hypothesis-jsonschema`` 0.23 cannot make objects with Hypothesis 6.170 either.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, cast

import hypothesis_jsonschema
import jsonschema_rs
import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from astra_mcp.schemas import compile_validator
from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.scalars import NoValueError

__all__ = ["ArgumentSource"]

MAX_ITEMS = 4
"""Length of an array whose schema sets no limit."""
MAX_DRAWS = 200
"""Values tried before a schema counts as impossible."""
_ENTROPY_BYTES = 4096
_IMPOSSIBLE = "no arguments can be made for the schema"
_INT64 = {"minimum": -(2**63), "maximum": 2**63 - 1}
"""Bounds of a number whose schema sets none: larger integers cannot be written on every way to a tool."""
_SCALARS = ["string", "integer", "number", "boolean", "null"]
_Schema = Mapping[str, Any]
_Values = st.SearchStrategy[JsonValue]


class ArgumentSource:
    """Draws arguments that are valid under one schema. Belongs to one thread.

    A string without an enumeration is drawn from the schema's ``examples`` and the known strings, as far
    as they are valid; only where there is none does the library make one up.
    """

    def __init__(self, schema: _Schema) -> None:
        """Take the schema of a tool's arguments.

        Raises:
            NoValueError: The schema is not understood.
        """
        self._known: Sequence[str] = ()
        self._drawn: list[JsonValue] = []
        try:
            self._is_valid = _validator(canonical_json(schema)).is_valid
            values = self._values({**_inlined(schema), "type": "object"})
        except (HypothesisException, ValueError) as error:
            raise NoValueError(f"{_IMPOSSIBLE}: {error}") from None

        # The database stays off: nothing is written, and nothing remembered from run to run.
        @settings(database=None)
        @given(values)
        def keep(value: JsonValue) -> None:
            self._drawn.append(value)

        self._draw_from = cast("Any", keep).hypothesis.fuzz_one_input

    def draw(self, rng: Random, known: Sequence[str] = ()) -> JsonObject:
        """Draw one set of arguments.

        Args:
            rng: Decides everything.
            known: Strings seen elsewhere, such as in earlier results.

        Raises:
            NoValueError: No valid value was found.
        """
        self._known = known
        try:
            for _ in range(MAX_DRAWS):
                self._drawn.clear()
                self._draw_from(rng.randbytes(_ENTROPY_BYTES))
                if self._drawn and self._is_valid(self._drawn[0]):
                    return cast("JsonObject", self._drawn[0])
        except (HypothesisException, ValueError) as error:
            raise NoValueError(f"{_IMPOSSIBLE}: {error}") from None
        raise NoValueError(f"no valid arguments were found for the schema in {MAX_DRAWS} draws")

    def _values(self, schema: _Schema) -> _Values:
        """Make the strategy of a schema."""
        branches = _branches(schema)
        if branches:
            return st.one_of([self._values(branch) for branch in branches])
        if "enum" in schema or "const" in schema:
            return _leaf(canonical_json(schema))
        match schema.get("type"):
            case "object":
                return self._objects(schema)
            case "array":
                return self._arrays(schema)
            case "string":
                return self._strings(schema)
            case kind:
                bounds = _INT64 if kind in ("integer", "number") else {}
                return _leaf(canonical_json({**bounds, **schema}))

    def _objects(self, schema: _Schema) -> _Values:
        """Objects of declared properties alone: the required ones, and each other one or not."""
        required = set(schema.get("required", ()))
        properties = cast("dict[str, _Schema]", schema.get("properties", {}))
        fields = {name: self._values(spec) for name, spec in properties.items()}
        return cast(
            "_Values",
            st.fixed_dictionaries(
                {name: field for name, field in fields.items() if name in required},
                optional={name: field for name, field in fields.items() if name not in required},
            ),
        )

    def _arrays(self, schema: _Schema) -> _Values:
        shortest = schema.get("minItems", 0)
        usual = max(MAX_ITEMS, shortest)
        longest = min(usual, schema.get("maxItems", usual))
        unique_by = canonical_json if schema.get("uniqueItems") else None
        items = self._values(schema.get("items", {}))
        arrays = st.lists(items, min_size=shortest, max_size=longest, unique_by=unique_by)
        return cast("_Values", arrays)

    def _strings(self, schema: _Schema) -> _Values:
        """Strings that are known, where any fits; examples and seen ones are equally likely kinds."""
        key = canonical_json(schema)
        is_valid = _validator(key).is_valid
        examples = [text for text in schema.get("examples", ()) if is_valid(text)]

        @st.composite
        def strings(draw: st.DrawFn) -> JsonValue:
            seen = [text for text in self._known if is_valid(text)]
            pools = [pool for pool in (examples, seen) if pool]
            return draw(st.one_of([st.sampled_from(p) for p in pools]) if pools else _leaf(key))

        return strings()


def _branches(schema: _Schema) -> list[_Schema]:
    """Split a schema that has alternatives; what stands beside them holds for each."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            rest = {k: v for k, v in schema.items() if k not in (key, "default")}
            return [{**rest, **branch} for branch in cast("list[_Schema]", schema[key])]
    kinds = schema.get("type", _SCALARS if schema.keys().isdisjoint(("enum", "const")) else None)
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in cast("list[str]", kinds)]
    return []


@lru_cache(maxsize=4096)
def _leaf(schema: bytes) -> _Values:
    """Ask the library for a scalar; in ASCII, as the character classes of JSON Schema's patterns."""
    library = cast("Any", hypothesis_jsonschema)  # its own types are incomplete
    return library.from_schema(orjson.loads(schema), allow_x00=False, codec="ascii")


@lru_cache(maxsize=4096)
def _validator(schema: bytes) -> jsonschema_rs.Validator:
    return compile_validator(orjson.loads(schema))


def _inlined(schema: _Schema) -> _Schema:
    """Put the targets of ``$ref`` in their places."""
    if b'"$ref"' not in canonical_json(schema):
        return schema
    return cast("_Schema", jsonschema_rs.dereference(dict(schema)))
