"""A hacker without a model: it knows eleven exploits, and sees nothing but tools' documents and results.

Satisfies :class:`~astra_mcp.synthesis.environments.building.attacking.Hacker`. Each turn takes the next
exploit that has a call left which was not made yet and which the tool's schema takes; each further
conversation with the same tools begins with another exploit.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from astra_mcp.llm.chat import ChatReply, RequestedCall
from astra_mcp.types import JsonObject, canonical_json

from exploits import EXPLOITS, Exploit, Known, Played

__all__ = ["ScriptedHacker"]

_MAX_TRIED = 400
"""Calls of one exploit that are looked at before it is held to have none left."""


class ScriptedHacker:
    """Plays exploits, by turns."""

    def __init__(self, exploits: Sequence[Exploit] = EXPLOITS) -> None:
        """Know some exploits; all, where none are named."""
        self._exploits = tuple(exploits)
        self._begun = Counter[bytes]()
        self.last_exploit = ""
        """Name of the one that made the last call."""

    async def complete(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject], *, sample: int = 0
    ) -> ChatReply:
        """Ask for the next call; none where no exploit has one left.

        It counts conversations itself, whatever their number: ``sample`` changes nothing.
        """
        functions: list[Any] = [tool["function"] for tool in tools]
        key = canonical_json(functions)
        played = _played(messages)
        if not played:
            self._begun[key] += 1
        first = (self._begun[key] - 1) % len(self._exploits)
        known = Known(functions, played)
        call = self._next(known, first + len(played))
        if call is None:
            return ChatReply(content="No idea left.", finish_reason="stop")
        self.last_exploit, name, text = call
        asked = RequestedCall(id=f"call-{len(played)}", name=name, arguments=text)
        return ChatReply(content=None, calls=(asked,), finish_reason="tool_calls")

    def _next(self, known: Known, turn: int) -> tuple[str, str, str] | None:
        done = Counter((p.tool, p.text) for p in known.played)
        for number in range(len(self._exploits)):
            exploit = self._exploits[(turn + number) % len(self._exploits)]
            for tool, arguments in islice(exploit.calls(known), _MAX_TRIED):
                call = (tool, json.dumps(arguments, ensure_ascii=False))
                if done[call] < exploit.times and not known.schemas[tool].faults(arguments):
                    return exploit.name, *call
        return None


def _played(messages: Sequence[JsonObject]) -> list[Played]:
    """The calls of a conversation, each with its result."""
    return [*_pairs(messages)]


def _pairs(messages: Sequence[Any]) -> Iterator[Played]:
    results = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield Played(function["name"], function["arguments"], str(results.get(call["id"], "")))
