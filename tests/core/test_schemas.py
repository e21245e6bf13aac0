"""Argument checks: which calls are refused, and whether the message says how to correct them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.schemas import SchemaError, compile_schema
from astra_mcp.types import JsonValue

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "day": {"type": "string", "format": "date"},
        "stops": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
        },
    },
    "required": ["city"],
    "additionalProperties": False,
}
CHECK = compile_schema(SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["'city'", "required", "string"]),
        ({"city": 5}, ["'city'", "type string", "5"]),
        ({"city": "Rom", "unit": "kelvin"}, ["'unit'", '"celsius", "fahrenheit"', '"kelvin"']),
        ({"city": "Rom", "days": 20}, ["'days'", "14"]),
        ({"city": "Rom", "day": "soon"}, ["'day'", "'date'", '"soon"']),
        ({"city": "Rom", "stops": [{"id": "x"}]}, ["'stops[0].id'", "integer"]),
        ({"citty": "Rom"}, ["unknown argument 'citty'", "did you mean 'city'?", "unit, days"]),
    ],
)
def test_a_fault_names_the_argument_and_what_is_allowed(
    arguments: dict[str, JsonValue], words: list[str]
) -> None:
    faults = "\n".join(CHECK.faults(arguments))
    assert all(word in faults for word in words), faults


VALID_ARGUMENTS = st.fixed_dictionaries(
    {"city": st.text(min_size=1)},
    optional={
        "unit": st.sampled_from(["celsius", "fahrenheit"]),
        "days": st.integers(1, 14),
        "day": st.dates().map(str),
        "stops": st.lists(st.fixed_dictionaries({"id": st.integers(-(2**63), 2**63)})),
    },
)


@given(VALID_ARGUMENTS)
def test_valid_arguments_have_no_fault(arguments: dict[str, JsonValue]) -> None:
    assert CHECK.faults(arguments) == ()


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.integers())))
def test_faults_are_few_and_short(arguments: dict[str, JsonValue]) -> None:
    faults = CHECK.faults(arguments)
    assert len(faults) <= 8
    assert all(len(f) <= 300 for f in faults)


def test_huge_and_deep_arguments_are_refused_in_few_words() -> None:
    deep: list[JsonValue] = []
    for _ in range(3000):
        deep = [deep]
    assert len(CHECK.faults({f"x{i}": 1 for i in range(1000)})) == 8
    assert "cannot be checked" in CHECK.faults({"city": "Rom", "stops": deep})[0]
    assert len(CHECK.faults({"city": "Rom", "unit": "k" * 10_000})[0]) <= 300


def test_a_schema_may_ask_for_additional_names() -> None:
    check = compile_schema(
        {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}
    )
    assert check.faults({"anything": 1}) == ()
    assert check.faults({"anything": "x"}) != ()


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"type": "array"}, "must be 'object'"),
        ({"type": "object"}, "properties"),
        ({"type": "object", "properties": {"a": {"type": "strng"}}}, "properties.a.type"),
        ({"type": "object", "properties": {"a": {"pattern": "(?<x"}}}, "properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}, "127.0.0.1"),
        ({"type": "object", "properties": {}, "required": "a"}, "required"),
    ],
)
def test_an_unsound_schema_is_refused_with_its_place(schema: dict[str, object], word: str) -> None:
    with pytest.raises(SchemaError, match=word):
        compile_schema(schema)
