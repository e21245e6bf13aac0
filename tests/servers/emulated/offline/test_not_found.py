"""Ids come from the server alone: what it never gave is not found, and what it shows can be looked up."""

from typing import Any

import pytest

from emulated_worlds import STYLES, Style, World, document_of, spec, text

NEVER = ("999999999", "0", "nobody", "3f0a51de-0000-4000-8000-000000000000")
ORDERS = document_of(
    spec("list_customers"),
    spec("get_customer", customer_id=text),
    spec("list_orders", optional=("customer_id",), customer_id=text),
    spec("get_order", order_id=text, output={
        "type": "object",
        "properties": {"order_id": text, "customer_id": text, "status": text},
        "required": ["order_id", "customer_id"],
    }),
    spec("create_order", customer_id=text, item=text),
    spec("cancel_order", order_id=text),
)  # fmt: skip


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_an_id_that_was_never_given_is_not_found_by_any_tool(style: Style) -> None:
    world = World(style.document)
    known = {str(row["id"]) for row in world.call(style.listing)[style.nouns]}
    for identity in set(NEVER) - known:
        for tool, more in (
            (style.read, {}),
            (style.update, style.members("x")),
            (style.delete, {}),
        ):
            assert "not found" in world.refusal(tool, **{style.id_parameter: identity}, **more)


def test_an_order_names_a_customer_that_there_is() -> None:
    world = World(ORDERS)
    customers = {row["id"]: row for row in world.call("list_customers")["customers"]}
    orders = world.call("list_orders")
    assert orders["total"] == len(orders["orders"])
    for order in orders["orders"]:
        told = world.call("get_order", order_id=order["id"])
        assert told["customer_id"] == order["customer_id"] in customers
        assert (
            world.call("get_customer", customer_id=told["customer_id"])
            == customers[told["customer_id"]]
        )


def test_the_orders_of_a_customer_are_those_that_name_it() -> None:
    world = World(ORDERS)
    customer = world.call("list_customers")["customers"][0]["id"]
    made = world.call("create_order", customer_id=customer, item="lamp")
    mine = world.call("list_orders", customer_id=customer)["orders"]
    assert made in mine
    assert {row["customer_id"] for row in mine} == {customer}
    assert "not found" in world.refusal("list_orders", customer_id="customer_0")
    assert "not found" in world.refusal("create_order", customer_id="customer_0", item="lamp")


def test_a_name_that_anybody_may_know_can_be_asked_for() -> None:
    world = World(document_of(spec("get_forecast", city=text), spec("get_quote", symbol=text)))
    assert world.call("get_forecast", city="Graz")["city"] == "Graz"
    assert world.call("get_quote", symbol="ACME")["symbol"] == "ACME"


def test_ids_of_a_public_catalogue_can_be_asked_for_and_those_of_a_shop_cannot() -> None:
    catalogue = World(
        document_of(spec("search_movies", query=text), spec("get_movie", movie_id=text))
    )
    assert catalogue.call("get_movie", movie_id="603")["id"] == "603"
    shop = World(document_of(spec("list_orders"), spec("get_order", order_id=text)))
    assert "not found" in shop.refusal("get_order", order_id="603")


def test_what_no_tool_gives_out_without_its_id_can_be_asked_for() -> None:
    world = World(document_of(spec("search_file", query=text, file_key=text)))
    assert not world.ask("search_file", query="icons", file_key="HLE-3418").is_error


def test_what_was_never_stored_under_a_name_is_not_there() -> None:
    world = World(
        document_of(spec("save_recipe", name=text, steps=text), spec("get_recipe", name=text))
    )
    assert "not found" in world.refusal("get_recipe", name="Gulasch")
    told: Any = world.call("save_recipe", name="Gulasch", steps="Onions first.")
    assert world.call("get_recipe", name="Gulasch") == told


def test_a_number_that_bounds_ids_or_is_told_of_something_else_is_no_id() -> None:
    number: dict[str, Any] = {"type": "integer", "minimum": 1}
    getting = spec("get_issue", "Get an issue; waits up to 30 seconds.", issue_id=number)
    world = World(document_of(spec("list_issues"), spec("create_issue", title=text), getting))
    known = {row["id"] for row in world.call("list_issues")["issues"]}
    for never in {1, 30} - known:
        assert world.refusal("get_issue", issue_id=never) == f"Issue not found: {never}"


@pytest.mark.parametrize("counting", ["count_orders", "get_order_count"])
def test_a_count_is_that_of_the_list(counting: str) -> None:
    tools = (
        spec("list_orders", optional=("status",), status=text),
        spec("create_order", status=text),
        spec(counting, "How many orders there are.", optional=("status",), status=text),
    )
    world = World(document_of(*tools))
    before = world.call(counting)["count"]
    assert before == world.call("list_orders")["total"]
    world.call("create_order", status="parked")
    assert world.call(counting)["count"] == before + 1
    assert world.call(counting, status="parked")["count"] == 1
