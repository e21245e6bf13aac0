"""Values of a call: what tells them, and what nothing tells."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.synthesis.trajectories.checks.told import invented_values
from astra_mcp.types import JsonValue

from random_json import random_json

_NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
_SCALARS = _NUMBERS | st.text(max_size=12)
JSON = random_json(_SCALARS, st.text(max_size=8), max_leaves=100)


QUERY = (
    "Book two rooms in Oslo for 3 nights from 3 May 2026 at 3 pm, within 5 km of the harbour, for"
    " ann@example.com; order BK-20931, the cheapest flights, and 20% off."
)


async def invented(value: JsonValue, *results: str, query: str = QUERY, **more: Any) -> list[str]:
    """What is made up in an argument."""
    name = more.pop("name", "x")
    sources = more.pop("sources", {})
    schema = {"type": "object", "properties": {name: more}}
    return await invented_values(
        {name: value}, schema, query=query, results=results, sources=sources
    )


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    "value",
    [
        "Oslo", "oslo", "BK-20931", 3, 2, "3", "ann@example.com", True, None, "", "*",
        "2026-05-03", "03/05/2026", "05/03/2026", "20260503", "2026-05-03T15:00:00Z", "15:00",
        "2026-05-03T00:00:00Z", 1777766400, 5000, 0.2, "rooms in Oslo", "cheap flight", ["Oslo", 3],
        {"city": "Oslo", "rooms": 2},
    ],
)  # fmt: skip
async def test_what_the_query_says_in_some_form_is_told(value: JsonValue) -> None:
    assert await invented(value) == []


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    "value",
    [
        "Bergen", "BK-20932", 7, "7", 4000, 0.3, "bob@example.com", "2026-05-04", "2025-05-03", "16:00",
        "2026-05-03T16:00:00Z", 1777940000, "rooms in Bergen", ["Oslo", "Bergen"],
        {"city": {"name": "Bergen"}}, "Dear team, I would like to cancel my booking since plans have changed",
        "Dear team, I would like to cancel my booking BK-99999 since plans have changed", "209", "K-2093",
    ],
)  # fmt: skip
async def test_what_nothing_says_is_made_up(value: JsonValue) -> None:
    (complaint,) = await invented(value)
    assert "neither the query nor an earlier result tells" in complaint


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("metric", {"enum": ["metric", "imperial"]}),
        ("Bergen", {"default": "Bergen"}),
        (4242, {"const": 4242}),
        ("price", {"description": "Sort by 'price' or 'date'."}),
        (["x1y2z3"], {"items": {"enum": ["x1y2z3"]}}),
        ("odd", {"anyOf": [{"enum": ["odd"]}, {"type": "null"}]}),
    ],
)
async def test_the_schema_tells_its_members_defaults_and_choices(
    value: JsonValue, schema: dict[str, Any]
) -> None:
    assert await invented(value, **schema) == []


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    "schema",
    [
        {"description": "The city (e.g. 'Paris')."}, {"description": "City as in 'Paris' or 'Rome'."},
        {"description": "Written as 'Paris'."}, {"description": "Among 'Paris' and 'Rome'."},
        {"examples": ["Paris"]}, {"example": "Paris"},
    ],
)  # fmt: skip
async def test_an_example_is_somebody_elses_value(schema: dict[str, Any]) -> None:
    assert await invented("Paris", **schema) != []


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    ("name", "value", "is_free"),
    [("limit", 50, True), ("pageSize", 100, True), ("limit", 101, False), ("issue_number", 50, False),
     ("max_price", 50, False), ("limit", "fifty", False), ("offset", 0, True), ("party_size", 8, False),
     ("num_tickets", 37, False), ("seat_row", 12, False), ("item_count", 99, False), ("count", 9, False),
     ("credit_limit", 50, False), ("top_k", 5, True), ("max_results", 10, True)],
)  # fmt: skip
async def test_how_many_rows_to_give_is_free_up_to_a_hundred(
    name: str, value: JsonValue, is_free: bool
) -> None:
    assert (await invented(value, name=name) == []) is is_free


async def test_a_count_is_of_rows_where_its_description_says_so() -> None:
    told = "Number of results to return."
    assert await invented(9, name="count", description=told) == []
    assert await invented(9, name="num_tickets", description=told) != []


@pytest.mark.parametrize(("name", "value"), [("year", 2026), ("month", 5), ("startDay", 3)])
async def test_the_parts_of_a_day_are_told_by_the_day(name: str, value: int) -> None:
    assert await invented(value, name=name) == []
    assert await invented(value, name=name, query="On 9 June 2031.") != []


@pytest.mark.parametrize(
    ("name", "value", "is_fine"),
    [
        ("message", "On my way home", True),
        ("message", "On my way to gate B22X1", False),
        ("title", "Bergen", False),
        ("title", "Moby Dick Deluxe", False),
        ("recipient", "Maria Theresia von Habsburg und zu Lothringen Graefin", False),
        ("address", "Lane behind the old mill near Smithfield village green", False),
        ("recipient", "With Love Bakery Munich", False),
        ("query", "Create Evans Holdings", False),
        ("sql", "Create Evans Holdings", False),
        ("code", "open sesame magic", False),
        ("discount_code", "a=b and (c)", False),
        ("code", "print(sorted(rooms))", True),
        ("sql", "SELECT name FROM guests WHERE nights = 3", True),
        ("query", "select name from guests where nights = 4", False),
        ("query", "cosy huts nearby", False),
    ],
)
async def test_a_text_of_the_assistants_own_holds_no_made_up_value(
    name: str, value: str, is_fine: bool
) -> None:
    assert (await invented(value, name=name) == []) is is_fine


async def test_the_title_of_what_a_tool_creates_is_the_assistants_own() -> None:
    for tool, is_fine in (("create_page", True), ("reserve_book", False)):
        found = await invented_values(
            {"title": "Plans for spring"}, {}, query="Plan it.", results=(), sources={}, tool=tool
        )
        assert (found == []) is is_fine


@pytest.mark.parametrize(
    ("name", "value", "is_told"),
    [
        ("phone", "555 12", False),
        ("hold_id", "chairs books", False),
        ("phone", "0301234567", True),
        ("phone_number", "030-1234567", True),
        ("phone", "030 123456", False),
        ("card_number", "12", True),
    ],
)
async def test_a_number_or_an_id_is_told_in_one_piece(name: str, value: str, is_told: bool) -> None:
    query = "I have twelve books, 555 chairs, and call me on (030) 123-4567."
    assert (await invented(value, name=name, query=query) == []) is is_told


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    ("value", "query", "is_told"),
    [
        ("京东", "明天去北京东站", False),
        ("京东", "在京东买手机、再去北京东站", True),
        ("东京", "明天去北京东站", False),
        ("东京", "明天去东京", True),
        ("海南", "去上海南站", False),
        ("海南", "去海南", True),
        ("北京", "去北京东站", True),
        ("东站", "去北京东站", True),
        ("京剧", "看云南京剧", True),
        ("南京东路", "到南京东路", True),
        ("海上", "上海的酒店", False),
        ("买米", "我想买一些米", True),
        ("便宜机票", "找便宜的机票", True),
        ("红茶杯", "要红色的茶杯", True),
        ("酒店 奥斯陆", "奥斯陆的酒店", True),
        ("米", "我想买一些米", True),
        ("米 茶", "要买茶和米", True),
        ("酒店 上海滩", "上海滩的酒店", True),
        ("서울", "서울에서 부산까지", True),
        ("산부", "서울에서 부산까지", False),
    ],
)
async def test_a_cjk_name_is_told_by_its_characters_together_and_in_their_order(
    value: str, query: str, *, is_told: bool
) -> None:
    assert (await invented(value, query=query) == []) is is_told
    assert (await invented(value, query, query="?") == []) is is_told


@pytest.mark.claim("P62")
@pytest.mark.parametrize(
    ("name", "value", "results", "is_told"),
    [
        ("quantity", 17, ('{"id": 17, "name": "oak"}',), False),
        ("quantity", "17", ('{"orders": [{"orderId": 17}]}',), False),
        ("quantity", 17, ('{"id": 17, "stock": 17}',), True),
        ("quantity", 17, ('{\n "id": 17\n}\n{"id": 17}',), False),
        ("quantity", 17, ('[{"id": 17}]\n', "There are 17 left.\n"), True),
        ("quantity", 17, ('order 17 was made\n{"id": 17}',), True),
        ("max_price", 17, ('{"user_id": 17}',), False),
        ("order", 17, ('{"id": 17}',), True),
        ("post_number", 17, ('{"id": 17}',), True),
        ("price", "price_17", ('{"id": "price_17"}',), True),
    ],
)
async def test_an_amount_is_not_told_by_the_id_of_a_thing(
    name: str, value: JsonValue, results: tuple[str, ...], *, is_told: bool
) -> None:
    query = "Order as many as there are."
    assert (await invented(value, *results, name=name, query=query) == []) is is_told


async def test_the_query_tells_an_amount_that_is_also_an_id() -> None:
    assert await invented(3, '{"id": 3}', name="quantity", query="Order three.") == []


async def test_an_earlier_result_tells_its_values() -> None:
    assert await invented("A-77421", '{"orders": [{"id": "A-77421", "total": 12.5}]}') == []
    assert await invented(12.5, '{"orders": [{"id": "A-77421", "total": 12.5}]}') == []
    assert await invented("A-7742", '{"orders": [{"id": "A-77421"}]}') != []


async def test_a_day_without_its_year_is_told_only_where_the_query_says_none() -> None:
    assert await invented("2026-05-03", query="On 3 May, please.") == []
    assert await invented("2027-05-03", query="On 3 May 2026, please.") != []


async def test_a_name_in_another_script_needs_its_source() -> None:
    query = "明天奥斯陆的天气怎么样?"
    told = {"x": ["奥斯陆"]}
    assert await invented("Oslo", query=query, sources=told) == []
    assert await invented("Oslo", query=query) != []
    assert await invented("Oslo", query=query, sources={"x": ["卑尔根"]}) != []
    assert await invented("OS1044", query=query, sources=told) != []
    assert await invented("Katarina", query=query, sources={"x": ["天"]}) != []
    # In one script a source would excuse anything.
    assert await invented("Bergen", query=QUERY, sources={"x": ["Oslo"]}) != []


async def test_a_result_that_is_made_to_be_costly_tells_nothing_and_is_named() -> None:
    (complaint,) = await invented("Bergen", "e" + "\u0301" * 5000 + " Bergen")
    assert "a result was not read" in complaint


async def test_more_values_than_can_be_looked_for_are_refused() -> None:
    (complaint,) = await invented([n + 1000 for n in range(201)])
    assert "more than 200" in complaint


@given(JSON, st.text(max_size=40))
async def test_no_value_and_no_query_breaks_the_search(value: Any, query: str) -> None:
    assert isinstance(await invented(value, query=query), list)
