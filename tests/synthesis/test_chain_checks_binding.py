"""What a join takes out of a result, as the value of an argument."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.synthesis.trajectories.chain import ExecutedCall, ToolRef
from astra_mcp.synthesis.trajectories.checks.binding import Bound, Nothing, NotRead, bind
from astra_mcp.types import JsonObject, JsonValue

from chain_servers import TEXT, join
from random_json import random_json

_NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
_SCALARS = _NUMBERS | st.text(max_size=12)
JSON = random_json(_SCALARS, st.text(max_size=8), max_leaves=100)


def called(result: Any, structured: JsonObject | None = None) -> ExecutedCall:
    """A call with a result, as JSON where it is no text."""
    text = result if isinstance(result, str) else json.dumps(result)
    step = ToolRef(server="s", tool="find")
    return ExecutedCall(step=step, arguments={}, result=text, is_error=False, structured=structured)


def taken(result: Any, field: str, prop: Any = TEXT, **more: Any) -> Bound | Nothing | NotRead:
    """What a join makes of a field of a result, for an argument ``x``."""
    schema = {"type": "object", "properties": {"x": prop}, **more}
    return bind(join(0, field, 1, "x"), called(result), schema)


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    ("result", "field", "value"),
    [
        ({"id": "a"}, "id", "a"),
        ({"data": {"id": "a"}}, "id", "a"),
        ({"items": [{"id": "a"}, {"id": "b"}]}, "items.id", "a"),
        ({"result": {"items": [{"id": "a"}]}}, "items.id", "a"),
        ({"items": [{"id": "a"}]}, "items[0].id", "a"),
        ({"items": [{"id": "a"}]}, "items[].id", "a"),
        ([{"id": "a"}, {"id": "b"}], "id", "a"),
        ([{"name": "x"}, {"id": "b"}], "id", "b"),
        ({"ids": ["a", "b"]}, "ids", "a"),
        ({"a": {"id": "deep"}, "id": "own"}, "id", "own"),
        ({"orderId": "a"}, "order_id", "a"),
        ({"order_id": "exact", "orderId": "other"}, "order_id", "exact"),
        ({"id": 17}, "id", "17"),
        ('{"id": "a"}\n{"id": "b"}', "id", "a"),
    ],
)
def test_a_join_takes_the_first_value_of_its_field(result: Any, field: str, value: str) -> None:
    assert taken(result, field) == Bound(value)


@pytest.mark.parametrize(
    ("value", "prop", "expected"),
    [
        ("17", {"type": "integer"}, 17),
        (17, {"type": "string", "pattern": "^[0-9]+$"}, "17"),
        ("a", {"type": "array", "items": TEXT}, ["a"]),
        (True, {"type": "boolean"}, True),
        ({"k": 1}, {"type": "object"}, {"k": 1}),
        ("a", {"$ref": "#/$defs/t"}, "a"),
    ],
)
def test_a_value_takes_the_form_of_its_argument(
    value: JsonValue, prop: Any, expected: JsonValue
) -> None:
    assert taken({"id": value}, "id", prop, **{"$defs": {"t": TEXT}}) == Bound(expected)


@pytest.mark.claim("P62")
@pytest.mark.parametrize("result", [{"id": None}, {"id": ""}, {"id": []}, {"items": []}, [], {}])
def test_a_result_without_such_a_thing_has_nothing_to_take(result: Any) -> None:
    field = "items.id" if isinstance(result, dict) and "items" in result else "id"
    assert isinstance(taken(result, field), Nothing)


@pytest.mark.parametrize(
    "result",
    [
        "Created order A-1044.", '{"broken', "17", {"other": "a"}, {"id": {"own": "a"}},
        "[" * 900 + "]" * 900,
    ],
)  # fmt: skip
def test_prose_and_other_names_are_not_read_by_code(result: Any) -> None:
    assert isinstance(taken(result, "id"), NotRead)


def test_structured_content_goes_before_the_text() -> None:
    schema = {"type": "object", "properties": {"x": TEXT}}
    source = called("two orders", structured={"id": "a"})
    assert bind(join(0, "id", 1, "x"), source, schema) == Bound("a")


@given(JSON, st.text(max_size=8))
def test_no_result_and_no_field_breaks_a_join(result: Any, field: str) -> None:
    assert isinstance(taken(result, field), Bound | Nothing | NotRead)
