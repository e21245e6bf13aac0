"""Which answers a call sends itself: what is read of its arguments, and what is not."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.sent_answers import sent_by, sent_in_slices, shown_by
from astra_mcp.types import JobItem, JsonObject, ToolResult, ToolSpec

CODE = "AAAAA1 K7WD2M BBBBB2"
JOB = (
    JobItem(id=1, answer=CODE, tools=("book",), modifying={"book": ("unit", "filters.sort")}),
    JobItem(id=2, answer="12 kg", tools=("weigh",)),
    JobItem(id=3, answer="7 M/2h", tools=("weigh",)),
)
TEXT: JsonObject = {"type": "string"}
SIZE: JsonObject = {"anyOf": [{"$ref": "#/$defs/size"}, {"type": "null"}]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": TEXT,
        "first": TEXT,
        "rest": {"type": "array", "items": TEXT},
        "size": SIZE,
        "sizes": {"type": "array", "items": SIZE},
        "plan": {"const": CODE},
        "unit": TEXT,
        "filters": {"type": "object", "properties": {"sort": TEXT, "by": TEXT, CODE: TEXT}},
        "is_open": {"type": "boolean"},
        CODE: TEXT,
    },
    "$defs": {"size": {"enum": ["small", CODE]}},
}


def ids(arguments: Mapping[str, Any], tool: str = "book") -> set[int]:
    return set(sent_by(JOB, ToolSpec(name=tool, input_schema=SCHEMA), arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": f"to {CODE}."},
        {"to": "bbbbb2, k7wd2m", "first": "aaaaa1"},
        {"first": "AAAAA1", "rest": ["K7WD2M", "BBBBB2"]},
        {"filters": {"by": {"deep": [CODE]}}},
        {"size": f"{CODE}!"},
        {"sizes": ["small", CODE.lower()]},
        {"is_open": CODE},
        {"filters": {"AAAAA1": {"K7WD2M": "BBBBB2"}}},
        {f"x {CODE}": 1},
    ],
)
def test_an_answer_is_sent_where_all_its_tokens_stand_in_what_an_agent_may_write(
    arguments: JsonObject,
) -> None:
    assert ids(arguments) == {1}


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": "AAAAA1 K7WD2M"},
        {"size": CODE, "sizes": [CODE, "small"], "plan": CODE, "is_open": True},
        {CODE: "x", "filters": {CODE: None}},
        {"unit": CODE, "filters": {"sort": CODE}},
        {"to": ["AAAAA1K7WD2M", "BBBBB2"]},
    ],
)
def test_what_an_agent_can_only_choose_and_what_shapes_the_result_send_nothing(
    arguments: JsonObject,
) -> None:
    assert ids(arguments) == set()


def test_the_modifying_arguments_of_one_tool_are_free_text_of_another() -> None:
    assert ids({"unit": CODE}, "weigh") == {1}


def test_values_beside_one_another_are_read_one_by_one() -> None:
    assert ids({"to": 12, "unit": "kg"}, "weigh") == {2}
    assert ids({"first": "May", "to": 12, "rest": ["2025", "kg"]}) == {2}
    assert ids({"to": "-", "rest": [12, "kg"]}) == {2}


def test_a_schema_that_refers_to_itself_is_read_at_every_depth_and_time() -> None:
    chosen: JsonObject = {"size": CODE, "inner": {"inner": {"size": CODE}}}
    for _ in range(2):
        for size, sent in (({"enum": [CODE]}, set[int]()), (TEXT, {1})):
            node = {"properties": {"size": size, "inner": {"$ref": "#/$defs/node"}}}
            tool = ToolSpec(name="book", input_schema={"$defs": {"node": node}, **node})
            assert sent_by(JOB, tool, chosen) == sent
            assert sent_by(JOB, tool, {"inner": {"note": CODE}}) == {1}
            assert sent_by(JOB, tool, chosen) == sent


def test_more_schemas_than_are_remembered_are_read_as_any() -> None:
    for number in range(1500):
        allowed = {"properties": {"to": {"enum": [CODE if number % 2 else "other"]}}}
        tool = ToolSpec(name="book", input_schema=allowed)
        assert bool(sent_by(JOB, tool, {"to": CODE})) is (number % 2 == 0)


def test_an_answer_whose_tokens_are_others_alone_is_found_as_a_whole() -> None:
    assert ids({"to": "at 7 m/2h"}) == {3}


async def test_arguments_that_are_too_costly_to_read_send_every_answer_that_is_looked_for() -> None:
    sent = await sent_in_slices(JOB[:2], ["\ufdfa" * 1000])
    assert sent.ids == {1, 2}
    assert "4 times as long" in (sent.refusal or "")


def test_a_result_shows_an_answer_in_its_text_or_its_structure_also_as_an_error() -> None:
    text = ToolResult.from_text(f"no {CODE}", is_error=True)
    structure = ToolResult(content=(), structured={"weight": "12 kg"})
    assert [shown_by(JOB, text), shown_by(JOB, structure)] == [{1}, {2}]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(alphabet="AK7 -.,\\né1", max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy"), inner),
    max_leaves=6,
)


@given(
    noise=st.dictionaries(st.sampled_from(["to", "first", "rest", "filters"]), VALUES),
    tokens=st.permutations(CODE.split()),
    cut=st.integers(0, 3),
)
def test_nothing_beside_it_hides_what_is_sent(
    noise: JsonObject, tokens: list[str], cut: int
) -> None:
    sent: JsonObject = {"a": " ".join(tokens[:cut]), "z": [*tokens[cut:]]}
    assert 1 in ids({"a": sent["a"], **noise, "z": sent["z"]})
