"""The agents without a model: which calls they make."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.seeds import generator
from astra_mcp.trajectory import AssistantMessage, StopReason
from astra_mcp.types import JsonValue, ToolResult
from astra_mcp.values.arguments import ArgumentSource
from astra_mcp.values.guesses import guess_arguments
from astra_mcp.values.scalars import NoValueError
from gateway.api.seams import GoldCall
from training.rollout.agent import Agent, AgentError, CallRequest
from training.rollout.agents.baselines import EchoAgent, EnumerateAgent, ExploreAgent
from training.rollout.agents.random import RandomAgent
from training.rollout.agents.scripted import NoopAgent, OracleAgent, ProbeAgent
from training.rollout.agents.seen_texts import find_strings

from in_memory_tools import CITY, InMemoryTools, ReceivedCall, spec

WEATHER = GoldCall(tool="weather", arguments={"city": "Rome"}, solves=(1,))
PACK = GoldCall(tool="pack", arguments={"items": ["hat", "coat"]}, solves=(2, 3))


def gold(*steps: GoldCall) -> OracleAgent:
    async def answer(_environment: str, _question: str | None) -> Sequence[GoldCall]:
        return steps

    return OracleAgent(answer)


async def test_the_oracle_plays_gold_in_order_and_nothing_else() -> None:
    tools = InMemoryTools()

    stop = await gold(PACK, WEATHER).play(tools.open_episode(CITY))

    assert stop is StopReason.ANSWER
    assert [(c.name, c.arguments) for c in tools.received] == [
        ("pack", {"items": ["hat", "coat"]}),
        ("weather", {"city": "Rome"}),
    ]


async def test_an_oracle_without_gold_and_the_noop_agent_call_nothing() -> None:
    tools = InMemoryTools()
    episode = tools.open_episode(CITY)

    with pytest.raises(AgentError, match="in-memory has no gold"):
        await gold().play(tools.open_episode(CITY))
    await NoopAgent().play(episode)

    assert tools.received == []
    assert isinstance(episode.messages[-1], AssistantMessage)


# --- probe --------------------------------------------------------------------------------------


async def test_the_probe_calls_each_tool_once_in_order() -> None:
    tools = InMemoryTools()
    empty = spec("list", {}, [])

    await ProbeAgent().play(tools.open_episode(CITY, empty))

    assert [(c.name, c.arguments) for c in tools.received] == [
        ("weather", {"city": "Oslo"}),
        ("list", {}),
    ]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ({"type": "string", "enum": ["a", "b"], "default": "b"}, "b"),
        ({"type": "string", "enum": ["a", "b"]}, "a"),
        ({"type": "integer", "examples": [12, 13]}, 12),
        ({"const": "only"}, "only"),
        ({"type": "boolean", "default": False}, False),
        ({"type": "string"}, "example"),
        ({"type": "string", "minLength": 9}, "examplexx"),
        ({"type": "string", "maxLength": 3}, "exa"),
        ({"type": "string", "format": "date"}, "2026-01-05"),
        ({"type": "integer", "minimum": 10}, 10),
        ({"type": "integer", "exclusiveMinimum": 10}, 11),
        ({"type": "number", "maximum": 0.5}, 0.5),
        ({"type": "integer"}, 1),
        ({"type": "array", "items": {"enum": ["x"]}, "minItems": 2}, ["x", "x"]),
        ({"type": ["null", "integer"]}, 1),
        ({"anyOf": [{"type": "null"}, {"type": "string", "enum": ["z"]}]}, "z"),
        ({"type": "object", "properties": {"k": {"type": "null"}}, "required": ["k"]}, {"k": None}),
    ],
)
def test_the_probe_sends_what_the_schema_suggests(
    parameter: Mapping[str, Any], value: JsonValue
) -> None:
    arguments = guess_arguments({"properties": {"p": parameter}, "required": ["p"]})

    assert arguments == {"p": value}
    assert jsonschema_rs.is_valid(dict(parameter), value)


def test_the_probe_leaves_out_optional_parameters_without_a_suggestion() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}

    assert guess_arguments({"properties": properties, "required": []}) == {"b": "x"}


# --- random -------------------------------------------------------------------------------------

TRIP = spec(
    "trip",
    {
        "to": {"type": "string"},
        "by": {"type": "string", "enum": ["train", "bus"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 30},
        "date": {"type": "string", "format": "date"},
        "code": {"type": "string", "pattern": r"^[A-Z]{2}-\d{3}$"},
        "stops": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
        "guest": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
        "budget": {"type": ["number", "null"], "minimum": 0},
    },
    ["to", "days"],
)
TRIP_SOURCE = ArgumentSource(TRIP.input_schema)


async def played(seed: int) -> list[ReceivedCall]:
    tools = InMemoryTools()
    await RandomAgent().play(tools.open_episode(CITY, TRIP, seed=seed))
    return tools.received


async def test_a_random_run_of_a_seed_makes_its_own_32_valid_calls_to_all_tools() -> None:
    first, again, other = await played(3), await played(3), await played(4)

    assert first == again
    assert [c.arguments for c in first] != [c.arguments for c in other]
    assert len(first) == 32
    assert {c.name for c in first} == {"weather", "trip"}
    schemas = {tool.name: tool.input_schema for tool in (CITY, TRIP)}
    assert all(jsonschema_rs.is_valid(schemas[c.name], dict(c.arguments)) for c in first)


async def test_a_random_run_uses_strings_that_earlier_results_showed() -> None:
    async def answer(_: Mapping[str, JsonValue]) -> ToolResult:
        return ToolResult.from_value({"listings": [{"id": "L-77"}]})

    async def refuse(_: Mapping[str, JsonValue]) -> ToolResult:
        return ToolResult.from_text("forbidden", is_error=True)

    tools = InMemoryTools({"search": answer, "fail": refuse})
    detail = spec("detail", {"id": {"type": "string"}}, ["id"])
    agent = RandomAgent()
    await agent.play(tools.open_episode(spec("search", {}, []), spec("fail", {}, []), detail))

    first_search = next(i for i, c in enumerate(tools.received) if c.name == "search")
    later = [c.arguments["id"] for c in tools.received[first_search:] if c.name == "detail"]
    assert set(later) == {"listings", "id", "L-77"}


@given(st.integers(0, 2**32), st.lists(st.text(st.characters(codec="utf-8"), max_size=5)))
def test_random_arguments_are_valid_whatever_is_known(seed: int, known: list[str]) -> None:
    arguments = TRIP_SOURCE.draw(generator(seed), known)

    assert jsonschema_rs.is_valid(TRIP.input_schema, arguments, validate_formats=True)


def test_random_strings_come_from_examples_and_known_ones_as_far_as_these_are_valid() -> None:
    properties = {"c": {"type": "string", "maxLength": 4, "examples": ["Oslo"]}}
    schema = spec("t", properties, ["c"]).input_schema
    source, rng = ArgumentSource(schema), generator(1)
    drawn = {str(source.draw(rng, ["Rome", "Reykjavik"])["c"]) for _ in range(40)}

    assert drawn == {"Oslo", "Rome"}


def test_known_strings_that_do_not_fit_are_passed_over_and_made_up_ones_are_ascii() -> None:
    properties = {"c": {"type": "string", "pattern": r"^\d{3}$"}, "d": {"type": "string"}}
    source = ArgumentSource(spec("t", properties, ["c", "d"]).input_schema)
    rng = generator(2)
    codes = [str(source.draw(rng, [f"word {i}" for i in range(500)])["c"]) for _ in range(10)]
    words = [str(source.draw(rng)["d"]) for _ in range(10)]

    assert all(re.fullmatch("[0-9]{3}", code) for code in codes)
    assert all(word.isascii() for word in words)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {"type": "object"},
        {"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1},
        {"properties": {"anything": {}}, "required": ["anything"]},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/word"}},
            "required": ["a"],
            "$defs": {"word": {"type": "string", "enum": ["x", "y"]}},
        },
        {
            "type": "object",
            "properties": {
                "who": {
                    "oneOf": [
                        {"type": "object", "properties": {"n": {"const": 1}}, "required": ["n"]},
                        {"type": "array", "items": {"type": "integer"}, "minItems": 6},
                    ]
                }
            },
            "required": ["who"],
        },
    ],
)
def test_random_arguments_cope_with_any_shape_of_schema(schema: dict[str, Any]) -> None:
    source, rng = ArgumentSource(schema), generator(0)

    assert all(jsonschema_rs.is_valid(schema, source.draw(rng)) for _ in range(20))


def test_random_arguments_can_be_written_where_a_schema_sets_integers_no_bounds() -> None:
    properties = {name: {"type": "integer"} for name in "abcdef"}
    source, rng = ArgumentSource(spec("t", properties, list(properties)).input_schema), generator(0)

    for arguments in [source.draw(rng) for _ in range(200)]:
        assert CallRequest.of("t", arguments).name == "t"


@pytest.mark.parametrize(
    "parameter",
    [{"type": "integer", "minimum": 3, "maximum": 2}, {"enum": []}, {"not": {}}],
)
def test_an_impossible_schema_is_an_error_of_the_agent(parameter: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"p": parameter}, "required": ["p"]}

    with pytest.raises(NoValueError, match="schema"):
        ArgumentSource(schema).draw(generator(0))


# --- baselines ----------------------------------------------------------------------------------

PAGE = {"type": "integer", "default": 1}
SEARCH = spec("search_desks", {"q": {"type": "string"}, "page": PAGE}, ["q"])
DESK = spec(
    "book_desk",
    {
        "id": {"type": "string", "minLength": 4},
        "day": {"type": "string", "enum": ["Mon", "Tue"]},
        "quiet": {"type": "boolean", "default": False},
        "note": {"type": "string"},
    },
    ["id", "day"],
)


async def desks(_: Mapping[str, JsonValue]) -> ToolResult:
    return ToolResult.from_value({"found": [{"id": "D-1203", "floor": 31}]})


async def baseline(agent: Agent, *, seed: int = 0) -> list[ReceivedCall]:
    tools = InMemoryTools({"search_desks": desks})
    await agent.play(tools.open_episode(SEARCH, DESK, seed=seed, prompt="A desk for Ewa Lind."))
    return tools.received


@pytest.mark.parametrize("agent", [EchoAgent(), ExploreAgent(), EnumerateAgent()])
async def test_a_baseline_repeats_itself_for_a_seed_and_makes_at_most_64_valid_calls(
    agent: Agent,
) -> None:
    first, again, other = [await baseline(agent, seed=seed) for seed in (3, 3, 4)]

    assert first == again != other
    assert 0 < len(first) <= 64
    schemas = {tool.name: tool.input_schema for tool in (SEARCH, DESK)}
    assert all(jsonschema_rs.is_valid(schemas[c.name], dict(c.arguments)) for c in first)


async def test_echo_puts_the_question_and_results_and_their_words_into_every_free_text() -> None:
    calls = await baseline(EchoAgent())
    bookings = [c.arguments for c in calls if c.name == "book_desk"]
    said = {str(value) for c in calls for value in c.arguments.values()}

    assert said >= {"A desk for Ewa Lind.", "Ewa", "D-1203", "31"}
    assert all(len(str(b["id"])) >= 4 and b["note"] for b in bookings)
    assert {(b["day"], b["quiet"]) for b in bookings} == {("Mon", False)}


async def test_explore_searches_with_short_texts_and_looks_up_nothing_that_it_found() -> None:
    calls = await baseline(ExploreAgent())

    assert {c.name for c in calls} == {"search_desks"}
    assert all(c.arguments.keys() == {"q"} for c in calls)
    texts = [str(c.arguments["q"]) for c in calls]
    assert {"", "a", "1", "的"} <= set(texts)
    assert len(set(texts)) == len(texts)
    assert max(map(len, texts)) <= 1


async def test_enumerate_covers_every_tool_with_what_the_schemas_list() -> None:
    calls = await baseline(EnumerateAgent())
    bookings = [(c.arguments["day"], c.arguments["quiet"]) for c in calls if c.name == "book_desk"]

    assert sorted(bookings) == [("Mon", False), ("Mon", True), ("Tue", False), ("Tue", True)]
    assert [c.arguments for c in calls if c.name == "search_desks"] == [{"q": "example", "page": 1}]


async def test_enumerate_takes_turns_between_tools_that_have_many_combinations() -> None:
    listed = {name: {"enum": list(range(9))} for name in "abcdefghijklmnopqrstuvwxyz"}
    many = [spec(name, listed, list(listed)) for name in ("one", "two")]
    tools = InMemoryTools()
    await EnumerateAgent().play(tools.open_episode(*many))

    assert len(tools.received) == 64
    assert len({str(c) for c in tools.received}) == 64
    assert Counter(c.name for c in tools.received) == {"one": 32, "two": 32}


# --- what was seen ------------------------------------------------------------------------------


@given(st.recursive(st.text(max_size=3), lambda v: st.lists(v) | st.dictionaries(st.text(), v)))
def test_every_string_of_a_json_result_is_found_once(value: Any) -> None:
    found = find_strings(json.dumps(value))

    assert len(found) == len(set(found))
    if isinstance(value, str):
        assert found == [value]


def test_words_are_found_in_a_result_that_is_no_json() -> None:
    found = find_strings("Flight AB-12 to Oslo\nFlight CD-34")
    assert found == ["Flight", "AB-12", "to", "Oslo", "CD-34"]
