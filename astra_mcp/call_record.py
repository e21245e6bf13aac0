"""Calls as they are recorded, and the words of records: shared by record, control plane and trajectory.

Every word is defined once, here or in :mod:`astra_mcp.types`; a narrower type is a part of it that the type
checker knows. Knows values alone: neither files nor episodes.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple, NewType, cast

import orjson
from pydantic import BaseModel, Field

from astra_mcp.errors import RecordError
from astra_mcp.headroom import WRITING, require_memory
from astra_mcp.types import CallOutcome, EmulatorKind, JsonObject, Origin, ToolResult

__all__ = [
    "CallFacts",
    "CallRecord",
    "Encoded",
    "EndStatus",
    "EpisodeId",
    "EpisodeStatus",
    "FailureKind",
    "FinishedCall",
    "Step",
    "encode_result",
    "upgraded",
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
    """Reached its call limit, or its calls destroyed too much; has its reward."""
    FAILED = "failed"
    """A server, the sandbox or the gateway failed; has a failure and no reward."""


EndStatus = Literal[
    EpisodeStatus.CLOSED, EpisodeStatus.EXPIRED, EpisodeStatus.LIMIT, EpisodeStatus.FAILED
]
"""Where an episode stands that takes no more calls."""


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


class CallFacts(BaseModel, frozen=True, extra="forbid"):
    """What is said of a call wherever one is written down; None where it is not known (yet)."""

    server: str | None = None
    """None, like the next, also for a tool that the episode does not list."""
    tool: str | None = None
    """The tool's own name at its server; the agent may see another one."""
    origin: Origin | None = None
    solved: tuple[int, ...] | None = None
    """Ids of the sub-tasks that the call solved."""
    is_distractor: bool | None = None
    emulator: EmulatorKind | None = None
    """Who makes up the answers of its server; None for one that answers itself."""
    injected: FailureKind | None = None
    """How it failed on purpose; None where it did not."""


class CallRecord(CallFacts, frozen=True):
    """One recorded call, as the control plane shows it; without a result where it has not finished."""

    n: int
    """Place in the record, from 0."""
    call_id: str
    seq: int | None
    """Place among the numbered calls of the episode, from 0."""
    shown: str
    """The name that the agent used."""
    arguments: JsonObject
    is_distractor: bool = False
    result: ToolResult | None = None
    solved: tuple[int, ...] = ()
    latency_ms: float | None = None
    unmatched: str | None = None
    """Why no answer was looked for in the whole result, or in all arguments; None where it was."""
    told: tuple[int, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Ids of the sub-tasks whose answers the agent sent before any result showed them: nothing that follows
    solves them."""
    resent: int = Field(default=0, exclude_if=lambda resent: not resent)
    """How often it was sent again to a server that ended while it ran, and says that it may be."""
    is_over_limit: bool = Field(default=False, exclude=True)
    """True where the call limit was reached before; the call reaches no tool and does not count."""
    fault: str | None = Field(default=None, exclude=True)
    """Why the arguments, which then stand empty, reached no tool: they were no JSON object."""
    outcome: CallOutcome | None = Field(default=None, exclude=True)


class FinishedCall(CallRecord, frozen=True):
    """A recorded call with its result."""

    result: ToolResult = Field(default=...)
    origin: Origin = Field(default=...)
    outcome: CallOutcome = Field(default=..., exclude=True)
    latency_ms: float = Field(default=...)


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
        NoMemoryError: There is no room to write it.
    """
    require_memory(WRITING * sum(len(str(block.get("text", ""))) for block in result.content))
    try:
        structured = b"null" if result.structured is None else orjson.dumps(result.structured)
        return Encoded(result, orjson.dumps(result.content), structured)
    except TypeError as error:
        raise RecordError(f"the result cannot be written as JSON ({error})") from error


Step = Callable[[JsonObject], JsonObject]
"""Makes a document of one version one of the next."""


def upgraded(data: object, version: int, steps: Mapping[int, Step]) -> Any:
    """Take a document of an older ``schema_version`` for what it is in this one.

    Args:
        data: As it was read; what is no object, or names no version, stays as it is.
        version: This one.
        steps: By the version that each begins with.

    Raises:
        ValueError: The document is of a newer version.
    """
    if not isinstance(data, Mapping):
        return data
    fields = dict(cast("Mapping[str, Any]", data))
    found = fields.get("schema_version")
    if not isinstance(found, int):
        return fields
    if found > version:
        raise ValueError(f"schema_version {found} is newer than {version}: update astra-mcp")
    while found in steps and found < version:
        fields, found = steps[found](fields), found + 1
    return {**fields, "schema_version": found}
