"""What the gateway asks of its neighbours, and the words of its control plane.

The consumer declares: ``Upstream``, ``Catalog`` and ``RecordSink`` are satisfied structurally by
``servers`` and ``registry``, which never import this package; the composition root wires them. The
wire models below are shared by the control plane and its client.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from astra_mcp.mcp.request_context import SILENT, Exchange, Hear
from astra_mcp.reward import JobItem, Reward
from astra_mcp.types import (
    EmulatorKind,
    Failure,
    JsonObject,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolResult,
    ToolSpec,
    UpstreamReply,
    json_fault,
)
from gateway.api.difficulty import (
    DistractorMix,
    DistractorRequest,
    FailureKind,
    FailureLaw,
    FailureRequest,
)

__all__ = [
    "CALL_ID_KEY",
    "FAULT_KEY",
    "SEQ_KEY",
    "CallState",
    "Catalog",
    "Distractor",
    "DistractorIndex",
    "DistractorMix",
    "DistractorRequest",
    "DistractorSample",
    "EmulatedUpstream",
    "EnvironmentInfo",
    "EpisodeCreated",
    "EpisodeId",
    "EpisodeLimits",
    "EpisodeRecord",
    "EpisodeRequest",
    "EpisodeState",
    "EpisodeStatus",
    "FailureKind",
    "FailureLaw",
    "FailureRequest",
    "GoldCall",
    "MeteredUpstream",
    "PastCall",
    "RecordSink",
    "RelaySession",
    "ScopedTool",
    "ServerInfo",
    "ServerStatus",
    "ShownTool",
    "SourceEnvironment",
    "SourceServers",
    "SourceTask",
    "Upstream",
    "UpstreamReply",
    "UpstreamSession",
    "WorkerInfo",
]

EpisodeId = NewType("EpisodeId", str)
"""Unguessable; whoever knows it may act in the episode. Logs show its first 6 characters."""

CALL_ID_KEY = "dev.astra-mcp/call-id"
"""``_meta`` of a call: its id; a retried id returns the recorded result."""
SEQ_KEY = "dev.astra-mcp/seq"
"""``_meta`` of a call: its place in the episode, from 0 without gaps."""
FAULT_KEY = "dev.astra-mcp/argument-fault"
"""``_meta`` of a call: why the model's arguments were no JSON object; it is recorded and counts."""


# --- neighbours ---------------------------------------------------------------------------------


class UpstreamSession(Protocol):
    """One episode's own view of a server: its state lives here. Calls come one at a time."""

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Call a tool by its own name; failures come as replies with their origin.

        Raises:
            UpstreamError | SandboxError: The server could not answer; nothing is known of its state.
        """
        ...

    async def aclose(self) -> None:
        """Release what the session holds; closing twice is allowed."""
        ...


@runtime_checkable
class RelaySession(UpstreamSession, Protocol):
    """A session with a server that speaks MCP itself: more than its tools can be reached."""

    async def request(self, method: str, params: JsonObject, exchange: Exchange) -> JsonObject:
        """Pass on a request other than ``tools/call``, and answer its result as the server gave it.

        Args:
            method: Such as ``resources/read``.
            params: Without ``_meta``, which comes from the exchange.
            exchange: Who asks.

        Raises:
            RelayedError: The server answered with a JSON-RPC error.
            UpstreamError: The server could not answer.
        """
        ...

    def watch(self, hear: Hear) -> None:
        """Pass on the notifications that belong to no request (updated resources, log messages)."""
        ...


class Upstream(Protocol):
    """A server as the gateway sees it."""

    @property
    def name(self) -> str:
        """Unique in the catalog."""
        ...

    @property
    def kind(self) -> ServerKind:
        """Decides defaults such as the failure rate."""
        ...

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """In the order in which agents see them; empty before the first :meth:`prepare`."""
        ...

    @property
    def version(self) -> str:
        """Content hash; recorded with every episode, and checked before a replay."""
        ...

    @property
    def relays(self) -> bool:
        """True where its sessions are :class:`RelaySession`; False where tools are all there is."""
        ...

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """What it can do in MCP's terms, such as ``{"tools": {}}``; known after :meth:`prepare`."""
        ...

    @property
    def instructions(self) -> str | None:
        """What it tells its clients about its use; known after :meth:`prepare`."""
        ...

    @property
    def status(self) -> tuple[ServerStatus, str]:
        """What is known of it, and in words why where it failed."""
        ...

    async def prepare(self) -> None:
        """Get to know the tools where nobody knows them yet; cheap where they are known.

        Raises:
            UpstreamError: It could not be started or reached; says so in words.
        """
        ...

    @property
    def marks(self) -> tuple[str, ...]:
        """What every record of this server must say, such as ``no landlock``."""
        ...

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> UpstreamSession:
        """Make a session; cheap, since processes start at the first call.

        Args:
            key: Identifies the episode to the server without naming it.
            seed: Decides every random choice of the session.
            past: Calls of an earlier life, replayed before the first new call (those APPLIED) and
                counted against the session's kills (those KILLED).
        """
        ...


@runtime_checkable
class MeteredUpstream(Protocol):
    """A server that counts what it uses; the gateway's metrics ask it where it does."""

    @property
    def usage(self) -> Mapping[str, int]:
        """Counts of its sessions.

        So far ``opened``, ``failed`` to open, ``lost`` (ended by themselves) and ``closed``; ``open`` now,
        and ``processes`` that run now where each session is one.
        """
        ...


class EmulatedUpstream(Upstream, Protocol):
    """A server whose answers are made up from its documents."""

    @property
    def emulator(self) -> EmulatorKind:
        """Who makes them up at interactive endpoints and in episodes of this server."""
        ...

    @property
    def num_tools(self) -> int:
        """How many it has, known before :meth:`Upstream.prepare`."""
        ...

    def open_emulation(
        self,
        *,
        emulator: EmulatorKind,
        key: str,
        seed: int,
        past: Sequence[PastCall] = (),
        prompt: str | None = None,
    ) -> UpstreamSession:
        """Make a session like :meth:`Upstream.open_session`, of a chosen emulator.

        Args:
            emulator: Who answers.
            key: As there.
            seed: As there.
            past: As there; their results are part of the state.
            prompt: What the user asked for, which an emulator may take a hint from.

        Raises:
            NotAvailableError: The settings do not have this emulator.
        """
        ...


class ScopedTool(NamedTuple):
    """A tool that an episode needs."""

    server: str
    tool: ToolSpec
    """Under its own name."""


class Distractor(NamedTuple):
    """A task-irrelevant tool, chosen for an episode."""

    server: str
    tool: str
    """Its own name."""
    band: str | None
    """``high``, ``medium`` or ``low``; None where it was chosen at random."""


class DistractorSample(NamedTuple):
    """The distractors of an episode."""

    distractors: tuple[Distractor, ...]
    """In the order of their choice."""
    shortfall: Mapping[str, int]
    """How many fewer than K each band had; only bands that had fewer."""


class DistractorIndex(Protocol):
    """Chooses task-irrelevant tools by their similarity to those of an episode (ASTRA Eq. 24-28)."""

    async def sample(
        self,
        scope: Sequence[ScopedTool],
        *,
        mode: Literal["random", "banded"],
        k: int,
        seed: int,
        taken: Collection[str],
    ) -> DistractorSample:
        """Choose.

        Args:
            scope: The tools of the episode's own servers.
            mode: By bands of similarity, or from other domains at random.
            k: From each band at most; not used at random, where it is 5 to 9 tools.
            seed: Decides.
            taken: Names that no distractor may have.

        Raises:
            ModelError: A tool could not be embedded.
            RegistryError: The registry did not answer.
        """
        ...


class EnvironmentInfo(BaseModel):
    """An environment as the control plane lists it; holds no gold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    description: str
    version: str
    status: Literal["verified", "unverified"]
    domain: str
    language: str
    scenario_type: str | None
    question: str
    sub_tasks: int
    """How many sub-tasks an episode is scored on."""
    tools: tuple[ToolSpec, ...]


class GoldCall(BaseModel):
    """One gold call, as an oracle plays it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    arguments: JsonObject
    solves: tuple[int, ...]


class Catalog(Protocol):
    """What the gateway can open episodes of. Its contents may change while the gateway runs."""

    def environments(self) -> Sequence[EnvironmentInfo]:
        """All environments, by name."""
        ...

    def question(self, environment: str) -> str:
        """The main question; ``UnknownNameError`` names the closest names."""
        ...

    def job(self, environment: str) -> tuple[JobItem, ...]:
        """The sub-tasks that an episode is scored on; ``UnknownNameError`` where there is none."""
        ...

    def gold(self, environment: str) -> tuple[GoldCall, ...]:
        """The gold calls; empty for unverified environments."""
        ...

    def upstreams(self) -> Sequence[Upstream]:
        """All servers, by name; an environment is a server of the same name."""
        ...

    def upstream(self, name: str) -> Upstream:
        """One server; ``UnknownNameError`` names the closest names."""
        ...

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of every server that is added, removed or lists other tools than before.

        Args:
            hear: Must not raise and must not block.

        Returns:
            Ends it.
        """
        ...


class RecordSink(Protocol):
    """Hears of every record event after it is on disk (an index, a live view)."""

    def write(self, episode: EpisodeId, event: Mapping[str, Any]) -> None:
        """Take one event; must not raise and must not block."""
        ...


# --- control plane ------------------------------------------------------------------------------


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceEnvironment(_Wire):
    """Run one environment."""

    kind: Literal["environment"]
    name: str


class SourceTask(_Wire):
    """Run one synthesized task."""

    kind: Literal["task"]
    id: str


class SourceServers(_Wire):
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


class EpisodeLimits(_Wire):
    """Bounds of one episode."""

    calls: int | None = Field(default=256, ge=1, le=100_000)
    """Tool calls of the agent; the call after the last one ends the episode with its reward. None: no
    limit."""
    result_bytes: int = Field(default=1 << 20, ge=256, le=64 << 20)
    """Size of one result's content as JSON; a larger one becomes an error that says so."""
    call_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Wall time of one call at its server; a longer one is a failure of the server."""
    idle_seconds: float = Field(default=1800.0, gt=0, le=7 * 86400)
    """An episode without a call for this long expires."""
    life_seconds: float = Field(default=86400.0, gt=0, le=30 * 86400)
    """An episode expires this long after its creation."""


class EpisodeRequest(_Wire):
    """Body of ``POST /v1/episodes``."""

    source: Annotated[SourceEnvironment | SourceTask | SourceServers, Field(discriminator="kind")]
    seed: int = Field(default=0, ge=0, lt=2**63)
    distractors: DistractorRequest | None = None
    failures: FailureRequest | None = None
    limits: EpisodeLimits = EpisodeLimits()
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    """Free words of the orchestrator; recorded, never shown to the agent."""

    @model_validator(mode="after")
    def _can_be_recorded(self) -> Self:
        if json_fault([self.labels, self.source.model_dump()]) is not None:
            msg = "send whole characters: a text holds a lone surrogate"
            raise ValueError(msg)
        return self


class EpisodeCreated(_Wire):
    """Answer to ``POST /v1/episodes``."""

    id: EpisodeId
    mcp_url: str
    control_url: str
    prompt: str | None
    tools: tuple[ToolSpec, ...]
    tools_hash: str
    seed: int
    expires_at: datetime


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


class ShownTool(_Wire):
    """One entry of an episode's tool list."""

    server: str
    tool: str
    """Its own name at its server."""
    shown: str
    """The name that the agent sees."""
    distractor: bool = False
    band: str | None = None
    """Of a distractor's likeness to the episode's own tools; None where it was chosen at random."""


class EpisodeState(_Wire):
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


class CallState(_Wire):
    """One recorded call."""

    n: int
    """Place in the record, from 0."""
    call_id: str
    seq: int | None
    server: str | None
    """None for a tool that the episode does not list."""
    tool: str | None
    """The tool's own name at its server."""
    shown: str
    """The name that the agent used."""
    arguments: JsonObject
    is_distractor: bool
    result: ToolResult | None
    """None where the call has not finished; so are the origin and the latency."""
    origin: Origin | None
    solved: tuple[int, ...]
    """Ids of the sub-tasks that this call solved."""
    latency_ms: float | None
    emulator: EmulatorKind | None = None
    """Who makes up the answers of its server; None for one that answers itself."""
    injected: FailureKind | None = None
    """How it failed on purpose; None where it did not."""


class EpisodeRecord(_Wire):
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
    calls: tuple[CallState, ...]


class ServerInfo(_Wire):
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


class WorkerInfo(_Wire):
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
