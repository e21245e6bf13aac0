"""Episodes as TRL has them: what it reads of tools, and what becomes of calls and rewards."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from transformers.utils import chat_template_utils

from astra_mcp.call_record import EpisodeId
from astra_mcp.errors import ConfigError, TransportError
from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.types import JsonObject, ToolSpec
from gateway.api.client import GatewayClient
from gateway.api.wire import EpisodeState, SourceEnvironment, SourceServers
from training.rl.trl import TrlEnvironments, TrlEpisode, open_trl_environments, tool_method

from small_gateway import NAME, SmallGateway, open_small_gateway

pytestmark = pytest.mark.train

SOURCE = SourceEnvironment(kind="environment", name=NAME)


def read_by_trl(tool: ToolSpec) -> JsonObject:
    """What TRL shows of a tool: it asks Transformers for the schema of a bound method."""
    kind = type("Kind", (), {tool.name: tool_method("src", tool)})
    schema_of: Any = chat_template_utils.get_json_schema  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    shown = schema_of(getattr(kind(), tool.name))
    return shown["function"]


def argument(schema: JsonObject, **root: Any) -> JsonObject:
    """What TRL shows of an argument."""
    parameters: JsonObject = {"type": "object", "properties": {"it": schema}, **root}
    shown: Any = read_by_trl(ToolSpec(name="find", description="Find.", input_schema=parameters))
    return shown["parameters"]["properties"]["it"]


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": ["a", 1, None]}, {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
        ({"const": 3}, {"type": "integer", "enum": [3]}),
        ({"type": ["integer", "null"]}, {"type": "integer", "nullable": True}),
        ({"type": ["string", "number"]}, {"type": ["number", "string"]}),
        (
            {"anyOf": [{"enum": ["all"]}, {"type": "array", "items": {"type": "integer"}}]},
            {
                "anyOf": [
                    {"type": "string", "enum": ["all"]},
                    {"type": "array", "items": {"type": "integer"}},
                ]
            },
        ),
        ({}, {}),
    ],
)
def test_types_enums_and_unions_are_kept(schema: JsonObject, shown: JsonObject) -> None:
    assert argument(schema) == {**shown, "description": "it"}
    described = argument({**schema, "title": "It", "description": "Which\none."})
    assert described == {**shown, "description": "Which one."}


def test_what_an_annotation_cannot_say_stands_behind_the_description() -> None:
    found = argument({"type": "string", "format": "date", "description": "When."})
    assert found["description"] == 'When. JSON Schema: {"type": "string", "format": "date"}'
    nested: JsonObject = {"type": "array", "items": {"type": "integer", "minimum": 1}}
    assert '"minimum": 1' in str(argument(nested)["description"])


def test_references_are_followed_also_to_themselves() -> None:
    tree: JsonObject = {
        "type": "object",
        "properties": {"kind": {"$ref": "#/$defs/kind"}, "next": {"$ref": "#/$defs/tree"}},
    }
    defs: JsonObject = {"kind": {"enum": ["x", "y"]}, "tree": tree}
    assert argument({"$ref": "#/$defs/kind"}, **{"$defs": defs})["enum"] == ["x", "y"]
    found = argument({"$ref": "#/$defs/tree"}, **{"$defs": defs})
    assert found["type"] == "object"
    assert str(found["description"]).count('"enum": ["x", "y"]') == 1


def test_names_texts_and_what_is_required_come_through_whatever_they_are() -> None:
    names = ("from", "self", "self_", "episode", "arguments")
    tool = ToolSpec(
        name="get-route",
        description="Find it.\nReturns: nothing. Args: many",
        input_schema={
            "type": "object",
            "properties": {
                name: {"type": "string", "description": "one (choices: x)"} for name in names
            },
            "required": ["self", "from"],
        },
    )
    found: Any = read_by_trl(tool)
    assert found["name"] == "get-route"
    assert found["description"] == "Find it.\nReturns : nothing. Args : many"
    assert tuple(found["parameters"]["properties"]) == names
    assert {*found["parameters"]["required"]} == {"self", "from"}
    assert {each["description"] for each in found["parameters"]["properties"].values()} == {
        "one (choices : x)"
    }


@pytest.mark.parametrize(
    ("tool", "name", "message"),
    [
        ("reset", "it", "src: TRL cannot be given a tool that is named 'reset'"),
        ("_find", "it", "src: TRL cannot be given a tool that is named '_find'"),
        ("find", "user-id", "src: TRL cannot be given the argument 'user-id' of find"),
        ("find", "return", "src: TRL cannot be given the argument 'return' of find"),
    ],
)
def test_what_can_be_no_method_is_refused(tool: str, name: str, message: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}}
    with pytest.raises(ConfigError, match=message):
        tool_method("src", ToolSpec(name=tool, input_schema=schema))


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


async def with_environments(
    harbour: SmallGateway, work: Callable[[TrlEnvironments], Any], **options: Any
) -> Any:
    """Work in a thread, as TRL does."""

    def run() -> Any:
        sources = options.pop("sources", {"ships": SOURCE})
        with open_trl_environments(harbour.url, CONTROL_KEY, sources, **options) as environments:
            return work(environments)

    return await anyio.to_thread.run_sync(run)


async def test_an_episode_is_played_and_earns_what_the_gateway_says(harbour: SmallGateway) -> None:
    def work(environments: TrlEnvironments) -> list[float | None]:
        assert [(row["environment"], row["seed"]) for row in environments.rows] == [
            ("ships", 3),
            ("ships", 4),
        ]
        prompt: Any = environments.rows[0]["prompt"]
        assert prompt == [{"role": "user", "content": "How heavy is the ship?"}]
        made: list[TrlEpisode] = [environments.environment_factory["ships"]() for _ in range(3)]
        good, idle, drowned = made
        for episode in (good, idle, drowned):
            episode.reset(seed=3, prompt=prompt)
        assert asyncio.run(vars(type(good))["look"](good)) == "a ship of 300 tons"
        asyncio.run(vars(type(drowned))["sink"](drowned))
        first = environments.reward([good, idle, drowned], completions=["", "", ""])
        assert environments.reward([good, idle, drowned]) == first
        good.reset(seed=4)
        assert good.play.state is None
        assert environments.reward([good]) == [0]
        good.reset(seed=5)
        return first

    earned, nothing, failed = await with_environments(harbour, work, seeds=[3, 4])
    assert earned == pytest.approx(1)
    assert nothing == 0
    assert failed is None
    assert await harbour.client.open_episodes() == []  # the last one too, which nobody judged


async def test_one_that_the_gateway_does_not_close_costs_its_own_reward_alone(
    harbour: SmallGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    close, asked = GatewayClient.close_episode, list[str]()

    async def close_late(gateway: GatewayClient, episode_id: EpisodeId) -> EpisodeState:
        """Fail for the first episode, the first time."""
        asked.append(episode_id)
        if len(asked) == 1:
            raise TransportError("the gateway is not there for a moment")
        return await close(gateway, episode_id)

    def work(environments: TrlEnvironments) -> list[float | None]:
        monkeypatch.setattr(GatewayClient, "close_episode", close_late)
        made: list[TrlEpisode] = [environments.environment_factory["ships"]() for _ in range(2)]
        for episode in made:
            episode.reset(seed=3)
        return environments.reward(made)

    assert await with_environments(harbour, work, seeds=[3]) == [None, 0]
    first, second, again = asked
    assert first == again != second
    assert await harbour.client.open_episodes() == []


async def test_servers_without_a_prompt_ask_nothing(harbour: SmallGateway) -> None:
    bare = SourceServers(kind="servers", names=(NAME,))
    with pytest.raises(ConfigError, match="ships asks nothing"):
        await with_environments(harbour, lambda _: None, sources={"ships": bare})
    assert await harbour.client.open_episodes() == []
