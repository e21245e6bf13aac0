"""Value types that cross every boundary: tools, calls, results and failures.

Knows JSON and nothing else: no protocol, no server, no episode. Imported by everything above it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from math import isfinite
from typing import Annotated, Any, Final, Literal, Self, TypeGuard, cast, get_args

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, SkipValidation

from astra_mcp.text.plain import one_line

__all__ = [
    "CallOutcome",
    "ContentBlock",
    "EmulatorKind",
    "Failure",
    "FailureOrigin",
    "FrozenModel",
    "JobItem",
    "JsonObject",
    "JsonValue",
    "Origin",
    "PastCall",
    "ServerKind",
    "ServerStatus",
    "ToolResult",
    "ToolSpec",
    "UpstreamReply",
    "canonical_json",
    "is_failure",
    "json_fault",
    "tools_hash",
]


class FrozenModel(BaseModel):
    """A value that never changes and has no members but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


JsonObject = dict[str, JsonValue]
"""A JSON object; the contents are whatever the tool or schema says."""

ContentBlock = dict[str, JsonValue]
"""One MCP content block as it stands on the wire, such as ``{"type": "text", "text": ...}``."""


def canonical_json(value: object) -> bytes:
    """Encode as JSON with sorted keys and no white space: equal values, equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


_MAX_DEPTH = 100
_INTEGERS = range(-(2**63), 2**64)


def json_fault(value: object) -> str | None:
    """Say why a value cannot be written as JSON and read back by any program; None where it can.

    Numbers must be finite and integers within 64 bits, texts without lone surrogates, nesting at most
    100 levels deep.
    """
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > _MAX_DEPTH:
            return f"the arguments are nested more than {_MAX_DEPTH} levels deep"
        fault = _scalar_fault(item)
        if fault is not None:
            return fault
        if isinstance(item, Mapping):
            members = cast("Mapping[object, object]", item)
            pending += [(part, depth + 1) for pair in members.items() for part in pair]
        elif isinstance(item, list | tuple):
            pending += [(part, depth + 1) for part in cast("Sequence[object]", item)]
    return None


def _scalar_fault(item: object) -> str | None:
    match item:
        case bool() | None:
            return None
        case int() if item not in _INTEGERS:
            return "the arguments hold an integer that does not fit into 64 bits"
        case float() if not isfinite(item):
            return "the arguments hold NaN or Infinity, which JSON does not have"
        case str() if not _is_text(item):
            return "the arguments hold a text with half a character (a lone surrogate)"
        case _:
            return None


def _is_text(item: str) -> bool:
    try:
        item.encode()
    except UnicodeEncodeError:
        return False
    return True


class ServerKind(StrEnum):
    """What stands behind a server's tools."""

    ENVIRONMENT = "environment"
    """A bundle whose tool code runs in the sandbox."""
    EMULATOR = "emulator"
    """Documents only; the answers are emulated."""
    DEPLOYED = "deployed"
    """A real server in another process or on another host."""


class EmulatorKind(StrEnum):
    """Who makes up the answers of a server of which there are documents only."""

    OFFLINE = "offline"
    """A generator that follows the schemas; needs no model."""
    MODEL = "model"
    """The model of the role ``emulator``."""


class ServerStatus(StrEnum):
    """What is known of a server."""

    READY = "ready"
    """Its tools are known, and its last session was well."""
    UNKNOWN = "unknown"
    """Nobody has used it yet."""
    FAILED = "failed"
    """It could not be started or reached the last time."""


class Origin(StrEnum):
    """Who is the author of a result (and so whether it counts)."""

    TOOL = "tool"
    """The tool itself, its argument check included."""
    INJECTED = "injected"
    """A failure that the gateway injected on purpose."""
    LIMIT = "limit"
    """A limit of the episode, or of what a session's calls may destroy; ends it with its reward."""
    UPSTREAM = "upstream"
    """The server behind the gateway failed."""
    SANDBOX = "sandbox"
    """The sandbox failed, not the code in it."""
    GATEWAY = "gateway"
    """The gateway failed."""


FailureOrigin = Literal[Origin.UPSTREAM, Origin.SANDBOX, Origin.GATEWAY]
"""Where something failed that says nothing about the agent."""
_FAILURES: Final = frozenset(get_args(FailureOrigin))


def is_failure(origin: Origin) -> TypeGuard[FailureOrigin]:
    """True where a result says nothing about the agent, so that no score may follow."""
    return origin in _FAILURES


class CallOutcome(StrEnum):
    """What a call did to the state of its session; decides whether a replay repeats it."""

    APPLIED = "applied"
    """The tool ran to its end; a replay repeats it."""
    REJECTED = "rejected"
    """Never reached the tool (bad arguments, unknown tool, injected); a replay skips it."""
    KILLED = "killed"
    """Destroyed its sandbox; the state is rebuilt without it."""


class Failure(FrozenModel):
    """A failure as data: which boundary, and what happened there."""

    boundary: FailureOrigin
    message: Annotated[str, AfterValidator(one_line)]
    """In one line; what a server said in it steers neither terminals nor logs."""


class ToolSpec(FrozenModel):
    """A tool as an agent sees it; compatible with OpenAI function calling."""

    name: str = Field(min_length=1, max_length=128)
    description: str = ""
    input_schema: dict[str, Any]
    """JSON Schema 2020-12 of the arguments; its root is an object."""
    output_schema: dict[str, Any] | None = None
    extra: dict[str, Any] = Field(
        default_factory=dict[str, Any], exclude_if=lambda extra: not extra
    )
    """Further members of the MCP document (``title``, ``annotations``, ``icons``, ``_meta``), as listed."""

    def as_openai(self) -> JsonObject:
        """Render the OpenAI ``{"type": "function", ...}`` document."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.input_schema,
            },
        }

    def renamed(self, name: str) -> Self:
        """Copy under another shown name."""
        return self if name == self.name else self.model_copy(update={"name": name})


_Object = dict[str, SkipValidation[JsonValue]]
"""Of a result. To look at each value inside takes longer than a call; what is no JSON is not recorded."""


class ToolResult(FrozenModel):
    """What a tool call returned, in MCP's terms."""

    content: tuple[_Object, ...]
    structured: SkipValidation[JsonValue] = None
    is_error: bool = False
    meta: _Object | None = Field(default=None, exclude_if=lambda meta: meta is None)
    """``_meta`` of the result, as a relayed server gave it."""
    asks: _Object | None = Field(default=None, exclude_if=lambda asks: asks is None)
    """What a relayed server needs before it goes on (MCP 2026-07-28 ``InputRequiredResult``:
    ``inputRequests``, ``requestState``); the content is empty then."""
    refusal: _Object | None = Field(default=None, exclude_if=lambda refusal: refusal is None)
    """The JSON-RPC error (``code``, ``message``, ``data``) with which a relayed server answered; the
    content says its message then."""

    @classmethod
    def from_text(cls, text: str, *, is_error: bool = False) -> Self:
        """Wrap one text block."""
        return cls(content=({"type": "text", "text": text},), is_error=is_error)

    @classmethod
    def from_value(cls, value: JsonValue, *, structured: bool = False) -> Self:
        """Render a JSON value as text; strings stay as they are.

        The text has a space after each comma, so that no list of numbers reads as one number.

        Args:
            value: What the tool returned.
            structured: Also carry the value itself, where it is an object.
        """
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        carried = value if structured and isinstance(value, dict) else None
        return cls(content=({"type": "text", "text": text},), structured=carried)

    @property
    def text(self) -> str:
        """All text blocks, joined by line breaks."""
        return "\n".join(str(b.get("text", "")) for b in self.content if b.get("type") == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamReply:
    """A result with its author and what the call did to the session's state."""

    result: ToolResult
    origin: Origin
    outcome: CallOutcome
    cause: str = ""
    """Why a failure came about, for those who read the record; never shown to the agent."""
    resent: int = 0
    """How often the call was sent again to a server whose process ended while it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """A call of an earlier life of the session, for its rebuilding by replay."""

    tool: str
    arguments: Mapping[str, JsonValue]
    outcome: CallOutcome
    result: ToolResult | None = None
    """What was answered: part of the state of some servers, and what a replay has to answer again."""
    is_cut: bool = False
    """Whether the result only says that the server's answer was too large."""


def tools_hash(tools: Sequence[ToolSpec] | Sequence[Mapping[str, Any]]) -> str:
    """Hash an ordered tool list: 64 hex digits of SHA-256 over its canonical JSON."""
    found = sha256(b"[")
    for n, tool in enumerate(
        tools
    ):  # one after the other: thousands at once are much to look through
        row = tool.model_dump() if isinstance(tool, ToolSpec) else dict(tool)
        found.update(b"," * (n > 0) + canonical_json(row))
    found.update(b"]")
    return found.hexdigest()


class JobItem(FrozenModel):
    """One sub-task that an episode is scored on. Source: ASTRA sec. 3.2.2, eq. (29)."""

    id: int
    answer: str
    tools: tuple[str, ...]
    """Names of the gold tools: a matching result of any of them solves the sub-task."""
    modifying: dict[str, tuple[str, ...]] = Field(
        default_factory=dict[str, tuple[str, ...]], exclude_if=lambda names: not names
    )
    """By gold tool, the arguments that all its gold calls mark as shaping the result: to choose one of
    their values tells no answer (``outer.inner`` names a member of an object)."""
