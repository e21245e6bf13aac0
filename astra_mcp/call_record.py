"""Calls as they are recorded, and the words of records: shared by record, control plane and trajectory.

Every word is defined once, here or in :mod:`astra_mcp.types`; a narrower type is a part of it that the type
checker knows. Knows values alone: neither files nor episodes.
"""

from enum import StrEnum
from typing import NamedTuple, NewType

import orjson

from astra_mcp.errors import RecordError
from astra_mcp.types import ToolResult

__all__ = [
    "Encoded",
    "EpisodeId",
    "EpisodeStatus",
    "FailureKind",
    "encode_result",
]

EpisodeId = NewType("EpisodeId", str)
"""Unguessable; whoever knows it may act in the episode. Logs show its first 6 characters."""


class EpisodeStatus(StrEnum):
    """Where an episode stands."""

    OPEN = "open"
    """Takes calls."""
    CLOSED = "closed"
    """Closed by its orchestrator; has its reward."""
    EXPIRED = "expired"
    """Idle or alive for too long; has its reward."""
    LIMIT = "limit"
    """Reached its call limit; has its reward."""
    FAILED = "failed"
    """A server, the sandbox or the gateway failed; has a failure and no reward."""


class FailureKind(StrEnum):
    """How an injected failure looks to the agent."""

    TIMEOUT = "timeout"
    """No answer came in time."""
    UNREACHABLE = "unreachable"
    """No connection came about, or it broke."""
    RATE_LIMITED = "rate_limited"
    """Too many requests: the service wants to be left alone for a while."""
    SERVER_ERROR = "server_error"
    """The service broke: an HTTP status of 500 and above."""


class Encoded(NamedTuple):
    """A result and its JSON, made once: the record and the answer both take the bytes."""

    result: ToolResult
    content: bytes
    """Its content blocks as a JSON array."""
    structured: bytes
    """Its structured value; ``null`` where there is none."""

    @property
    def size(self) -> int:
        """What a limit on results measures, in bytes."""
        return len(self.content) + len(self.structured) + _BRACKETS


_BRACKETS = len("[,]")


def encode_result(result: ToolResult) -> Encoded:
    """Write a result as JSON.

    Raises:
        RecordError: It holds what JSON cannot carry, such as an integer of more than 64 bits.
    """
    try:
        structured = b"null" if result.structured is None else orjson.dumps(result.structured)
        return Encoded(result, orjson.dumps(result.content), structured)
    except TypeError as error:
        msg = f"the result cannot be written as JSON ({error})"
        raise RecordError(msg) from error
