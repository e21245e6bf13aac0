"""The words of the control plane: what orchestrators ask for and are told, and what makes episodes harder.

Shared by the control plane, its client and the record. Words alone; knows neither episodes nor servers.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from math import isfinite
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from astra_mcp.call_record import CallRecord, EpisodeId, EpisodeStatus, FailureKind
from astra_mcp.reward import Reward
from astra_mcp.types import (
    EmulatorKind,
    Failure,
    FrozenModel,
    JsonObject,
    ServerKind,
    ServerStatus,
    ToolSpec,
    canonical_json,
)

__all__ = [
    "ALL_SERVERS",
    "CALL_ID_KEY",
    "FAULT_KEY",
    "NO_FAILURES",
    "SEQ_KEY",
    "USUAL_KINDS",
    "DistractorMix",
    "DistractorRequest",
    "EpisodeCreated",
    "EpisodeLimits",
    "EpisodeRecord",
    "EpisodeRequest",
    "EpisodeState",
    "FailingCalls",
    "FailureLaw",
    "FailureRequest",
    "LeftOutDistractor",
    "LoginLink",
    "LoginLinkRequest",
    "ServerInfo",
    "ShownTool",
    "SourceEnvironment",
    "SourceServers",
    "SourceTask",
    "WorkerInfo",
]

CALL_ID_KEY = "dev.astra-mcp/call-id"
"""``_meta`` of a call: its id; a retried id returns the recorded result."""
SEQ_KEY = "dev.astra-mcp/seq"
"""``_meta`` of a call: its place in the episode, from 0 without gaps."""
FAULT_KEY = "dev.astra-mcp/argument-fault"
"""``_meta`` of a call: why the model's arguments were no JSON object; it is recorded and counts."""
ALL_SERVERS = "*"
"""Endpoint of the interactive states that show every server's tools."""


class DistractorRequest(FrozenModel):
    """Which task-irrelevant tools to mix in."""

    mode: Literal["none", "random", "banded"]
    k: int = Field(default=3, ge=1)
    """So many from each band of likeness at most; not used at random, where it is 5 to 9 tools in all."""


class FailingCalls(StrEnum):
    """Which calls of an episode have a share in its failures."""

    ALL = "all"
    """Those of every tool alike, so that how a tool fails does not tell what it is."""
    EMULATED_CALLS = "emulated_calls"
    """Those of emulated servers alone. Source: ASTRA sec. 2.1.4."""


def _is_all(value: object) -> bool:
    return value == FailingCalls.ALL


class FailureRequest(FrozenModel):
    """Which failures to inject."""

    rate: float = Field(ge=0, le=1, allow_inf_nan=False)
    """The share of calls that fail, among those of the scope."""
    scope: FailingCalls = Field(default=FailingCalls.ALL, exclude_if=_is_all)
    """Which calls may fail; written out where it is not the usual one, which older gateways do not know."""
    kinds: dict[str, float] | None = None
    """Weight of each kind, of whatever sum; a kind that is not named never happens. None: the usual ones."""
    delay: bool = False
    """Let the time pass that such a failure takes."""

    @field_validator("kinds")
    @classmethod
    def _can_be_drawn(cls, kinds: dict[str, float] | None) -> dict[str, float] | None:
        if kinds is None:
            return None
        known = ", ".join(FailureKind)
        unknown = [kind for kind in kinds if kind not in list(FailureKind)]
        if unknown:
            raise ValueError(f"there is no kind {unknown[0][:40]!r}: the kinds are {known}")
        if any(weight < 0 for weight in kinds.values()) or not isfinite(sum(kinds.values())):
            raise ValueError("weights are finite numbers from 0")
        if sum(kinds.values()) <= 0:
            raise ValueError(f"the weights come to nothing: give one of {known} more than 0")
        return kinds


class FailureLaw(FrozenModel):
    """By which law the calls of an episode fail: the same for all tools of its scope."""

    rate: float
    """The share of calls that fail, among those of the scope."""
    scope: FailingCalls = FailingCalls.ALL
    """Which calls may fail; what does not say so was written before there was another scope."""
    kinds: Mapping[str, float]
    """The share that each kind has in the failures, 1 in sum; a kind that it does not name never happens, and
    one that only another version knows counts nothing."""
    delay: bool
    """True where a failure takes its time."""


USUAL_KINDS: Mapping[str, float] = {
    FailureKind.TIMEOUT: 0.4,
    FailureKind.UNREACHABLE: 0.3,
    FailureKind.RATE_LIMITED: 0.15,
    FailureKind.SERVER_ERROR: 0.15,
}
"""The paper names the first two, so that they are the most frequent ones."""
NO_FAILURES = FailureLaw(rate=0.0, kinds=USUAL_KINDS, delay=False)


class LeftOutDistractor(FrozenModel):
    """A distractor that was chosen and cannot be shown."""

    server: str
    tool: str
    """Its own name."""
    band: str | None
    reason: str


class DistractorMix(FrozenModel):
    """How an episode came to its distractors."""

    mode: Literal["random", "banded"]
    k: int
    """As asked for."""
    shortfall: dict[str, int]
    """How many fewer than wanted there are, by band (``random`` without bands); those left out included."""
    left_out: tuple[LeftOutDistractor, ...]


def _is_none(value: object) -> bool:
    return value is None


class SourceEnvironment(FrozenModel):
    """Run one environment."""

    kind: Literal["environment"]
    name: str
    question: str | None = Field(default=None, exclude_if=_is_none)
    """Id of one of its further questions; None is the main one."""


class SourceTask(FrozenModel):
    """Run one synthesized task."""

    kind: Literal["task"]
    id: str


class SourceServers(FrozenModel):
    """Open named servers without a job."""

    kind: Literal["servers"]
    names: Annotated[tuple[str, ...], Field(min_length=1)]
    prompt: str | None = None

    @field_validator("names")
    @classmethod
    def _are_different(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        if repeated:
            raise ValueError(f"name each server once: {', '.join(repeated)} stands here repeatedly")
        return names


_ARGUMENT_BYTES = 128 << 10
"""An eighth of a result. The longest answer that ASTRA lets a model write, of 49,152 tokens, is some 150 KiB
of text, of which a call's arguments are a part."""


def _is_usual(value: object) -> bool:
    return value == _ARGUMENT_BYTES


class EpisodeLimits(FrozenModel):
    """Bounds of one episode."""

    calls: int | None = Field(default=256, ge=1, le=100_000)
    """Tool calls of the agent; the call after the last one ends the episode with its reward. None: no
    limit."""
    argument_bytes: int = Field(default=_ARGUMENT_BYTES, ge=256, le=64 << 20, exclude_if=_is_usual)
    """Size of one call's arguments as JSON; larger ones reach no tool, and the result says so. Written out
    where it is not the usual one, which older gateways do not know."""
    result_bytes: int = Field(default=1 << 20, ge=256, le=64 << 20)
    """Size of one result's content as JSON; a larger one becomes an error that says so."""
    call_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Wall time of one call at its server; a longer one is a failure of the server."""
    idle_seconds: float = Field(default=1800.0, gt=0, le=7 * 86400)
    """An episode without a call for this long expires."""
    life_seconds: float = Field(default=86400.0, gt=0, le=30 * 86400)
    """An episode expires this long after its creation."""


_MAX_LABELS = 32
_MAX_LABEL_NAME = 128
_MAX_LABEL_TEXT = 4096
"""Characters; labels are repeated in each answer about the episode."""


class EpisodeRequest(FrozenModel):
    """Body of ``POST /v1/episodes``."""

    source: Annotated[SourceEnvironment | SourceTask | SourceServers, Field(discriminator="kind")]
    seed: int = Field(default=0, ge=0, lt=2**63)
    distractors: DistractorRequest | None = None
    failures: FailureRequest | None = None
    limits: EpisodeLimits = EpisodeLimits()
    labels: dict[str, str] = Field(default_factory=dict[str, str], max_length=_MAX_LABELS)
    """Free words of the orchestrator; recorded, never shown to the agent."""

    @field_validator("labels")
    @classmethod
    def _are_short(cls, labels: dict[str, str]) -> dict[str, str]:
        if any(len(name) > _MAX_LABEL_NAME for name in labels):
            raise ValueError(f"the name of a label has at most {_MAX_LABEL_NAME} characters")
        if any(len(text) > _MAX_LABEL_TEXT for text in labels.values()):
            raise ValueError(f"a label has at most {_MAX_LABEL_TEXT} characters")
        return labels

    @model_validator(mode="after")
    def _can_be_recorded(self) -> Self:
        try:
            canonical_json([self.labels, self.source.model_dump()])
        except TypeError:
            raise ValueError("send whole characters: a text holds a lone surrogate") from None
        return self


class EpisodeCreated(FrozenModel):
    """Answer to ``POST /v1/episodes``."""

    id: EpisodeId
    mcp_url: str
    control_url: str
    prompt: str | None
    tools: tuple[ToolSpec, ...]
    tools_hash: str
    seed: int
    expires_at: datetime
    source: JsonObject = Field(default_factory=JsonObject)
    """As it was asked for; older gateways do not repeat it."""
    upstream_keys: dict[str, str] = Field(default_factory=dict[str, str])
    """By the names of its servers: the key under which each knows the episode, which does not tell its id."""


class ShownTool(FrozenModel):
    """One entry of an episode's tool list."""

    server: str
    tool: str
    """Its own name at its server."""
    shown: str
    """The name that the agent sees."""
    distractor: bool = False
    band: str | None = None
    """Of a distractor's likeness to the episode's own tools; None where it was chosen at random."""


class EpisodeState(FrozenModel):
    """Answer to ``GET`` and ``DELETE /v1/episodes/{id}``."""

    id: EpisodeId
    status: EpisodeStatus
    source: JsonObject
    seed: int
    calls: int
    """Tool calls of the agent so far."""
    solved: tuple[int, ...]
    """Ids of the solved sub-tasks, ascending."""
    reward: Reward | None
    """None while there is no job, or after a failure."""
    failure: Failure | None
    labels: dict[str, str]
    marks: tuple[str, ...] = ()
    """What weakens the record, such as ``no landlock``."""
    failures: FailureLaw
    """Which calls fail on purpose."""
    created_at: datetime
    expires_at: datetime


class EpisodeRecord(FrozenModel):
    """Answer to ``GET /v1/episodes/{id}/record``."""

    state: EpisodeState
    prompt: str | None
    tools_hash: str
    servers: dict[str, str]
    """Name to version (content hash) of every server of the episode."""
    tools: tuple[ShownTool, ...]
    """In the order in which the agent sees them."""
    distractors: DistractorMix | None
    """None where none were asked for."""
    emulators: dict[str, EmulatorKind]
    """Who makes up the answers of a server, for those of which there are documents only."""
    calls: tuple[CallRecord, ...]


class ServerInfo(FrozenModel):
    """A server as the control plane lists it."""

    name: str
    kind: ServerKind
    version: str
    tools: int
    """How many are known; of a deployed server 0 before its first use."""
    mcp_url: str
    status: ServerStatus
    detail: str
    """Why it failed; else empty."""
    emulator: EmulatorKind | None = None
    """Who makes up its answers; None where they are real."""
    interactive: bool | None = None
    """Whether ``mcp_url`` shows it, which is not known of older gateways; else episodes alone reach it."""


class WorkerInfo(FrozenModel):
    """One of the processes that share the episodes, as the control plane lists it."""

    index: int
    """From 0; the first one has the gateway's own address."""
    url: str
    """Its base URL."""
    pid: int | None
    """None where it does not answer; so is the number of episodes."""
    open_episodes: int | None
    """Episodes that take calls there; parked ones and interactive states are left out."""
    missing: tuple[str, ...] = ()
    """What keeps it from taking episodes; empty where it is ready."""


class LoginLinkRequest(FrozenModel):
    """Body of ``POST /v1/login-links``."""

    page: str = Field(default="/", max_length=1024, pattern=r"^/([!-.0-\[\]-~][!-\[\]-~]*)?$")
    """The page that the link leads to."""


class LoginLink(FrozenModel):
    """Answer to ``POST /v1/login-links``: a way into the pages, for a browser."""

    url: str
    """Works once; whoever opens it sees everything, gold included."""
    expires_at: datetime
