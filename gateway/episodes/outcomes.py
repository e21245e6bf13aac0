"""What an episode makes of a server's reply: a result within its limit, or a failure in words.

Knows results and failures; knows neither records nor the order of calls.
"""

from collections.abc import Iterable
from typing import NamedTuple

import orjson

from astra_mcp.errors import EpisodeEndedError, RecordError
from astra_mcp.types import CallOutcome, Failure, Origin, ToolResult, UpstreamReply
from gateway.api.protocol import EpisodeStatus
from gateway.episodes.record import Encoded, EpisodeEnded, encode_result

__all__ = [
    "Settled",
    "limit_text",
    "refusal_of",
    "rejected",
    "settle",
    "settle_failure",
    "unknown_delivery",
    "unknown_text",
    "unrecorded",
    "within_limit",
    "words_of_the_end",
]

_UNREACHED = "The tool could not be reached."
_THE_END = "This run has ended; further calls are not possible."


class Settled(NamedTuple):
    """What is recorded and answered."""

    answer: Encoded
    origin: Origin
    outcome: CallOutcome
    failure: Failure | None
    """Where it is set, the episode ends with it."""


def settle(reply: UpstreamReply, *, limit_bytes: int, goes_on: bool) -> Settled:
    """Bound a server's reply, and tell a failure from a result; a server may report one in its words.

    Args:
        reply: From the server.
        limit_bytes: Size of the content as JSON.
        goes_on: True where another state follows a failed one, so that an agent need not give up.
    """
    if reply.origin.is_failure:
        shown = reply.result.text
        failure = Failure(boundary=reply.origin, message=reply.cause or shown or _UNREACHED)
        return settle_failure(failure, shown=shown, goes_on=goes_on, outcome=reply.outcome)
    try:
        answer = encode_result(reply.result)
    except RecordError as error:
        failure = Failure(boundary=Origin.UPSTREAM, message=str(error))
        return settle_failure(failure, goes_on=goes_on, outcome=reply.outcome)
    if answer.size > limit_bytes:
        answer = encode_result(_too_large(answer.size, limit_bytes))
    return Settled(answer, reply.origin, reply.outcome, None)


def settle_failure(
    failure: Failure,
    *,
    goes_on: bool,
    shown: str = "",
    outcome: CallOutcome = CallOutcome.REJECTED,
) -> Settled:
    """Make a result of a failure.

    Args:
        failure: What is recorded.
        goes_on: As in :func:`settle`.
        shown: What the agent may read of it; by default its message, where a server failed.
        outcome: What the call did to the state.
    """
    words = words_of_the_end(failure, goes_on=goes_on, shown=shown)
    result = encode_result(ToolResult.from_text(words, is_error=True))
    return Settled(result, failure.boundary, outcome, failure)


def words_of_the_end(failure: Failure, *, goes_on: bool, shown: str = "") -> str:
    """Say to an agent what became of its call; never empty.

    The message of a failed sandbox or gateway is for those who run it, and stays in the record.
    """
    words = shown or (failure.message if failure.boundary is Origin.UPSTREAM else "") or _UNREACHED
    if goes_on:
        return words
    return f"{words}{'' if words.endswith(('.', '!', '?')) else '.'} {_THE_END}"


def refusal_of(ended: EpisodeEnded, *, goes_on: bool, limit: int | None) -> Encoded:
    """Answer a call in the place of its server, where the episode has ended.

    Args:
        ended: How it did.
        goes_on: As in :func:`settle`.
        limit: Of the episode's calls.

    Raises:
        EpisodeEndedError: It was closed or has expired.
    """
    match ended.status:
        case EpisodeStatus.FAILED if goes_on and ended.failure is not None:
            text = words_of_the_end(ended.failure, goes_on=True)
        case EpisodeStatus.FAILED:
            text = f"{_UNREACHED} {_THE_END}"
        case EpisodeStatus.LIMIT:
            text = limit_text(limit)
        case status:
            msg = (
                f"this episode is {status.value}: create a new one; its record and reward can "
                "still be read"
            )
            raise EpisodeEndedError(msg)
    return encode_result(ToolResult.from_text(text, is_error=True))


def limit_text(limit: int | None) -> str:
    """Say that no call is left."""
    return f"The limit of {limit} tool calls is reached. This run has ended; give the final answer."


def unknown_text(shown: str, names: Iterable[str]) -> str:
    """Say that a tool is not listed, and which ones are."""
    return f"Unknown tool: {shown[:128]}. The tools are: {', '.join(names) or 'none'}"


def unrecorded() -> Encoded:
    """Answer a call that could not be recorded: of what it did, nothing may be told."""
    text = f"{_UNREACHED} {_THE_END}"
    return encode_result(ToolResult.from_text(text, is_error=True))


def unknown_delivery(server: str) -> Failure:
    """Tell of a call that a deployed server was sent in an earlier life of the gateway."""
    message = (
        f"delivery unknown: the gateway ended while {server} ran this call, which may or may not have "
        "taken effect; it is not sent again"
    )
    return Failure(boundary=Origin.UPSTREAM, message=message)


def rejected(text: str, origin: Origin = Origin.TOOL) -> UpstreamReply:
    """Answer a call that reaches no server."""
    result = ToolResult.from_text(text, is_error=True)
    return UpstreamReply(result=result, origin=origin, outcome=CallOutcome.REJECTED)


def within_limit(result: ToolResult, limit_bytes: int) -> ToolResult:
    """Answer the result, or an error that says how large it is where it exceeds the limit."""
    size = len(orjson.dumps([result.content, result.structured]))
    return result if size <= limit_bytes else _too_large(size, limit_bytes)


def _too_large(size: int, limit_bytes: int) -> ToolResult:
    text = f"The result has {size} bytes; at most {limit_bytes} are allowed. Ask for less at once."
    return ToolResult.from_text(text, is_error=True)
