"""What the gateway asks of its neighbours: servers, catalogs, directories, indexes and record sinks.

The consumer declares: ``servers`` and ``registry`` satisfy these Protocols structurally and never import this
package; the composition root wires them. Knows values alone; nothing of how the gateway works.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

from astra_mcp.call_record import EndStatus, EpisodeId
from astra_mcp.mcp.request_context import SILENT, Exchange, Hear
from astra_mcp.types import (
    EmulatorKind,
    FrozenModel,
    JobItem,
    JsonObject,
    JsonValue,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolSpec,
    UpstreamReply,
)

__all__ = [
    "Abilities",
    "Catalog",
    "CountedUpstream",
    "Distractor",
    "DistractorIndex",
    "DistractorSample",
    "EmulatedUpstream",
    "EndingUpstream",
    "EnvironmentDetails",
    "EnvironmentInfo",
    "EnvironmentSummary",
    "GoldCall",
    "MeteredUpstream",
    "QuestionInfo",
    "RecordSink",
    "RelaySession",
    "ScopedTool",
    "ServerCatalog",
    "TaskDirectory",
    "TaskInfo",
    "Upstream",
    "UpstreamSession",
    "abilities",
    "emulated",
    "shown_together",
]


class UpstreamSession(Protocol):
    """One episode's own view of a server: its state lives here. Calls come one at a time."""

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Call a tool by its own name; failures come as replies with their origin.

        Raises:
            StartRefusedError: The machine lets it not start for now; the call took no effect.
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
    def warnings(self) -> tuple[str, ...]:
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


@runtime_checkable
class EndingUpstream(Protocol):
    """A server that may want to be told of the ends of its episodes."""

    async def note_end(self, key: str, status: EndStatus) -> None:
        """Tell it under its key how an episode ended; must not raise, and must end although cancelled."""
        ...


@runtime_checkable
class CountedUpstream(Protocol):
    """A server that knows how many tools it has before it looks at them."""

    @property
    def num_tools(self) -> int:
        """How many it has."""
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

        The results of past calls are part of the state; the prompt is what the user asked for, as a hint.

        Raises:
            NotAvailableError: The settings do not have this emulator.
        """
        ...


class Abilities(NamedTuple):
    """What follows for the gateway from what stands behind a server."""

    made_up: bool = False
    """Its answers are made up from its documents."""
    replayable: bool = True
    """What its session did can be done again in a fresh one, with the same results."""
    keeps_processes: bool = False
    """A session holds what nothing could rebuild, so that it is kept as long as can be."""


_ABILITIES: Mapping[ServerKind, Abilities] = {
    ServerKind.ENVIRONMENT: Abilities(),
    ServerKind.EMULATOR: Abilities(made_up=True),
    ServerKind.DEPLOYED: Abilities(replayable=False, keeps_processes=True),
}


def abilities(upstream: Upstream) -> Abilities:
    """Tell what a server can do."""
    return _ABILITIES[upstream.kind]


def emulated(upstream: Upstream) -> EmulatedUpstream | None:
    """The server with what emulated ones have besides; None where its answers are real.

    Told by its kind: to look whether it has the members would read them, and its documents with them.
    """
    return cast("EmulatedUpstream", upstream) if abilities(upstream).made_up else None


def shown_together(upstreams: Iterable[Upstream]) -> tuple[Upstream, ...]:
    """Leave out what the endpoint of all servers does not show; the order stays.

    Emulated servers stand at their own endpoints and in the episodes that name them, and nowhere among a
    person's real servers (``docs/decisions/0012-emulated-servers-have-their-own-endpoints.md``).
    """
    return tuple(u for u in upstreams if not abilities(u).made_up)


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


class EnvironmentInfo(FrozenModel):
    """An environment as the control plane lists it; holds no gold."""

    name: str
    title: str
    description: str
    version: str
    status: Literal["verified", "unverified"]
    domain: str | None
    language: str
    scenario_type: str | None
    hops: int | None = None
    """The deepest hop level; None where that is not known."""
    family: str | None = None
    """The generator of environments that made it, where one did."""
    question: str
    sub_tasks: int
    """How many sub-tasks an episode is scored on."""
    num_questions: int = 1
    """How many questions episodes can ask, the main one included."""
    tools: tuple[ToolSpec, ...]
    interactive: bool | None = None
    """Whether interactive endpoints show it; None where that is not known."""

    @property
    def content_hash(self) -> str:
        """Of all that it is made of: its version."""
        return self.version

    @property
    def num_tools(self) -> int:
        """How many tools it has."""
        return len(self.tools)


class EnvironmentSummary(Protocol):
    """What environments are chosen by; an :class:`EnvironmentInfo` is one."""

    @property
    def name(self) -> str:
        """Unique among all servers."""
        ...

    @property
    def content_hash(self) -> str:
        """Of all that it is made of."""
        ...

    @property
    def title(self) -> str:
        """For people."""
        ...

    @property
    def status(self) -> str:
        """``verified`` or ``unverified``, as its author claims."""
        ...

    @property
    def domain(self) -> str | None:
        """What it is about; None where nobody has said it."""
        ...

    @property
    def language(self) -> str:
        """Of its question."""
        ...

    @property
    def scenario_type(self) -> str | None:
        """The shape of its decomposition."""
        ...

    @property
    def hops(self) -> int | None:
        """The deepest hop level."""
        ...

    @property
    def family(self) -> str | None:
        """The generator that made it."""
        ...

    @property
    def num_questions(self) -> int:
        """How many questions it has, the main one among them."""
        ...

    @property
    def num_tools(self) -> int:
        """How many tools it has."""
        ...


class QuestionInfo(FrozenModel):
    """A further question of an environment, as the control plane lists it; holds no gold."""

    id: str
    question: str
    scenario_type: str | None
    sub_tasks: int
    """How many sub-tasks an episode of it is scored on."""


class EnvironmentDetails(EnvironmentInfo):
    """An environment as the control plane describes it alone."""

    questions: tuple[QuestionInfo, ...] = ()
    """Those that it has beside its main one, in its order."""


class GoldCall(FrozenModel):
    """One gold call, as an oracle plays it."""

    tool: str
    arguments: JsonObject
    solves: tuple[int, ...]


class TaskInfo(FrozenModel):
    """A synthesized task, as the control plane lists it."""

    id: str
    run: str
    """The run of synthesis that made it."""
    servers: tuple[str, ...]
    prompt: str
    """What the user asks."""
    versions: dict[str, str]
    """Of the servers' documents that it was made of."""
    origin: str
    """``chain`` or ``server``."""
    axis: str
    """``original``, or in which way it is another one's variation."""
    domain: str | None
    language: str | None


class TaskDirectory(Protocol):
    """The synthesized tasks that episodes can be opened of."""

    async def find(self, id: str) -> TaskInfo | None:
        """One task, by its id; None where there is none.

        Raises:
            RegistryError: The registry did not answer.
        """
        ...

    async def page(self, *, run: str | None, after: str, limit: int) -> Sequence[TaskInfo]:
        """List tasks, by their ids.

        Args:
            run: Only those that this run made; None for all.
            after: Id of the last one of the page before; empty for the first page.
            limit: How many at most.

        Raises:
            RegistryError: The registry did not answer.
        """
        ...


class ServerCatalog(Protocol):
    """The servers of a gateway. They may come, go and change while it runs."""

    def upstreams(self) -> Sequence[Upstream]:
        """All servers, by name; an environment is a server of the same name."""
        ...

    def together(self) -> Sequence[Upstream]:
        """Those of them that the endpoint of all servers shows, by name: none that is emulated."""
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


class Catalog(ServerCatalog, Protocol):
    """What the gateway can open episodes of. Its contents may change while the gateway runs."""

    def environments(self) -> Sequence[EnvironmentInfo]:
        """All environments, by name; each may be put together only when it is looked at."""
        ...

    def summaries(self) -> Sequence[EnvironmentSummary]:
        """All environments, by name, at no cost."""
        ...

    def environment(self, name: str) -> EnvironmentInfo:
        """One environment; ``UnknownNameError`` names the closest names."""
        ...

    def questions(self, environment: str) -> Sequence[QuestionInfo]:
        """Those beside the main one; ``UnknownNameError`` names the closest environments."""
        ...

    def question(self, environment: str, question: str | None = None) -> str:
        """What an agent is told, background and question; by the question's id, the main one by None.

        ``UnknownNameError`` names the closest names, here and in what follows.
        """
        ...

    def job(self, environment: str, question: str | None = None) -> tuple[JobItem, ...]:
        """The sub-tasks that an episode of a question is scored on."""
        ...

    def gold(self, environment: str, question: str | None = None) -> tuple[GoldCall, ...]:
        """The gold calls of a question; empty for unverified environments."""
        ...


class RecordSink(Protocol):
    """Hears of every record event after it is on disk (an index, a live view)."""

    def write(self, episode: EpisodeId, event: Mapping[str, Any]) -> None:
        """Take one event; must not raise and must not block."""
        ...
