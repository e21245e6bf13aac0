"""How an episode begins: what its request comes to, written down once, and its sessions, opened from that.

An episode that is restored is made of its record alone: nothing is chosen again. Knows servers and what a
record says first; knows neither files nor which episodes there are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from astra_mcp import __version__
from astra_mcp.call_record import EpisodeId
from astra_mcp.errors import NotAvailableError, UnknownNameError
from astra_mcp.seeds import derive_seed
from astra_mcp.types import EmulatorKind, JobItem, PastCall, tools_hash
from gateway.api.seams import Catalog, TaskDirectory, Upstream, UpstreamSession, emulated
from gateway.api.wire import (
    NO_FAILURES,
    EpisodeLimits,
    EpisodeRequest,
    FailureLaw,
    ShownTool,
    SourceEnvironment,
    SourceServers,
    SourceTask,
)
from gateway.episodes.mixing import ToolList
from gateway.episodes.record import EpisodeOpened, Record
from gateway.episodes.shown_tools import Route
from gateway.episodes.turns import Turn
from gateway.episodes.warm_up import prepare_all

INTERACTIVE_LIMITS = EpisodeLimits(
    calls=None,
    argument_bytes=64 << 20,
    call_seconds=600.0,
    idle_seconds=86400.0,
    life_seconds=30 * 86400.0,
)
"""Of what a person does at an interactive endpoint, who may write whole files: there a body is the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What an episode is a run of."""

    upstreams: tuple[Upstream, ...]
    prompt: str | None = None
    job: tuple[JobItem, ...] = ()
    marks: tuple[str, ...] = ()
    """What the record must say of it, beside what its servers say."""


async def find_source(
    catalog: Catalog,
    tasks: TaskDirectory | None,
    named: SourceEnvironment | SourceTask | SourceServers,
) -> Source:
    """Find what a request names, and get to know its servers.

    Raises:
        UnknownNameError: There is no such environment, question, server or task.
        NotAvailableError: It is a task, and this gateway has no registry.
        RegistryError: The registry did not answer.
        UpstreamError: A server could not be started or reached.
    """
    match named:
        case SourceEnvironment(name=name, question=id):
            catalog.question(name)  # first: refuses the name as one of an environment
            upstream = await _prepared(catalog, name)
            return Source(
                prompt=catalog.question(name, id),
                upstreams=(upstream,),
                job=catalog.job(name, id),
            )
        case SourceServers(names=names, prompt=prompt):
            upstreams = tuple(catalog.upstream(n) for n in names)
            await prepare_all(upstreams)
            return Source(upstreams=upstreams, prompt=prompt)
        case SourceTask(id=id):
            return await _task_source(catalog, tasks, id)


async def _task_source(catalog: Catalog, tasks: TaskDirectory | None, id: str) -> Source:
    """Find a task; that its servers' documents are others by now is told, and no hindrance."""
    if tasks is None:
        raise NotAvailableError("source.kind 'task' is not available: this gateway has no registry")
    task = await tasks.find(id)
    if task is None:
        hint = "`GET /v1/tasks` lists all, `astra-mcp synth tasks` makes them"
        raise UnknownNameError.among("task", id, (), hint)
    upstreams = tuple(catalog.upstream(name) for name in task.servers)
    await prepare_all(upstreams)
    changed = [u.name for u in upstreams if task.versions.get(u.name, u.version) != u.version]
    marks = tuple(f"{name} is another version than its task was made of" for name in changed)
    return Source(upstreams=upstreams, prompt=task.prompt, marks=marks)


async def _prepared(catalog: Catalog, name: str) -> Upstream:
    """Prepare a server; another one that took its name meanwhile takes its place."""
    upstream = catalog.upstream(name)
    await upstream.prepare()
    while upstream is not (now := catalog.upstream(name)):
        upstream = now
        await upstream.prepare()
    return upstream


def describe(
    id: EpisodeId,
    at: float,
    request: EpisodeRequest,
    source: Source,
    listed: ToolList,
    *,
    law: FailureLaw,
    distractors: EmulatorKind,
    endpoint: str | None = None,
) -> EpisodeOpened:
    """Write down what was decided at the creation of an episode, or of the state of an endpoint.

    The named emulator answers for emulated servers that are none of the source's; the time is in seconds
    since the epoch.
    """
    own = {u.name for u in source.upstreams}
    emulators = {
        u.name: server.emulator if u.name in own else distractors
        for u in listed.upstreams
        if (server := emulated(u)) is not None
    }
    return EpisodeOpened(
        at=datetime.fromtimestamp(at, UTC),
        id=id,
        endpoint=endpoint,
        source=request.source.model_dump(mode="json"),
        seed=request.seed,
        limits=request.limits,
        labels=request.labels,
        prompt=source.prompt,
        job=source.job,
        tools=tuple(
            ShownTool(
                server=route.server,
                tool=route.tool,
                shown=name,
                distractor=route.is_distractor,
                band=route.band,
            )
            for name, route in listed.routes.items()
        ),
        tools_hash=tools_hash([route.shown for route in listed.routes.values()]),
        servers={u.name: u.version for u in listed.upstreams},
        marks=tuple(
            sorted({*source.marks, *(mark for u in listed.upstreams for mark in u.warnings)})
        ),
        failures=law,
        distractors=listed.mix,
        emulators=emulators,
        version=__version__,
    )


def describe_state(id: EpisodeId, at: float, endpoint: str, listed: ToolList) -> EpisodeOpened:
    """Write down the beginning of a state of an interactive endpoint, where nothing fails on purpose."""
    named = SourceServers(kind="servers", names=tuple(u.name for u in listed.upstreams))
    return describe(
        id,
        at,
        EpisodeRequest(source=named, limits=INTERACTIVE_LIMITS),
        Source(upstreams=listed.upstreams),
        listed,
        law=NO_FAILURES,
        distractors=EmulatorKind.OFFLINE,
        endpoint=endpoint,
    )


def recorded_routes(opened: EpisodeOpened, upstreams: Sequence[Upstream]) -> dict[str, Route]:
    """Lay out the tool list that a record says, in its order.

    The servers are in the versions of the record; nobody may know the tools of one whose episode has ended,
    which then shows none of them.
    """
    specs = {(u.name, tool.name): tool for u in upstreams for tool in u.tools}
    return {
        tool.shown: Route(
            shown=specs[tool.server, tool.tool].renamed(tool.shown),
            server=tool.server,
            tool=tool.tool,
            is_distractor=tool.distractor,
            band=tool.band,
        )
        for tool in opened.tools
        if (tool.server, tool.tool) in specs
    }


def changed_servers(record: Record, upstreams: Sequence[Upstream] | None) -> list[str]:
    """Name the servers, as they are now, with which an episode cannot go on as it was recorded.

    None for the servers says that one of them is not published any more.
    """
    opened = record.opened
    if upstreams is None:
        return list(opened.servers)
    changed = [
        u.name
        for u in upstreams
        if opened.servers[u.name] != u.version or _is_answered_by_another(opened, u)
    ]
    if opened.endpoint is not None:  # what a server lists by now matters where it was used
        return [name for name in changed if record.past_calls(name)]
    return changed


def _is_answered_by_another(opened: EpisodeOpened, upstream: Upstream) -> bool:
    """True where who made answers up, or that they were, is not as recorded.

    An episode proper keeps the emulator that it began with; at an interactive endpoint people are told which
    one the settings name.
    """
    server, recorded = emulated(upstream), opened.emulators.get(upstream.name)
    if server is None or recorded is None:
        return server is not None or recorded is not None
    return opened.endpoint is not None and server.emulator is not recorded


def open_turns(
    opened: EpisodeOpened,
    upstreams: Sequence[Upstream],
    key_of: Callable[[str], str],
    record: Record | None = None,
) -> dict[str, Turn]:
    """Open the sessions of an episode, or open them again from its record.

    Each server knows the episode by the key that is made of the server's name.

    Raises:
        NotAvailableError: An emulated server needs a model that the settings do not name.
    """
    return {
        u.name: Turn(
            upstream=u,
            session=open_session(
                opened, u, key_of(u.name), past=record.past_calls(u.name) if record else ()
            ),
            emulator=opened.emulators.get(u.name),
        )
        for u in upstreams
    }


def open_session(
    opened: EpisodeOpened, upstream: Upstream, key: str, *, past: Sequence[PastCall] = ()
) -> UpstreamSession:
    """Open an episode's session with a server.

    Raises:
        NotAvailableError: It is emulated by a model, and the settings name none.
    """
    seed = derive_seed(opened.seed, upstream.name)
    server, emulator = emulated(upstream), opened.emulators.get(upstream.name)
    if server is None or emulator is None:
        return upstream.open_session(key=key, seed=seed, past=past)
    # What the user asked for is no business of a server that has nothing to do with it.
    prompt = None if upstream.name in opened.distractor_servers else opened.prompt
    return server.open_emulation(emulator=emulator, key=key, seed=seed, past=past, prompt=prompt)
