"""Above 100 tools an endpoint lists a search and a call in their place."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from astra_mcp.types import ToolSpec
from gateway.agents.search import CALL_TOOL, SEARCH_TOOLS, find_tools

from by_hand import MODERN


def a_tool(name: str, description: str = "") -> ToolSpec:
    return ToolSpec(name=name, description=description, input_schema={"type": "object"})


@pytest.fixture
def opened(counter_server: Any, open_gateway: Any, sdk: Any) -> Any:
    """Opens a client of a gateway whose one server has so many tools, one of them ``add``."""

    @asynccontextmanager
    async def open_it(
        count: int, era: str = MODERN, path: str = "/mcp"
    ) -> AsyncGenerator[tuple[Any, Any]]:
        server = counter_server("coins")
        others = (a_tool(f"t{n}") for n in range(count - 1))
        server.tools = (a_tool("add", "Add coins"), *others)
        async with open_gateway(server) as gateway, sdk(f"{gateway.url}{path}", era) as client:
            yield client, gateway

    return open_it


async def test_100_tools_are_listed_and_101_are_searched(opened: Any, era: str) -> None:
    async with opened(100, era) as (client, _):
        assert len((await client.list_tools()).tools) == 100
        with pytest.raises(MCPError, match="search_tools"):
            await client.call_tool("search_tools", {"query": "coins"})
    async with opened(101, era) as (client, _):
        names = [t.name for t in (await client.list_tools()).tools]
        assert names == ["search_tools", "call_tool"]


async def test_a_server_alone_lists_all_of_its_tools_however_many(opened: Any, era: str) -> None:
    async with opened(101, era, "/servers/coins/mcp") as (client, _):
        names = [t.name for t in (await client.list_tools()).tools]
        assert names == ["add", *(f"t{n}" for n in range(100))]


def test_what_the_schemas_of_the_search_refer_to_stands_in_them() -> None:
    for tool in (SEARCH_TOOLS, CALL_TOOL):
        assert "$ref" not in str(tool.input_schema)
    validator = jsonschema_rs.validator_for(CALL_TOOL.input_schema)
    assert validator.is_valid({"name": "add", "arguments": {"n": [1]}})


async def test_a_tool_is_found_called_and_counted_and_the_search_is_not(
    opened: Any, era: str
) -> None:
    async with opened(101, era) as (client, gateway):
        found = await client.call_tool("search_tools", {"query": "add some coins", "limit": 3})
        assert found.structured_content["tools"][0]["name"] == "coins__add"
        arguments = {"name": "coins__add", "arguments": {"amount": 4}}
        called = await client.call_tool("call_tool", arguments)
        assert called.content[0].text == "total 4"
        direct = await client.call_tool("coins__add", {"amount": 1})
        assert direct.content[0].text == "total 5"
        record = next((gateway.home / "records").iterdir()).read_text()
        assert record.count('"call_started"') == 2


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("search_tools", {}, "query"),
        ("search_tools", {"query": "x", "limit": 0}, "limit"),
        ("search_tools", {"query": "x", "most": 1}, "most"),
        ("call_tool", {"arguments": {}}, "name"),
        ("call_tool", {"name": "none", "arguments": {}}, "search_tools"),
    ],
)
async def test_wrong_arguments_answer_an_error_that_names_them(
    opened: Any, tool: str, arguments: dict[str, Any], named: str
) -> None:
    async with opened(101) as (client, _):
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert named in result.content[0].text


async def test_a_search_without_a_match_says_so(opened: Any) -> None:
    async with opened(101) as (client, _):
        result = await client.call_tool("search_tools", {"query": "zebra"})
        assert (result.is_error, "None of 101 tools" in result.content[0].text) == (False, True)


def test_a_word_in_the_name_weighs_more_than_one_in_the_description() -> None:
    tools = [a_tool("a__other", "book a flight"), a_tool("b__flight", "anything")]
    assert [t.name for t in find_tools(tools, "Flight", 9)] == ["b__flight", "a__other"]


def test_chinese_characters_are_words() -> None:
    tools = [a_tool("x", "查询天气"), a_tool("y", "预订酒店")]
    assert [t.name for t in find_tools(tools, "酒店", 9)] == ["y"]


WORDS = st.lists(st.sampled_from(["book", "flight", "hotel", "天气", "rail"]), max_size=4)


@given(st.lists(WORDS, max_size=12), WORDS, st.integers(1, 9))
def test_a_search_is_an_ordered_choice_of_what_shares_a_word(
    texts: list[list[str]], query: list[str], limit: int
) -> None:
    tools = [a_tool(f"t{n}", " ".join(words)) for n, words in enumerate(texts)]
    found = find_tools(tools, " ".join(query), limit)
    sharing = [t for t, words in zip(tools, texts, strict=True) if set(words) & set(query)]
    assert len(found) == min(limit, len(sharing))
    assert all(t in sharing for t in found)
    assert found == find_tools(tools, " ".join(query), limit)
