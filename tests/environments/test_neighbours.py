"""Other values for an argument: valid, different, few, always the same, known ones first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.schemas import compile_validator
from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.guesses import guess_value
from astra_mcp.values.neighbours import (
    MAX_NEIGHBOURS,
    find_neighbours,
    known_values,
    values_alike,
)

CASES: list[tuple[dict[str, Any], JsonValue]] = [
    ({"type": "string"}, "BK-4471"),
    ({"type": "string"}, "北京市海淀区"),
    ({"type": "string", "pattern": "^BK-[0-9]{4}$", "examples": ["BK-0001"]}, "BK-4471"),
    ({"type": "string", "format": "date"}, "2026-02-17"),
    ({"type": "string", "format": "date-time"}, "2026-02-17T09:30:00Z"),
    ({"type": "string", "enum": list("abcdefghijkl")}, "c"),
    ({"type": "integer", "minimum": 1, "maximum": 4}, 4),
    ({"type": "number"}, 2.5),
    ({"type": "boolean"}, True),
    (
        {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1},
        ["a", "b"],
    ),
    ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 3}),
]


@pytest.mark.parametrize(("schema", "value"), CASES, ids=[str(s) for s, _ in CASES])
def test_neighbours_are_valid_different_and_few(schema: dict[str, Any], value: JsonValue) -> None:
    is_valid = compile_validator(schema).is_valid
    found = list(find_neighbours(schema, value, is_valid))
    assert 1 <= len(found) <= MAX_NEIGHBOURS
    assert all(is_valid(v) for v in found)
    assert canonical_json(value) not in [canonical_json(v) for v in found]
    assert len({canonical_json(v) for v in found}) == len(found)
    assert found == list(find_neighbours(schema, value, is_valid))
    assert is_valid(guess_value(schema)) or "pattern" in schema


@given(st.text(min_size=1), st.lists(st.text(), max_size=12))
def test_declared_and_named_values_come_first(value: str, declared: list[str]) -> None:
    schema = {"type": "string", "examples": ["named 1", "named 2"]}
    found = find_neighbours(schema, value, lambda _: True, declared)
    assert len(found.known) + len(found.generated) <= MAX_NEIGHBOURS
    assert set(found.known) <= {*declared, "named 1", "named 2"}
    assert value not in found.known


def test_values_that_differ_in_case_or_space_alone_are_no_neighbours() -> None:
    found = find_neighbours({"type": "string"}, "Ida", lambda _: True, ["ida", " IDA ", "Eva"])
    assert found.known == ("Eva",)


def test_known_values_are_found_in_items_and_alternatives() -> None:
    assert known_values({"type": "array", "items": {"enum": ["a", "b"]}}) == (["a"], ["b"])
    assert known_values({"anyOf": [{"enum": [1]}, {"examples": ["x"]}]}) == (1, "x")


def test_values_alike_keep_the_form_of_a_value() -> None:
    assert all(v % 48 == 0 for v in values_alike(48) if isinstance(v, int))
    assert values_alike("Ida Moreau")[1] == "Nif Rtwjfz"
    assert len({"MC-02", *map(str, values_alike("MC-02"))}) == 5
