"""The live episode: runs an agent's calls over MCP and keeps the conversation.

Calls of one turn run at the same time and carry their place (``seq``), so the gateway takes them in one
order whatever the network does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol, cast

import orjson

from astra_mcp.call_record import CallFacts, CallRecord
from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import EpisodeEndedError
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from astra_mcp.types import JsonObject, JsonValue, ToolResult, ToolSpec, json_fault
from gateway.api.client import CallRefusedError
from training.rollout.agent import Answered, CallRequest

__all__ = ["MAX_ARGUMENT_BYTES", "MAX_NAME_LENGTH", "LiveEpisode", "ToolCaller", "result_text"]

MAX_ARGUMENT_BYTES = 1 << 20
"""Larger arguments are not sent: the gateway would refuse them unread, and lose their place."""
MAX_NAME_LENGTH = 256
"""Characters of a tool's name that are sent, as many as the gateway records; names travel in a header."""
MAX_PARALLEL_CALLS = 16
"""Calls of one turn that are under way at once; the others of the turn wait."""
_INVALID_PARAMS = -32602


class ToolCaller(Protocol):
    """Calls a tool of the episode; ``gateway.api.client.EpisodeClient`` is one."""

    async def call(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
    ) -> ToolResult:
        """Call a tool; with a ``fault`` of the arguments, have it counted and answered by that text."""
        ...


class LiveEpisode:
    """An :class:`~training.rollout.agent.EpisodeView` over a tool caller."""

    def __init__(
        self,
        *,
        environment: str | None,
        question: str | None = None,
        seed: int,
        prompt: str | None,
        tools: tuple[ToolSpec, ...],
        caller: ToolCaller,
        system_prompt: str | None = None,
    ) -> None:
        self.environment = environment
        self.question = question
        self.seed = seed
        self.tools = tools
        self._listed = frozenset(tool.name for tool in tools)
        self._caller = caller
        self._messages: list[Message] = []
        if system_prompt:
            self._messages.append(SystemMessage(content=system_prompt))
        if prompt:
            self._messages.append(UserMessage(content=prompt))
        self._notes: list[CallNote] = []
        self._used_ids: set[str] = set()
        self._call_numbers = count()
        self._seqs = count()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return tuple(self._messages)

    @property
    def notes(self) -> tuple[CallNote, ...]:
        """What is known of each answered call."""
        return tuple(self._notes)

    def annotate(self, calls: Iterable[CallRecord]) -> None:
        """Add what the episode's record says of the calls, once it has been read."""
        recorded = {call.seq: call for call in calls if call.seq is not None}
        self._notes = [
            note.model_copy(update={name: getattr(call, name) for name in CallFacts.model_fields})
            if note.seq is not None and (call := recorded.get(note.seq))
            else note
            for note in self._notes
        ]

    def answer(self, content: str | None, *, reasoning: str | None = None) -> None:
        """End with words and no call."""
        self._messages.append(AssistantMessage(content=content, reasoning_content=reasoning))

    async def take_turn(
        self,
        calls: Sequence[CallRequest],
        *,
        content: str | None = None,
        reasoning: str | None = None,
    ) -> tuple[Answered, ...]:
        """Make the calls of one turn at once; they take effect in the order given.

        Raises:
            EpisodeEndedError: The episode takes no more calls; the turn is on the record.
            TransportError: The gateway cannot be reached or refuses a call for no fault of the agent; the
                turn stays unanswered.
        """
        prepared = [self._prepare(call) for call in calls]
        self._messages.append(
            AssistantMessage(
                content=content,
                reasoning_content=reasoning,
                tool_calls=tuple(call.message for call in prepared),
            )
        )
        outcomes = await map_concurrently(self._run, prepared, limit=MAX_PARALLEL_CALLS)
        for call, outcome in zip(prepared, outcomes, strict=True):
            name, result = call.message.id, outcome.result
            is_error = result is None or result.is_error
            self._messages.append(ToolMessage(tool_call_id=name, content=outcome.text))
            self._notes.append(CallNote(tool_call_id=name, seq=call.seq, is_error=is_error))
        ended = next((o.ended for o in outcomes if o.ended is not None), None)
        if ended is not None:
            raise ended
        return tuple(Answered(text=o.text, result=o.result) for o in outcomes)

    def _prepare(self, call: CallRequest) -> "_Prepared":
        parsed = _parse_arguments(call.arguments)
        is_fault = isinstance(parsed, str)
        function = FunctionCall(name=call.name, arguments=call.arguments)
        return _Prepared(
            message=ToolCall(id=self._name_call(call), function=function),
            arguments={} if is_fault else parsed,
            fault=parsed if is_fault else None,
            # What is malformed takes its place like any other call: it counts, too.
            seq=next(self._seqs),
        )

    async def _run(self, call: "_Prepared") -> "_Outcome":
        name = call.message.function.name[:MAX_NAME_LENGTH]
        try:
            result = await self._caller.call(
                name, call.arguments, call_id=f"call_{call.seq}", seq=call.seq, fault=call.fault
            )
        except CallRefusedError as error:
            # A listed tool is refused for the call's id or place alone: no mistake of the agent.
            if error.code != _INVALID_PARAMS or name in self._listed:
                raise
            return _Outcome(text=error.message)
        except EpisodeEndedError as error:
            return _Outcome(text=str(error), ended=error)
        return _Outcome(text=result_text(result), result=result)

    def _name_call(self, call: CallRequest) -> str:
        """Keep the agent's id, changed where it was used before, so that ids are unique."""
        name = call.id or f"call_{next(self._call_numbers)}"
        while name in self._used_ids:
            name += "_"
        self._used_ids.add(name)
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    message: ToolCall
    arguments: JsonObject
    fault: str | None
    """What is wrong with the arguments that the agent wrote; those above are then empty."""
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    text: str
    result: ToolResult | None = None
    ended: EpisodeEndedError | None = None


def _parse_arguments(text: str) -> JsonObject | str:
    """Parse a model's arguments, or say in words for the model what is wrong with them."""
    if len(text.encode()) > MAX_ARGUMENT_BYTES:
        return (
            f"The arguments are too large: at most {MAX_ARGUMENT_BYTES} bytes. No tool was called."
        )
    try:
        value = orjson.loads(text.strip() or "{}")
    except orjson.JSONDecodeError as error:
        return (
            f"The arguments are not valid JSON ({error}). No tool was called; send the call again."
        )
    if not isinstance(value, dict):
        return "The arguments must be a JSON object. No tool was called; send the call again."
    arguments = cast("JsonObject", value)
    fault = json_fault(arguments)
    return arguments if fault is None else f"No tool was called: {fault}."


def result_text(result: ToolResult) -> str:
    """Render a result for a chat message; blocks that are no text are named by their type."""
    parts = [
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type')}]"
        for block in result.content
    ]
    if not parts and result.structured is not None:
        return orjson.dumps(result.structured).decode()
    return "\n".join(parts)
