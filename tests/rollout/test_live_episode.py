"""The live episode: what reaches the gateway, in which order, and what the agent sees of it."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from astra_mcp.errors import EpisodeEndedError, TransportError
from astra_mcp.trajectory import AssistantMessage, ToolMessage
from astra_mcp.types import ContentBlock, JsonValue, ToolResult
from gateway.api.client import CallRefusedError
from training.rollout.agent import AgentError, CallRequest
from training.rollout.arguments import MAX_ARGUMENT_BYTES
from training.rollout.episode import MAX_NAME_LENGTH, result_text

from in_memory_tools import CITY, InMemoryTools


async def test_calls_of_one_turn_run_at_once_and_are_numbered_in_their_order() -> None:
    both_started = anyio.Event()

    async def wait(_: Mapping[str, JsonValue]) -> ToolResult:
        await both_started.wait()
        return ToolResult.from_text("slow")

    async def release(_: Mapping[str, JsonValue]) -> ToolResult:
        both_started.set()
        return ToolResult.from_text("quick")

    tools = InMemoryTools({"wait": wait, "release": release})
    episode = tools.open_episode()

    with anyio.fail_after(5):
        answers = await episode.take_turn(
            [CallRequest.of("wait", {}), CallRequest.of("release", {})]
        )
        await episode.take_turn([CallRequest.of("release", {})])

    assert [a.text for a in answers] == ["slow", "quick"]
    assert [(c.seq, c.call_id) for c in tools.received] == [(n, f"call_{n}") for n in range(3)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"city": ', "not valid JSON"),
        ("city=Oslo", "not valid JSON"),
        ('{"n": NaN}', "not valid JSON"),
        ('{"n": 1, "n": 2}', "the key 'n' stands twice"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ("[1]", "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('"' + "x" * MAX_ARGUMENT_BYTES + '"', "too large"),
        ('{"a": [' + "1," * 10_000 + "1]}", "at most 9900 names and values"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "levels deep"),
    ],
)
async def test_arguments_that_are_no_object_reach_no_tool_and_take_their_place(
    arguments: str, words: str
) -> None:
    tools = InMemoryTools()
    episode = tools.open_episode(CITY)

    refused, served = await episode.take_turn(
        [
            CallRequest(name="weather", arguments=arguments),
            CallRequest.of("weather", {"city": "Oslo"}),
        ]
    )

    assert words in refused.text
    assert refused.result is not None
    assert refused.result.is_error
    assert served.text == '{"city": "Oslo"}'
    assert [(c.seq, c.arguments, c.fault) for c in tools.received] == [
        (0, {}, refused.text),
        (1, {"city": "Oslo"}, None),
    ]
    assert [(n.seq, n.is_error) for n in episode.notes] == [(0, True), (1, False)]


async def test_empty_arguments_mean_none_and_an_endless_name_is_cut_before_it_is_sent() -> None:
    tools = InMemoryTools()
    calls = [CallRequest(name="now", arguments=" "), CallRequest.of("f" * 100_000, {})]

    await tools.open_episode(CITY).take_turn(calls)

    received = [(c.name, c.arguments) for c in tools.received]
    assert received == [("now", {}), ("f" * MAX_NAME_LENGTH, {})]


async def test_ids_of_the_agent_are_kept_where_they_are_new() -> None:
    episode = InMemoryTools().open_episode()
    ids = ["a", "", "a", "a", "call_1", ""]

    for turn in (ids[:3], ids[3:]):
        await episode.take_turn([CallRequest(name="f", arguments="{}", id=i) for i in turn])

    used = [m.tool_call_id for m in episode.messages if isinstance(m, ToolMessage)]
    assert used == ["a", "call_0", "a_", "a__", "call_1", "call_1_"]


HALF = "a\ud800b"


@pytest.mark.parametrize(
    "turn",
    [
        {"calls": [CallRequest(name="f", arguments="{}")], "content": HALF},
        {"calls": [CallRequest(name="f", arguments="{}")], "reasoning": HALF},
        {"calls": [CallRequest(name=HALF, arguments="{}")]},
        {"calls": [CallRequest(name="f", arguments=HALF)]},
        {"calls": [CallRequest(name="f", arguments="{}", id=HALF)]},
    ],
)
async def test_half_a_surrogate_pair_is_the_agent_s_fault_and_leaves_nothing(turn: Any) -> None:
    tools = InMemoryTools()
    episode = tools.open_episode()
    before = episode.messages

    with pytest.raises(AgentError, match=r"'a\\ud800b' has half a surrogate pair at character 1"):
        await episode.take_turn(**turn)
    with pytest.raises(AgentError, match="half a surrogate pair"):
        episode.answer(HALF)
    assert (episode.messages, tools.received) == (before, [])

    await episode.take_turn([CallRequest.of("f", {})])
    assert [c.seq for c in tools.received] == [0]


def failing(name: str, error: Exception) -> InMemoryTools:
    """Tools of which one raises."""

    async def fail(_: Mapping[str, JsonValue]) -> ToolResult:
        raise error

    return InMemoryTools({name: fail})


async def test_a_refused_call_is_an_answer_to_the_agent() -> None:
    refusal = CallRefusedError(-32602, "Unknown tool: fly. The tools are: weather")
    episode = failing("fly", refusal).open_episode(CITY)

    (answer,) = await episode.take_turn([CallRequest.of("fly", {})])

    assert answer.text == "Unknown tool: fly. The tools are: weather"
    assert episode.notes[0].is_error


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("weather", CallRefusedError(-32602, "seq 0 was already used; the next one is 1")),
        ("fly", CallRefusedError(-32603, "seq 0 was already used; the next one is 1")),
        ("f", TransportError("no answer")),
    ],
)
async def test_a_failure_that_is_no_fault_of_the_agent_leaves_its_turn_unanswered(
    name: str, error: Exception
) -> None:
    episode = failing(name, error).open_episode(CITY)

    with pytest.raises(type(error)) as raised:
        await episode.take_turn([CallRequest.of(name, {})])
    assert raised.value is error
    assert isinstance(episode.messages[-1], AssistantMessage)
    assert episode.notes == ()


async def test_an_episode_that_ended_stops_the_agent_with_its_turn_answered() -> None:
    episode = failing("f", EpisodeEndedError("this episode is expired")).open_episode(CITY)

    with pytest.raises(EpisodeEndedError, match="expired"):
        await episode.take_turn([CallRequest.of("f", {}), CallRequest.of("weather", {"city": "R"})])
    texts = [m.content for m in episode.messages if isinstance(m, ToolMessage)]
    assert texts == ["this episode is expired", '{"city": "R"}']


def test_blocks_that_are_no_text_are_named() -> None:
    text: ContentBlock = {"type": "text", "text": "A map:"}
    image: ContentBlock = {"type": "image", "data": "aa"}

    assert result_text(ToolResult(content=(text, image))) == "A map:\n[image]"
    assert result_text(ToolResult(content=(), structured={"a": 1})) == '{"a":1}'
