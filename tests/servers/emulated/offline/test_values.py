"""Values for schemas are valid, plausible by their names, and the same for the same seed."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.schemas import SchemaError, compile_validator
from astra_mcp.values import schema_values as values
from astra_mcp.values.making import Making
from astra_mcp.values.patterns import PatternError, matching_text
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import NoValueError
from astra_mcp.values.schema_values import ValueMaker

from random_schemas import RandomSchemas

NODE: dict[str, Any] = {"$ref": "#/$defs/node"}
PAIR = {
    "type": "object",
    "properties": {"left": NODE, "right": NODE},
    "required": ["left", "right"],
}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": NODE, "minItems": 1},
    },
    "required": ["name", "children"],
    "$defs": {"node": {"anyOf": [PAIR, {"type": "integer"}]}},
}
SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "string", "minLength": 40, "maxLength": 44},
    {"type": "string", "pattern": "^[A-Z]{2}-\\d{4}(-(north|south))?$"},
    {"type": "string", "pattern": "^\\d+$", "minLength": 8, "maxLength": 8},
    {"type": "integer", "minimum": 7, "exclusiveMaximum": 9, "multipleOf": 4},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 0.001},
    {"type": "number", "multipleOf": 0.05, "minimum": 0.1, "maximum": 0.3},
    {"type": "integer", "minimum": 2**62},
    {"type": ["null", "string"]},
    {"enum": [None, 3, "x"], "type": "integer"},
    {"const": {"a": [1]}},
    {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False},
    {"type": "array", "contains": {"const": 5}, "minContains": 2, "items": {"type": "integer"}},
    {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "boolean"}}}]},
    {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "minLength": 3}]},
    {"if": {"properties": {"kind": {"const": "x"}}, "required": ["kind"]}, "then": {"required": ["x"]}},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 3},
    {"type": "object", "patternProperties": {"^k_[a-z]{3}$": {"type": "null"}}, "minProperties": 2,
     "additionalProperties": False},
    {"type": "object", "properties": {"a": {}}, "required": ["a"], "dependentRequired": {"a": ["b"]}},
    {"type": "object", "required": ["undeclared"], "properties": {}},
    {"not": {"type": "string"}},
    TREE,
)  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_a_value_is_valid(schema: dict[str, Any], seed: int) -> None:
    value = ValueMaker(schema).make(seed, share=1.0)

    assert compile_validator(schema).is_valid(value), value


@pytest.mark.parametrize(
    "form",
    [
        "date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname",
        "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid",
        "json-pointer", "relative-json-pointer", "regex",
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "zh"])
def test_formats_are_kept_whatever_the_language(form: str, language: str) -> None:
    schema = {"type": "string", "format": form}
    maker, validator = ValueMaker(schema), compile_validator(schema)

    assert all(validator.is_valid(maker.make(seed, language=language)) for seed in range(20))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "string", "pattern": "(?=x)y"},
        {"enum": []},
        {"type": "array", "items": {"const": 1}, "uniqueItems": True, "minItems": 2},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"properties": {"a": {"$ref": "#"}}, "required": ["a"], "type": "object"},
        {"$ref": "#/$defs/nowhere", "$defs": {}},
    ],
    ids=str,
)
def test_where_there_is_no_value_none_is_offered(schema: dict[str, Any]) -> None:
    with pytest.raises((NoValueError, SchemaError)):
        ValueMaker(schema).make(1)


@pytest.mark.parametrize(
    "number", [{"multipleOf": 5e-324}, {"minimum": 10**400}, {"minimum": 1e308, "multipleOf": 1e-9}]
)
def test_numbers_beyond_what_is_counted_with_are_not_offered(number: dict[str, Any]) -> None:
    with pytest.raises(NoValueError):
        ValueMaker({"type": "number", **number}).make(1)


def test_what_is_too_large_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []

    class CountedMaking(Making):
        def __init__(self, *args: Any, attempt: int, **kwargs: Any) -> None:
            attempts.append(attempt)
            super().__init__(*args, attempt=attempt, **kwargs)

    monkeypatch.setattr(values, "Making", CountedMaking)
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(3):
        schema = {"type": "array", "minItems": 30, "items": schema}
    with pytest.raises(NoValueError):
        ValueMaker(schema).make(1)
    assert attempts == [0]


@given(seed=st.integers(0, 2**32))
def test_what_is_offered_for_any_schema_is_valid(seed: int) -> None:
    schema = RandomSchemas(seed).document()
    schema.pop("$schema", None)
    try:
        value = ValueMaker(schema).make(seed)
    except (NoValueError, SchemaError):
        return
    assert compile_validator(schema).is_valid(value)


def test_nearly_every_schema_that_can_be_met_is_met() -> None:
    met = missed = 0
    for seed in range(400):
        random = RandomSchemas(seed)
        schema = random.document()
        schema.pop("$schema", None)
        try:
            validator = compile_validator(schema)
        except SchemaError:
            continue
        try:
            ValueMaker(schema).make(seed)
            met += 1
        except NoValueError:
            missed += any(is_valid(validator, random.value()) for _ in range(50))
    assert met > 200
    assert missed <= met * 0.06


def is_valid(validator: Any, value: Any) -> bool:
    try:
        return validator.is_valid(value)
    except ValueError:
        return False


PATTERNS = (
    r"^[a-z][a-z0-9_-]{2,10}$", r"0x[a-fA-F0-9]{40}", r"^(GET|POST)\s/\w+$", r"^\d{4}-\d{2}$", r"[^a-z]+",
    r"^([0-9]|[1-9][0-9])\.([0-9]|1[0-9]{2})$", r"a{3}b*c?", r"\u0041\x42[\u4e00-\u4e05]", r"(?:ab|c)+?",
    r"(?<year>\d{4})", r"[\w.-]+@[\w-]+\.[a-z]{2,}", r"[-+]?\d+", "",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@given(seed=st.integers(0, 2**64 - 1))
def test_a_text_matches_its_pattern(pattern: str, seed: int) -> None:
    found = matching_text(pattern, RandomStream.of_seed(seed))

    assert re.search(pattern.replace("(?<", "(?P<"), found)


@pytest.mark.parametrize(
    "pattern",
    [r"(a", r"a)", "[", "[b-a]", r"a**", r"(a)\1", r"(?!a)b", r"a{2,1}", r"\p{L}", "*", "a{x}"],
)
def test_a_pattern_beyond_reach_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        matching_text(pattern, RandomStream.of_seed(1))


def test_names_decide_what_is_written() -> None:
    properties = {
        "email": r"[\w.]+@[\w.]+\.\w+",
        "homepage_url": r"https://www\.\S+",
        "dueDate": r"202\d-\d\d-\d\d",
        "createdAt": r"202\d-\d\d-\d\dT\d\d:\d\d:\d\dZ",
        "latitude": r"-?\d+\.?\d*",
        "version": r"\d+\.\d+\.\d+",
        "city": r"[A-Z]\w+",
        "is_open": "True|False",
        "tags": r"\[.*\]",
    }
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {} for name in properties} | {"tags": {"type": "array"}},
        "required": list(properties),
    }
    made: Any = ValueMaker(schema).make(3)

    unfit = [name for name, form in properties.items() if not re.fullmatch(form, str(made[name]))]
    assert unfit == []


def test_equal_seeds_make_equal_values_and_others_do_not() -> None:
    made = [ValueMaker(TREE).make(seed, share=1.0) for seed in (1, 1, 2)]

    assert made[0] == made[1] != made[2]


def test_texts_are_chinese_where_the_server_is() -> None:
    members: dict[str, Any] = {"title": {}, "author": {}, "city": {}}
    schema = {"type": "object", "properties": members}
    made: Any = ValueMaker(schema).make(1, language="zh", share=1.0)

    assert all(re.search("[\u4e00-\u9fff]", value) for value in made.values())
