"""Trajectories of every kind: agents, statuses, failures, sources and languages, with and without facts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from astra_mcp.call_record import EpisodeStatus, FailureKind
from astra_mcp.reward import Reward
from astra_mcp.trajectory import (
    AgentInfo,
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    RolloutBoundary,
    Seeds,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Trajectory,
    TrajectoryFailure,
    TrajectoryWriter,
    UserMessage,
    Versions,
)
from astra_mcp.types import JsonObject, Origin

from trajectories import a_trajectory

__all__ = ["NUM_PLAIN", "assorted", "write_trajectories"]

NUM_PLAIN = 3
"""How many of the first ones hold as little as there can be."""
_AGENTS = ("noop", "oracle", "probe", "random", "echo", "explore", "enumerate", "model")
_TEXTS = (
    "How many ships are in the harbour?",
    "潮水几点最高?",
    "كم سفينة في الميناء؟",
    "Сколько кораблей в гавани? 🚢",
    "2026-01-05",
    'Quotes " and \\ and\nlines\u2028and \x00 and </think>',
    "",
)
_SOURCES: Sequence[JsonObject] = (
    {"kind": "environment", "name": "harbour"},
    {"kind": "environment", "name": "tide-tables", "question": "q2"},
    {"kind": "servers", "names": ["time", "weather"], "prompt": "Is it dark?"},
    {"kind": "servers", "names": ["time"], "prompt": None},
)
_ARGUMENTS = (
    "{}",
    '{"ship": "Nautilus"}',
    '{"ship": {"id": 7, "tags": ["a", null]}}',
    '{"depth": 12.5, "ship": null}',
    "not JSON",
    '["a list"]',
)
_SCHEMAS: Sequence[JsonObject] = (
    {"type": "object", "properties": {}},
    {
        "type": "object",
        "properties": {"ship": {"type": ["string", "null"], "enum": ["a", None]}},
        "required": ["ship"],
    },
    {
        "type": "object",
        "properties": {"depth": {"type": "number", "default": 1, "minimum": 0.5}},
        "additionalProperties": False,
        "$defs": {"any": True},
    },
)
_ENDS = (
    (EpisodeStatus.CLOSED, StopReason.ANSWER),
    (EpisodeStatus.CLOSED, StopReason.LENGTH),
    (EpisodeStatus.LIMIT, StopReason.ENDED),
    (EpisodeStatus.EXPIRED, StopReason.TURNS),
    (EpisodeStatus.FAILED, StopReason.FAILURE),
)
_BOUNDARIES = (
    Origin.UPSTREAM,
    Origin.SANDBOX,
    Origin.GATEWAY,
    *RolloutBoundary,
)


def assorted(num: int) -> list[Trajectory]:
    """Give so many, of which the last has failed."""
    plain = [a_trajectory(messages=_chat(0, 0, EpisodeStatus.CLOSED)) for _ in range(NUM_PLAIN)]
    return [*plain, *islice(map(_trajectory, range(num)), num - NUM_PLAIN - 1), _trajectory(4)]


def write_trajectories(path: Path, trajectories: Sequence[Trajectory]) -> Path:
    """Write a file of trajectories."""
    with TrajectoryWriter(path) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)
    return path


def _trajectory(n: int) -> Trajectory:
    status, stop = _ENDS[n % len(_ENDS)]
    has_failed = status is EpisodeStatus.FAILED
    source = _SOURCES[n // 3 % len(_SOURCES)]
    messages = () if n % 35 == 34 else _chat(n, (n + n // 8) % 4, status)
    answered = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    agent = _AGENTS[n % len(_AGENTS)]
    is_scored = not has_failed and source["kind"] == "environment"
    boundary = _BOUNDARIES[n // len(_ENDS) % len(_BOUNDARIES)]
    return a_trajectory(
        episode_id=None if n % 35 == 34 else f"e{n}",
        created_at=datetime(2026, 1, 5, tzinfo=UTC) + timedelta(microseconds=n * (n % 3)),
        source=source,
        distractors={"mode": "banded", "k": n, "left_out": []} if n % 6 == 5 else None,
        failures={"rate": 0.3, "kinds": {"timeout": 1.0}} if n % 7 == 6 else None,
        agent=AgentInfo(name=agent, model="Qwen3-14B" if agent == "model" else None),
        seeds=Seeds(root=10**20 if n % 9 == 8 else 0, index=n, episode=2**63 - 1 - n),
        versions=Versions(astra_mcp="1", source="2026-01-05" if n % 2 else None),
        labels={f"label {n % 5}": _TEXTS[n % len(_TEXTS)]} if n % 3 else {},
        tools=tuple(map(_tool, range(n // 2 % 4))),
        tools_hash=None if has_failed else "ab" * 32,
        messages=messages,
        calls=tuple(_note(n, place, name) for place, name in enumerate(answered)),
        status=status,
        stop=stop,
        reward=Reward(reward=1 / (n + 1), recall=1.0, precision=0.1, solved=1, calls=n)
        if is_scored
        else None,
        failure=TrajectoryFailure(boundary=boundary, message=_TEXTS[n % len(_TEXTS)])
        if has_failed
        else None,
    )


def _tool(n: int) -> JsonObject:
    function: JsonObject = {"name": f"tool_{n}", "parameters": _SCHEMAS[n % len(_SCHEMAS)]}
    if n:
        function["description"] = _TEXTS[n % len(_TEXTS)]
    return {"type": "function", "function": function}


def _note(n: int, place: int, name: str) -> CallNote:
    facts: dict[str, Any] = {}
    if n % 2:
        injected = FailureKind.TIMEOUT if n % 3 == 0 else None
        facts = {
            "server": "harbour",
            "tool": "tool_1",
            "origin": Origin.INJECTED if injected else Origin.TOOL,
            "solved": (1,) if n % 4 == 1 else (),
            "is_distractor": False,
            "injected": injected,
        }
    return CallNote(tool_call_id=name, seq=place, is_error=n % 3 == 0, **facts)


def _chat(n: int, num_turns: int, status: EpisodeStatus) -> tuple[Message, ...]:
    """A chat with so many turns of calls; a failed one ends in calls that nobody answered."""
    words = cycle(_TEXTS[n % len(_TEXTS) :] + _TEXTS)
    messages: list[Message] = []
    if n % 5 == 3:
        messages.append(SystemMessage(content=next(words)))
    messages.append(UserMessage(content=next(words)))
    for turn in range(num_turns):
        calls = tuple(_call(n, turn, place) for place in range(1 + n % 3))
        thought = next(words) or None if n % 8 == 7 else None
        content = None if n % 2 else next(words)
        messages.append(
            AssistantMessage(content=content, reasoning_content=thought, tool_calls=calls)
        )
        if status is EpisodeStatus.FAILED and turn == num_turns - 1:
            return tuple(messages)
        messages += [ToolMessage(tool_call_id=c.id, content=next(words)) for c in calls]
    messages.append(AssistantMessage(content=None if n % 11 == 10 else next(words)))
    return tuple(messages)


def _call(n: int, turn: int, place: int) -> ToolCall:
    arguments = _ARGUMENTS[(n + turn + place) % len(_ARGUMENTS)]
    function = FunctionCall(name=f"tool_{place}", arguments=arguments)
    return ToolCall(id=f"call-{n}-{turn}-{place}", function=function)
