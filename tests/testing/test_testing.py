"""``astra_mcp.testing`` as those use it who test servers and agents of their own."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import cast

import anyio
import pytest
from mcp import Client
from mcp_types import TextContent

from astra_mcp.errors import ModelError, UnknownNameError, UpstreamError
from astra_mcp.testing import (
    InMemoryCatalog,
    InMemoryServer,
    Question,
    RunningGateway,
    ScriptedModel,
    open_test_gateway,
)
from astra_mcp.types import CallOutcome, JsonObject, PastCall, ToolResult
from servers.standalone import Presentation, open_standalone


def weigh(ship: str, unit: str = "tons") -> str:
    """Say how heavy a ship is."""
    return f"The {ship} weighs 300 {unit}."


async def sink(ship: str) -> dict[str, list[str]]:
    """Sink a ship."""
    if ship == "Bella":
        raise ValueError("the Bella floats")
    if ship == "Clio":
        raise UpstreamError("the harbour is flooded")
    return {"sunk": [cast("str", object()) if ship == "Dora" else ship]}


def count_from(seed: int) -> Sequence[Callable[[], int]]:
    """The functions of one session, which share what was counted."""
    counted = [seed]

    def count() -> int:
        counted[0] += 1
        return counted[0]

    return [count]


SOLVING: list[tuple[str, JsonObject]] = [("weigh", {"ship": "Alma"})]
ASKED = {"harbour": Question("How heavy is the Alma?", "300 tons", gold=SOLVING)}


@pytest.fixture
def harbour() -> InMemoryServer:
    """A server of two tools."""
    return InMemoryServer("harbour", weigh, sink)


@pytest.fixture
async def gateway(harbour: InMemoryServer) -> AsyncGenerator[RunningGateway]:
    """A gateway over it and a server with state."""
    counter = InMemoryServer("counter", make_functions=count_from)
    async with open_test_gateway(InMemoryCatalog(harbour, counter, questions=ASKED)) as opened:
        yield opened


def test_tools_are_what_the_functions_say_of_themselves(harbour: InMemoryServer) -> None:
    spec = harbour.tools[0]
    assert (spec.name, spec.description) == ("weigh", "Say how heavy a ship is.")
    assert spec.input_schema["required"] == ["ship"]
    assert spec.input_schema["properties"]["unit"]["default"] == "tons"


async def test_results_errors_and_refusals_are_answers(harbour: InMemoryServer) -> None:
    session = harbour.open_session(key="k", seed=0)
    sunk = await session.call("sink", {"ship": "Alma"})
    assert (sunk.result.structured, sunk.outcome) == ({"sunk": ["Alma"]}, CallOutcome.APPLIED)
    failed = await session.call("sink", {"ship": "Bella"})
    assert failed.result == ToolResult.from_text("the Bella floats", is_error=True)
    refused = await session.call("weigh", {"boat": "Alma"})
    assert (refused.result.is_error, refused.outcome) == (True, CallOutcome.REJECTED)
    assert "boat" in refused.result.text
    assert (await session.call("fly", {})).outcome is CallOutcome.REJECTED
    for ship, words in (("Clio", "flooded"), ("Dora", "sink returns no JSON value")):
        with pytest.raises(UpstreamError, match=words):
            await session.call("sink", {"ship": ship})
    assert [tool for tool, _ in harbour.calls] == ["sink"] * 4


async def test_a_session_has_its_own_state_which_its_past_rebuilds() -> None:
    server = InMemoryServer("counter", make_functions=count_from)
    applied = PastCall(tool="count", arguments={}, outcome=CallOutcome.APPLIED)
    killed = PastCall(tool="count", arguments={}, outcome=CallOutcome.KILLED)
    first = server.open_session(key="a", seed=5)
    later = server.open_session(key="b", seed=5, past=[applied, killed, applied])
    assert (await first.call("count", {})).result.text == "6"
    assert (await later.call("count", {})).result.text == "8"


async def test_an_episode_is_played_and_scored_over_the_wire(
    gateway: RunningGateway, harbour: InMemoryServer
) -> None:
    episode = await gateway.open_episode("harbour", seed=3)
    assert episode.prompt == "How heavy is the Alma?"
    async with Client(episode.mcp_url, cache=None) as agent:
        assert [t.name for t in (await agent.list_tools()).tools] == ["weigh", "sink"]
        result = await agent.call_tool("weigh", {"ship": "Alma"})
    assert result.content == [TextContent(type="text", text="The Alma weighs 300 tons.")]
    state = await gateway.control.close_episode(episode.id)
    assert state.reward is not None
    assert state.reward.reward >= 0.999
    assert harbour.calls == SOLVING
    gold = await gateway.control.gold("harbour")
    assert [(g.tool, g.arguments) for g in gold] == SOLVING


async def test_episodes_of_one_gateway_share_no_state(gateway: RunningGateway) -> None:
    counted: list[str] = []
    for _ in range(2):
        agent = gateway.agent(await gateway.open_episode("counter", "harbour", seed=1))
        counted += [(await agent.call("count", {})).text for _ in range(2)]
    assert counted[:2] == counted[2:]


async def test_a_server_comes_and_goes_and_records_stay_where_they_were_asked_for(
    harbour: InMemoryServer, tmp_path: Path
) -> None:
    catalog = InMemoryCatalog(questions=ASKED)
    heard: list[str] = []
    async with open_test_gateway(catalog, tmp_path) as gateway:
        end = catalog.watch(heard.append)
        assert await gateway.control.environments() == []
        catalog.publish(harbour)
        await gateway.open_episode("harbour")
        catalog.withdraw("harbour")
        end()
        assert await gateway.control.servers() == []
    assert heard == ["harbour", "harbour"]
    (record,) = (tmp_path / "records").glob("*.jsonl")
    opened = json.loads(record.read_text(encoding="utf-8").splitlines()[0])
    assert opened["servers"].keys() == {"harbour"}


def test_a_question_whose_gold_calls_no_tool_of_its_server_is_refused(
    harbour: InMemoryServer,
) -> None:
    misspelt = {"harbour": Question("How heavy is the Alma?", "300 tons", gold=[("wiegh", {})])}
    with pytest.raises(UnknownNameError, match="no tool is named 'wiegh'; did you mean weigh"):
        InMemoryCatalog(harbour, questions=misspelt)


async def test_a_server_is_reached_alone_by_any_client(harbour: InMemoryServer) -> None:
    alone = open_standalone(harbour, Presentation(version="1", instructions=""))
    async with alone as server, Client(server, cache=None) as client:
        result = await client.call_tool("weigh", {"ship": "Alma", "unit": "stone"})
    assert result.content == [TextContent(type="text", text="The Alma weighs 300 stone.")]


async def test_a_scripted_model_plays_its_turns_in_every_conversation() -> None:
    def repeat(messages: Sequence[JsonObject]) -> str:
        return f"You said {messages[0]['content']}."

    model = ScriptedModel([SOLVING, repeat])
    told: list[str | None] = []

    async def converse(text: str) -> None:
        messages: list[JsonObject] = [{"role": "user", "content": text}]
        (call,) = (await model.complete(messages, [])).calls
        assert (call.name, json.loads(call.arguments)) == SOLVING[0]
        messages.append({"role": "assistant", "content": None})
        told.append((await model.complete(messages, [])).content)
        messages.append({"role": "assistant", "content": told[-1]})
        with pytest.raises(ModelError, match="2 turns"):
            await model.complete(messages, [])

    async with anyio.create_task_group() as group:
        group.start_soon(converse, "one")
        group.start_soon(converse, "two")
    assert sorted(filter(None, told)) == ["You said one.", "You said two."]
    assert len(model.conversations) == 6
