"""A scripted agent model that takes its time: so many turns as the task says, each with one or two calls."""

import os
import re
from collections.abc import Sequence
from typing import Any, cast

import anyio

from astra_mcp.completions import Answer, AnswerCall, CompletionRequest
from astra_mcp.types import JsonObject

__all__ = ["LATENCY", "answer", "answer_in_time", "query", "turns_of"]

LATENCY = "TRAJECTORY_LATENCY"
"""Variable with the seconds that an answer takes."""
_TURNS = re.compile(r"in (\d+) steps")


def query(number: int, turns: int) -> str:
    """What the user of a task asks."""
    return f"Find a berth for ship {number} and book it, in {turns} steps."


def turns_of(text: str) -> int:
    """How many answers of the model a task takes, its last words among them."""
    found = _TURNS.search(text)
    if found is None:
        raise ValueError(f"no number of steps is said: {text!r}")
    return int(found[1])


async def answer_in_time(request: CompletionRequest) -> Answer:
    """Answer like a model that thinks."""
    await anyio.sleep(float(os.environ[LATENCY]))
    return answer(request.messages, cast("list[JsonObject]", request.body.get("tools") or []))


def answer(messages: Sequence[JsonObject], tools: Sequence[JsonObject]) -> Answer:
    """Make the calls of the next turn, or say that all is done."""
    asked = next(str(m["content"]) for m in messages if m["role"] == "user")
    turn = sum(m["role"] == "assistant" for m in messages)
    if turn + 1 >= turns_of(asked):
        return Answer(content="It is booked.")
    chosen = [cast("Any", tools[(turn + n) % len(tools)])["function"] for n in range(1 + turn % 2)]
    calls = tuple(
        AnswerCall(
            name=tool["name"],
            arguments={name: f"{name} {turn}" for name in tool["parameters"].get("required", [])},
        )
        for tool in chosen
    )
    return Answer(content=f"Step {turn + 1}.", calls=calls)
