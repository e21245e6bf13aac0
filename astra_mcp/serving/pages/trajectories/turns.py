"""A trajectory as it is laid out: messages and turns of the agent in their order, each call with its result.

Where the messages of an episode are known, what the record says of a call stands with it; where they are not,
the record alone makes a trajectory of the prompt and the calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from astra_mcp.call_record import CallRecord
from astra_mcp.serving.pages.episodes import CallView, IndexEntry, call_view, call_views
from astra_mcp.serving.pages.rendering import CutText, cut_text, pretty_json
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    Message,
    ToolCall,
    ToolMessage,
    Trajectory,
)
from astra_mcp.types import ToolResult
from gateway.episodes.record import Record

__all__ = ["Turn", "index_of_turns", "turns_of_record", "turns_of_trajectory"]

_LONG = 600
"""Characters; a longer text of the system or the user is folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCall:
    """A call in a turn."""

    view: CallView
    raw: str
    """Where all of it is handed over, below the address of the episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message of the system or the user, or a turn of the agent."""

    who: str
    raw: str | None = None
    """Where the message is handed over, whole, below the address of the episode."""
    text: CutText | None = None
    thought: CutText | None = None
    calls: Sequence[TurnCall] = ()
    is_folded: bool = False


def index_of_turns(turns: Sequence[Turn], begin: int) -> Sequence[IndexEntry]:
    """Name each turn of a page by what it calls, with what failed and what was solved.

    Args:
        turns: Of the page.
        begin: How many come before them.
    """
    return [_entry(number, turn) for number, turn in enumerate(turns, start=begin + 1)]


def _entry(number: int, turn: Turn) -> IndexEntry:
    views = [call.view for call in turn.calls]
    names = dict.fromkeys(view.call.shown for view in views)
    return IndexEntry(
        number=number,
        words=cut_text(", ".join(names) or turn.who, 60).shown,
        is_error=any(view.is_error for view in views),
        solved=sorted({solved for view in views for solved in view.call.solved}),
    )


def turns_of_record(record: Record, begin: int, end: int) -> tuple[list[Turn], int]:
    """Lay out what a record knows: what was asked, and a turn for each call.

    Args:
        record: Of the episode.
        begin: The first turn that is wanted, from 0.
        end: The first one behind those.

    Returns:
        The turns, and how many there are in all.
    """
    prompt = record.opened.prompt
    first = [_spoken("user", prompt, "/record")] if prompt else []
    num_first = len(first)
    views = call_views(record.calls[max(0, begin - num_first) : max(0, end - num_first)])
    turns = [
        Turn(who="agent", calls=(TurnCall(view=view, raw=f"/calls/{view.call.n}"),))
        for view in views
    ]
    return [*first[begin:end], *turns], num_first + len(record.calls)


def turns_of_trajectory(
    trajectory: Trajectory, record: Record, begin: int, end: int
) -> tuple[list[Turn], int]:
    """Lay out the messages, and beside each call what the record says of it.

    Args:
        trajectory: What the agent saw and did.
        record: Of its episode; calls that it does not hold are shown by the trajectory's notes.
        begin: The first turn that is wanted, from 0.
        end: The first one behind those.

    Returns:
        The turns, and how many there are in all.
    """
    messages = [
        (place, message)
        for place, message in enumerate(trajectory.messages)
        if not isinstance(message, ToolMessage)
    ]
    wanted = messages[begin:end]
    calls = dict(_calls_of(wanted, trajectory, record))
    turns = [_turn(message, f"/messages/{place}", calls) for place, message in wanted]
    return turns, len(messages)


def _turn(message: Message, raw: str, calls: Mapping[str, TurnCall]) -> Turn:
    if not isinstance(message, AssistantMessage):
        return _spoken(message.role, message.content, raw)
    thought, text = message.reasoning_content, message.content
    return Turn(
        who="agent",
        raw=raw,
        thought=cut_text(thought) if thought else None,
        text=cut_text(text) if text else None,
        calls=[calls[call.id] for call in message.tool_calls],
    )


def _spoken(who: str, text: str | None, raw: str) -> Turn:
    shown = cut_text(text or "")
    is_long = len(shown.shown) > _LONG
    return Turn(who=who, raw=raw, text=shown, is_folded=who == "system" or is_long)


def _calls_of(
    messages: Sequence[tuple[int, Message]], trajectory: Trajectory, record: Record
) -> Iterator[tuple[str, TurnCall]]:
    """Give each call of these messages by its id, with its result where there is one."""
    results = {
        message.tool_call_id: (place, message.content)
        for place, message in enumerate(trajectory.messages)
        if isinstance(message, ToolMessage)
    }
    notes = {note.tool_call_id: note for note in trajectory.calls}
    recorded = {call.seq: call for call in record.calls if call.seq is not None}
    asked = (
        (place, call)
        for place, message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    )
    for place, call in asked:
        known = _known(call, notes.get(call.id), results, recorded)
        answered_at, text = results.get(call.id, (place, None))
        view = call_view(known, _written(call.function.arguments), text)
        raw = f"/calls/{known.n}" if known.n >= 0 else f"/messages/{answered_at}"
        yield call.id, TurnCall(view=view, raw=raw)


def _known(
    call: ToolCall,
    note: CallNote | None,
    results: Mapping[str, tuple[int, str]],
    recorded: Mapping[int, CallRecord],
) -> CallRecord:
    """Find what the record says of a call, or put together what the trajectory does; then its place is -1."""
    found = None if note is None or note.seq is None else recorded.get(note.seq)
    if found is not None and found.shown == call.function.name:
        return found
    answered = results.get(call.id)
    is_error = note is not None and note.is_error
    result = None if answered is None else ToolResult.from_text(answered[1], is_error=is_error)
    facts = {} if note is None else note.model_dump(exclude={"tool_call_id", "seq", "is_error"})
    told = {name: value for name, value in facts.items() if value is not None}
    return CallRecord(
        n=-1,
        call_id=call.id,
        seq=None,
        shown=call.function.name,
        arguments={},
        result=result,
        **told,
    )


def _written(arguments: str) -> str:
    """Arguments as the agent wrote them, laid out where they are JSON."""
    try:
        return pretty_json(parse_strict(arguments))
    except (ValueError, RecursionError):
        return arguments
