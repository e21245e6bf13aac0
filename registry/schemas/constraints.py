"""Keywords that stand beside each other in one schema: each is mended so that together they are valid.

A constraint that says nothing readable, or that no value could fulfil, is dropped and noted.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

from astra_mcp.schemas import SchemaError, compile_validator
from astra_mcp.types import JsonValue, canonical_json, json_fault
from registry.schemas.dialects import ANNOTATIONS
from registry.schemas.faults import NotConvertibleError, Notes, json_type
from registry.schemas.type_names import JSON_TYPES, read_types

__all__ = ["NUMBERS", "SIZES", "mend", "mend_default", "usable_pattern"]

_FORMATS = frozenset(
    {
        "date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4",
        "ipv6", "iri", "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time",
        "uri", "uri-reference", "uri-template", "uuid",
    }
)  # fmt: skip
"""Formats that JSON Schema has."""
NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
SIZES = frozenset(
    {
        "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
        "minContains", "maxContains",
    }
)  # fmt: skip
_PAIRS = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
    ("minimum", "maximum"),
    ("exclusiveMinimum", "maximum"),
    ("minimum", "exclusiveMaximum"),
    ("exclusiveMinimum", "exclusiveMaximum"),
)
_INTEGERS = range(-(2**63), 2**63)

Schema = dict[str, Any]


def mend(schema: Schema, place: str, notes: Notes) -> None:
    """Mend a schema, whose subschemas are mended already, in place.

    Raises:
        NotConvertibleError: Its ``type`` or one of its values cannot be mapped.
    """
    _mend_type(schema, place, notes)
    _mend_exclusive(schema, place, notes)
    _mend_numbers(schema, place, notes)
    _mend_pairs(schema, place, notes)
    _mend_texts(schema, place, notes)
    _mend_enum(schema, place, notes)
    if "array" in _types(schema) and "items" not in schema and "unevaluatedItems" not in schema:
        schema["items"] = {}


def mend_default(schema: Schema, place: str, notes: Notes) -> None:
    """Drop a default that the schema itself forbids.

    ``null`` is what servers written in Python say of an argument that may be left out.
    """
    if "default" not in schema or _takes(schema, schema["default"]):
        return
    is_null = schema.pop("default") is None
    fault = "null left out, which the schema does not take"
    notes.changed(f"{place}.default", fault if is_null else "left out, the schema does not take it")


@lru_cache(maxsize=4096)
def usable_pattern(pattern: str) -> bool:
    """Say whether a pattern can be checked."""
    try:
        compile_validator({"pattern": pattern})
    except SchemaError:
        return False
    return True


def _types(schema: Schema) -> tuple[str, ...]:
    found: str | list[str] = schema.get("type", [])
    return (found,) if isinstance(found, str) else tuple(found)


def _mend_type(schema: Schema, place: str, notes: Notes) -> None:
    if "type" not in schema:
        return
    found: JsonValue = schema.pop("type")
    types = read_types(found, f"{place}.type")
    if not types:
        if isinstance(found, str):
            notes.changed(f"{place}.type", f"{found!r} says nothing of the type; left out")
        return
    if any(name not in JSON_TYPES for name in (found if isinstance(found, list) else [found])):
        notes.changed(f"{place}.type", f"{found!r} read as {' or '.join(types)}")
    schema["type"] = types[0] if len(types) == 1 else list(types)


def _mend_exclusive(schema: Schema, place: str, notes: Notes) -> None:
    """Translate the booleans of draft-04 and OpenAPI 3.0."""
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        value = schema.get(exclusive)
        if not isinstance(value, bool):
            continue
        del schema[exclusive]
        if value and inclusive in schema:
            schema[exclusive] = schema.pop(inclusive)
        elif value:
            notes.changed(f"{place}.{exclusive}", f"true left out, there is no {inclusive}")


def _mend_numbers(schema: Schema, place: str, notes: Notes) -> None:
    for keyword in sorted((NUMBERS | SIZES) & schema.keys()):
        value = _number(schema[keyword], is_size=keyword in SIZES)
        if value is None or (keyword == "multipleOf" and value <= 0):
            del schema[keyword]
            notes.widened(f"{place}.{keyword}", "left out, it is no number that can be checked")
        else:
            schema[keyword] = value


def _number(value: JsonValue, *, is_size: bool) -> int | float | None:
    """The number as any program can read it; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not isfinite(value):
            return None
        value = int(value) if value.is_integer() and int(value) in _INTEGERS else value
    elif value not in _INTEGERS:
        return None
    if is_size and (isinstance(value, float) or value < 0):
        return None
    return value


def _mend_pairs(schema: Schema, place: str, notes: Notes) -> None:
    for low, high in _PAIRS:
        if low not in schema or high not in schema:
            continue
        is_open = "exclusive" in low or "exclusive" in high
        if schema[low] > schema[high] or (is_open and schema[low] == schema[high]):
            fault = f"{schema.pop(low)} and {high} {schema.pop(high)} left out, they exclude all"
            notes.widened(f"{place}.{low}", fault)


def _mend_texts(schema: Schema, place: str, notes: Notes) -> None:
    pattern = schema.get("pattern")
    if "pattern" in schema and not (isinstance(pattern, str) and usable_pattern(pattern)):
        del schema["pattern"]
        notes.widened(f"{place}.pattern", "left out, it is no pattern that can be checked")
    if "format" in schema and schema["format"] not in _FORMATS:
        name = schema.pop("format")
        notes.changed(f"{place}.format", f"{str(name)[:60]!r} left out, JSON Schema has no such")


def _mend_enum(schema: Schema, place: str, notes: Notes) -> None:
    if "const" in schema:
        _check_value(schema["const"], f"{place}.const")
    if "enum" not in schema:
        return
    values: JsonValue = schema.pop("enum")
    if not isinstance(values, list) or not values:
        fault = "is empty" if values == [] else f"is {json_type(values)}"
        notes.widened(f"{place}.enum", f"left out, it {fault}")
        return
    for number, value in enumerate(values):
        _check_value(value, f"{place}.enum[{number}]")
    distinct: dict[bytes, JsonValue] = {}
    for value in values:
        distinct.setdefault(_identity(value), value)
    if len(distinct) < len(values):
        notes.changed(f"{place}.enum", "repeated values left out")
    schema["enum"] = _typed_values(schema, list(distinct.values()), place, notes)


def _typed_values(
    schema: Schema, values: list[JsonValue], place: str, notes: Notes
) -> list[JsonValue]:
    """Leave out the values that the type forbids; where it forbids all, the type is wrong."""
    types = _types(schema)
    fitting = [value for value in values if not types or _is_of(value, types)]
    if not fitting:
        wrong = schema.pop("type")
        notes.widened(f"{place}.type", f"{wrong!r} left out, no value of the enum is of it")
        return values
    if len(fitting) < len(values):
        notes.changed(f"{place}.enum", f"values that are not {' or '.join(types)} left out")
    return fitting


def _is_of(value: JsonValue, types: tuple[str, ...]) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number" in types or ("integer" in types and value == value // 1)
    names: Mapping[type, str] = {type(None): "null", bool: "boolean", str: "string", list: "array"}
    return names.get(type(value), "object") in types


def _identity(value: JsonValue) -> bytes:
    """Equal for values that JSON Schema takes for equal, as it does 1 and 1.0."""
    if isinstance(value, float) and value.is_integer() and int(value) in _INTEGERS:
        value = int(value)
    return canonical_json(value)


def _check_value(value: JsonValue, place: str) -> None:
    fault = json_fault(value)
    if fault is not None or (isinstance(value, str) and "\0" in value):
        raise NotConvertibleError(place, "is no value that can be written as JSON everywhere")


def _takes(schema: Schema, value: JsonValue) -> bool:
    if json_fault(value) is not None:
        return False
    constraints = {k: v for k, v in schema.items() if k not in ANNOTATIONS}
    types = _types(schema)
    if types and not _is_of(value, types):
        return False
    if constraints.keys() <= {"type"}:
        return True
    try:
        return compile_validator(constraints).is_valid(value)
    except ValueError:
        return False
