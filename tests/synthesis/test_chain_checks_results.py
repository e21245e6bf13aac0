"""What the results of a tool hold, by its documents."""

from typing import Any

import pytest

from astra_mcp.synthesis.trajectories.checks.results import SchemaFields, plain_name

from chain_servers import (
    ORDERS,
    TEXT,
    result_of,
    tool,
)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("orderId", "order_id"),
        ("order-ids", "order_id"),
        ("OrderIDs", "order_id"),
        ("HTTPStatus", "http_status"),
        ("categories", "category"),
        ("address", "address"),
        ("订单号", "订单号"),
    ],
)
def test_one_name_is_written_in_one_way(name: str, plain: str) -> None:
    assert plain_name(name) == plain


ROWS = {"type": "array", "items": result_of(id=TEXT)}


SHARED = {**result_of(a={"$ref": "#/$defs/b"}), "$defs": {"b": result_of(uuid=TEXT)}}


RESULTS: list[tuple[dict[str, Any] | None, set[str], bool]] = [
    (result_of(total=TEXT), {"total"}, True),
    (result_of(id=TEXT), {"id", "order_id"}, True),
    (result_of(rows=ROWS), {"row", "id", "row_id"}, True),
    (result_of(data={"type": "object"}), {"data"}, False),
    ({**result_of(total=TEXT), "additionalProperties": True}, {"total"}, False),
    (SHARED, {"a", "uuid", "a_uuid"}, True),
    ({"anyOf": [result_of(a=TEXT), result_of(b=TEXT)]}, {"a", "b"}, True),
    ({"type": "string"}, set(), False),
    (None, set(), False),
]


@pytest.mark.parametrize(("schema", "names", "is_whole"), RESULTS)
def test_an_output_schema_says_what_a_result_holds(
    schema: dict[str, Any] | None, names: set[str], is_whole: bool
) -> None:
    listing = tool("list_orders").model_copy(update={"output_schema": schema})
    held = SchemaFields().held(ORDERS, listing)
    assert (held.names, held.is_whole) == (names, is_whole)


def test_a_schema_that_goes_round_in_itself_has_an_end() -> None:
    again = {"anyOf": [{"$ref": "#/$defs/a"}] * 30, "properties": {"x": {"$ref": "#/$defs/a"}}}
    listing = tool("list").model_copy(
        update={"output_schema": {"$ref": "#/$defs/a", "$defs": {"a": again}}}
    )
    held = SchemaFields().held(ORDERS, listing)
    assert (held.names, held.is_whole) == ({"x"}, False)
