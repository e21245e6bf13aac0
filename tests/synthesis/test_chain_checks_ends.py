"""Two ends of a way: a call has them as the query says, or code cannot tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.synthesis.trajectories.checks.told import swapped_ends
from astra_mcp.types import JsonObject

from random_json import random_json

_NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
_SCALARS = _NUMBERS | st.text(max_size=12)
JSON = random_json(_SCALARS, st.text(max_size=8), max_leaves=100)


WRONG_WAY: list[tuple[JsonObject, str]] = [
    ({"from": "Bari", "to": "Rome"}, "Find trains from Rome to Bari."),
    ({"from": "Bari", "to": "Rome"}, "Find trains from Rome, by night, to Bari."),
    ({"origin_city": "bari", "destination_city": "rome"}, "A flight from Rome to Bari, please."),
    ({"origin": "上海", "destination": "北京"}, "查一下从北京到上海的火车"),
    ({"origin": "上海", "destination": "北京"}, "从北京坐火车去上海"),
    ({"source_currency": "EUR", "target_currency": "USD"}, "Convert 5 from USD to EUR."),
    ({"start_date": "2026-05-05", "end_date": "2026-05-03"}, "From 3 May to 5 May 2026."),
    (
        {"origin": "Bari", "departure_date": "2026-05-03", "destination": "Rome"},
        "From Rome to Bari on 3 May 2026.",
    ),
]


@pytest.mark.claim("P62")
@pytest.mark.parametrize(("arguments", "query"), WRONG_WAY)
def test_ends_that_the_query_names_the_other_way_round_are_swapped(
    arguments: JsonObject, query: str
) -> None:
    (complaint,) = swapped_ends(arguments, query)
    assert "the other way round" in complaint


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({"from": "Rome", "to": "Bari"}, "Find trains from Rome to Bari."),
        ({"from": "Bari", "to": "Rome"}, "Find trains from Rome to Bari and back."),
        ({"from": "Bari", "to": "Rome"}, "A return from Rome to Bari."),
        ({"from": "Bari", "to": "Rome"}, "Trains from Rome to Bari, then from Bari to Rome."),
        ({"from": "Bari", "to": "Rome"}, "Trains to Rome; I live in Bari."),
        ({"origin": "上海", "destination": "北京"}, "从北京到上海的往返票"),
        ({"origin": "上海", "destination": "北京"}, "从北京到上海、再回来"),
        ({"a": "Bari", "b": "Rome"}, "Find trains from Rome to Bari."),
        ({"from": 2, "to": 1}, "Rows from 1 to 2."),
        ({"from": "", "to": "Rome"}, "Find trains from Rome to Bari."),
        ({"from": "Paris North", "to": "Paris"}, "From Paris North to Paris."),
        ({"from": "BRI", "to": "FCO"}, "Find flights from Rome to Bari."),
    ],
)
def test_ends_of_which_code_cannot_say_so_are_left_to_others(
    arguments: JsonObject, query: str
) -> None:
    assert swapped_ends(arguments, query) == []


def test_who_has_gone_one_way_may_go_back() -> None:
    arguments, query = WRONG_WAY[0]
    there: JsonObject = {"from": "Rome", "to": "Bari", "seats": 2}
    assert swapped_ends(arguments, query, [there]) == []
    assert swapped_ends(arguments, query, [{"city": "Rome"}]) != []


@given(st.dictionaries(st.sampled_from(["from", "to", "x"]), JSON), st.text(max_size=40))
def test_no_arguments_and_no_query_break_the_search_for_swapped_ends(
    arguments: JsonObject, query: str
) -> None:
    assert isinstance(swapped_ends(arguments, query), list)
