"""The model agent over the real client and a real socket; the tools are in this process."""

from collections.abc import AsyncGenerator, Mapping

import anyio
import pytest

from astra_mcp.errors import ModelError
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import open_model
from astra_mcp.trajectory import AssistantMessage, StopReason, ToolMessage
from astra_mcp.types import JsonValue, ToolResult
from training.rollout.agents.model_agent import ModelAgent

from completions_server import CompletionsServer, asks, refuses, says, tool_texts
from in_memory_tools import CITY, InMemoryTools


@pytest.fixture
async def agent(completions: CompletionsServer) -> AsyncGenerator[ModelAgent]:
    """A model agent at the scripted endpoint."""
    async with open_model(Role.AGENT, completions.config()) as chat:
        yield ModelAgent("scripted", chat)


async def test_the_model_is_shown_the_prompt_and_tools_and_then_its_thoughts_and_each_result(
    completions: CompletionsServer, agent: ModelAgent
) -> None:
    look = asks(("c1", "weather", {"city": "Oslo"}), content="I look.")
    thought = look.model_copy(update={"reasoning_content": "Oslo, then."})
    completions.script.extend([thought, says("It rains.")])
    episode = InMemoryTools().open_episode(CITY, prompt="Will it rain in Oslo?")

    assert await agent.play(episode) is StopReason.ANSWER

    first, second = completions.requests
    assert first["messages"] == [{"role": "user", "content": "Will it rain in Oslo?"}]
    assert first["tools"] == [CITY.as_openai()]
    call = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    assert second["messages"][1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "Oslo, then.",
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"city": "Oslo"}'},
    ]
    assert episode.messages[-1] == AssistantMessage(content="It rains.")


async def test_parallel_calls_run_at_once_and_answer_in_their_order(
    completions: CompletionsServer, agent: ModelAgent
) -> None:
    started = [anyio.Event(), anyio.Event()]

    async def meet(arguments: Mapping[str, JsonValue]) -> ToolResult:
        me = int(str(arguments["me"]))
        started[me].set()
        await started[1 - me].wait()
        return ToolResult.from_text(f"I am {me}")

    completions.script.append(asks(("x", "meet", {"me": 1}), ("y", "meet", {"me": 0})))
    completions.script.append(says("Done."))
    tools = InMemoryTools({"meet": meet})

    with anyio.fail_after(10):
        await agent.play(tools.open_episode())

    assert tool_texts(completions.requests[1]) == ["I am 1", "I am 0"]
    assert sorted((c.seq, c.arguments["me"]) for c in tools.received) == [(0, 1), (1, 0)]


@pytest.mark.claim("P8")
async def test_the_agent_stops_after_32_turns_with_calls(
    completions: CompletionsServer, agent: ModelAgent
) -> None:
    completions.always = lambda _: asks(("c", "weather", {"city": "Oslo"}))
    tools = InMemoryTools()

    assert await agent.play(tools.open_episode(CITY)) is StopReason.TURNS
    assert len(completions.requests) == len(tools.received) == 32


async def test_an_answer_that_was_cut_is_told_from_an_answer(
    completions: CompletionsServer, agent: ModelAgent
) -> None:
    completions.script.append(says("It rai", finish_reason="length"))

    assert await agent.play(InMemoryTools().open_episode()) is StopReason.LENGTH


async def test_a_model_that_fails_in_mid_episode_ends_it_with_its_calls_kept(
    completions: CompletionsServer, agent: ModelAgent
) -> None:
    completions.script.append(asks(("a", "weather", {"city": "Oslo"})))
    completions.always = lambda _: refuses(503)
    tools = InMemoryTools()
    episode = tools.open_episode(CITY)

    with pytest.raises(ModelError, match="503"):
        await agent.play(episode)
    assert len(tools.received) == 1
    assert isinstance(episode.messages[-1], ToolMessage)
