"""What a gateway publishes, and the whole gateway over it: its episodes and the application."""

import logging
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import anyio
import anyio.to_thread
from starlette.types import ASGIApp

from astra_mcp.compose.bundles import find_published, open_bundle_sandbox, shipped_hashes
from astra_mcp.compose.directories import open_directories
from astra_mcp.compose.distractor_pool import open_distractors
from astra_mcp.compose.emulators import open_emulated
from astra_mcp.compose.environments import PublishedEnvironments, Servers
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.tasks import RegistryTasks
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import UnknownNameError
from astra_mcp.sandbox import Sandbox
from astra_mcp.types import JobItem
from gateway.api.interactive import InteractiveCatalog
from gateway.api.seams import (
    EnvironmentInfo,
    EnvironmentSummary,
    GoldCall,
    QuestionInfo,
    RecordSink,
    Upstream,
)
from gateway.api.settings import FIRST
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.pages import Pages
from gateway.edge.security import AccessRules
from gateway.edge.workers import ALONE, OwnWorkerInfo
from gateway.episodes.failures import FailureDefaults
from gateway.episodes.live import Episodes, open_episodes
from registry.bundles.digest import BundleDigest
from registry.store.database import Database, open_database
from servers.deployed import DeployedServers, open_deployed
from servers.emulated.fleet import EmulatedServers, NoDocuments

__all__ = ["GatewayParts", "OpenPages", "PublishedCatalog", "open_catalog", "open_gateway"]

MIN_FREE_BYTES = 64 << 20
"""With less room on the disk of its home, a gateway says that it is not ready."""
_MIN_FREE_SHARE = 16
"""Of a smaller disk, one of so many parts is enough: what begins is refused by the room itself."""
_MAX_NAMED = 12
"""So many servers are named to who asks for another one."""
_log = logging.getLogger("astra_mcp.gateway")


class PublishedCatalog:
    """Satisfies the gateway's ``Catalog``: the environments of bundles, and the servers that are none."""

    def __init__(
        self,
        environments: PublishedEnvironments,
        deployed: DeployedServers,
        emulated: EmulatedServers,
    ) -> None:
        """Publish all of them; no two may have one name.

        Args:
            environments: The bundles, each with its server.
            deployed: The real servers that are no environments.
            emulated: The servers of which the registry has documents only.
        """
        self._environments = environments
        self._deployed = deployed
        self._emulated = emulated
        self._joined: tuple[Sequence[Upstream], Sequence[Upstream]] | None = None
        self._together: tuple[Sequence[Upstream], Sequence[Upstream]] | None = None
        self.watch(self._forget)  # first of all, so that whoever hears of a change sees it

    @property
    def bundles(self) -> PublishedEnvironments:
        """The environments, by name."""
        return self._environments

    @property
    def deployed(self) -> DeployedServers:
        """The real servers that are no environments; a program may mount some of its own."""
        return self._deployed

    @property
    def emulated(self) -> EmulatedServers:
        """The servers of which the registry has documents only."""
        return self._emulated

    def environments(self) -> Sequence[EnvironmentInfo]:
        """All environments, by name; each is put together when it is looked at."""
        return _Infos(self._environments.digests)

    def summaries(self) -> Sequence[EnvironmentSummary]:
        """All environments, by name, without their tools."""
        return self._environments.digests

    def environment(self, name: str) -> EnvironmentInfo:
        """One environment."""
        return _environment_info(self._digest(name))

    def questions(self, environment: str) -> Sequence[QuestionInfo]:
        """The further questions of an environment that is prepared."""
        return tuple(
            QuestionInfo(
                id=asked.id,
                question=asked.question,
                scenario_type=asked.scenario_type,
                sub_tasks=len(asked.scored),
            )
            for asked in self._environments.bundle(environment).document.questions
        )

    def question(self, environment: str, question: str | None = None) -> str:
        """What an agent is told of a question: the question itself, after the user's background."""
        if question is None:
            return self._digest(environment).prompt
        return self._asked(environment, question).document.prompt

    def job(self, environment: str, question: str | None = None) -> tuple[JobItem, ...]:
        """The sub-tasks that an episode of a question is scored on."""
        return self._asked(environment, question).job

    def _asked(self, environment: str, question: str | None) -> Bundle:
        return self._environments.bundle(environment).asking(question)

    def gold(self, environment: str, question: str | None = None) -> tuple[GoldCall, ...]:
        """The gold calls of a question."""
        gold = self._asked(environment, question).document.gold
        return tuple(GoldCall(tool=g.tool, arguments=g.values, solves=g.solves) for g in gold)

    def domain(self, server: str) -> str | None:
        """What a server is about; None where it has no label, and of deployed and unknown ones."""
        emulated = self._emulated.find(server)
        if emulated is not None:
            return emulated.domain
        digest = self._environments.digest(server)
        return None if digest is None else digest.domain

    def upstreams(self) -> Sequence[Upstream]:
        """All servers, by name; the same object as long as none comes or goes."""
        environments = self._environments.upstreams
        if self._joined is None or self._joined[0] is not environments:
            emulated = self._emulated.upstreams()
            servers: list[Upstream] = [*environments, *self._deployed.upstreams(), *emulated]
            self._joined = environments, tuple(sorted(servers, key=lambda server: server.name))
        return self._joined[1]

    def together(self) -> Sequence[Upstream]:
        """Those that the endpoint of all servers shows, by name: neither emulated ones nor those of many."""
        few = self._environments.together
        if self._together is None or self._together[0] is not few:
            servers: list[Upstream] = [*few, *self._deployed.upstreams()]
            self._together = few, tuple(sorted(servers, key=lambda server: server.name))
        return self._together[1]

    def upstream(self, name: str) -> Upstream:
        """One server, by name; ``UnknownNameError`` names the closest names."""
        found = self._deployed.find(name) or self._emulated.find(name)
        found = found or self._environments.find(name)
        if found is not None:
            return found
        if self._environments.is_faulty(name):
            raise self._environments.unknown(name)
        names = [server.name for server in self.upstreams()]
        hint = "`GET /v1/servers` of a running gateway names all"
        if len(names) <= _MAX_NAMED:
            hint = f"there are {', '.join(names)}" if names else "there is none"
        raise UnknownNameError.among("server", name, names, hint)

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told of servers that come, go or change."""
        watched = (self._environments, self._deployed, self._emulated)
        ends = [each.watch(hear) for each in watched]

        def end() -> None:
            for end_one in ends:
                end_one()

        return end

    def _digest(self, name: str) -> BundleDigest:
        digest = self._environments.digest(name)
        if digest is None:
            raise self._environments.unknown(name)
        return digest

    def _forget(self, name: str) -> None:
        if name not in self._environments.names:
            self._joined = self._together = None


@asynccontextmanager
async def open_catalog(
    settings: Settings, *, trusted: bool = False, database: Database | None = None
) -> AsyncGenerator[PublishedCatalog]:
    """Publish everything that the settings name: environments in one sandbox, deployed and emulated servers.

    Args:
        settings: Folders and limits.
        trusted: Allow tool code to run unsandboxed where this machine has no sandbox.
        database: The registry; without it there are no emulated servers.

    Raises:
        BundleError: A bundle does not load.
        ConfigError: The file of deployed servers is wrong, two servers have one name, or the settings ask
            for a model that they do not name.
    """
    # There from now on, so that what synthesis puts there is noticed.
    await anyio.Path(settings.made_environments).mkdir(parents=True, exist_ok=True)
    found = await anyio.to_thread.run_sync(find_published, settings)
    for warning in found.warnings:
        _log.warning(warning)
    async with AsyncExitStack() as stack:
        sandboxed = open_bundle_sandbox(settings, found.digests, trusted=trusted)
        sandbox = await stack.enter_async_context(sandboxed)
        environments = PublishedEnvironments(found, Servers(sandbox))
        names = environments.names
        opening = open_deployed(settings.serve.mcp_config, home=settings.home, taken=names)
        deployed = await stack.enter_async_context(opening)
        emulated = EmulatedServers(NoDocuments(), {})
        if database is not None and settings.emulators.publish:
            published = open_emulated(
                settings,
                database,
                crawled=settings.emulators.crawled,
                is_taken=lambda name: name in names or deployed.find(name) is not None,
            )
            emulated = await stack.enter_async_context(published)
        refuse = _refusing(deployed, sandbox, trusted=trusted)
        group = await stack.enter_async_context(anyio.create_task_group())
        group.start_soon(environments.follow, found.folders, refuse)
        yield PublishedCatalog(environments, deployed, emulated)
        group.cancel_scope.cancel()


def _refusing(
    deployed: DeployedServers, sandbox: Sandbox, *, trusted: bool
) -> Callable[[BundleDigest], str | None]:
    """Say of a bundle that appears while the gateway runs why it cannot be published, or None."""
    is_isolated = sandbox.report.backend != "unsandboxed"
    shipped = frozenset[str]() if trusted or is_isolated else shipped_hashes()

    def refuse(digest: BundleDigest) -> str | None:
        if deployed.find(digest.name) is not None:
            return "a deployed server has its name"
        if trusted or is_isolated or digest.content_hash in shipped:
            return None
        return "this machine cannot isolate its tool code, and --trusted was not passed"

    return refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayParts:
    """What a gateway is made of, for pages that show it."""

    settings: Settings
    rules: AccessRules
    worker_info: OwnWorkerInfo
    catalog: PublishedCatalog
    episodes: Episodes
    database: Database
    metrics: Metrics


OpenPages = Callable[[GatewayParts], AbstractAsyncContextManager[Pages]]
"""Opens the pages of a gateway."""


@asynccontextmanager
async def open_gateway(
    settings: Settings,
    rules: AccessRules,
    *,
    trusted: bool = False,
    worker_info: OwnWorkerInfo = ALONE,
    readiness: Callable[[], Sequence[str]] = tuple,
    sinks: Sequence[RecordSink] = (),
    open_pages: OpenPages | None = None,
) -> AsyncGenerator[tuple[PublishedCatalog, ASGIApp]]:
    """Compose the gateway over everything that is published; yields the catalog and the application.

    Args:
        settings: Folders, limits and the home.
        rules: Who may speak to it; its control key also derives the keys of episodes.
        trusted: Allow tool code to run unsandboxed where this machine has no sandbox.
        worker_info: Which of the workers this process is.
        readiness: Names what else keeps this process from taking episodes.
        sinks: Hear of every record event, beside the metrics.
        open_pages: Opens what people look at; without it there are no pages.
    """
    metrics = Metrics()
    async with (
        open_database(settings.registry_url) as database,
        nullcontext(RegistryTasks(database)) as tasks,
        open_catalog(settings, trusted=trusted, database=database) as catalog,
        open_directories(
            settings.home, database, catalog.bundles, catalog.deployed, catalog.emulated
        ) as directories,
        open_distractors(settings, catalog, database) as distractors,
        open_episodes(
            catalog,
            settings.home,
            secret=derive_secret(rules.control_key),
            max_open=settings.serve.max_episodes,
            worker=worker_info.index,
            workers=worker_info.count,
            sinks=(metrics, *sinks),
            failures=FailureDefaults(
                rate=settings.serve.failure_rate, scope=settings.serve.failure_scope
            ),
            distractors=distractors,
            emulator=settings.emulators.distractors,
            tasks=tasks,
        ) as episodes,
        _opened_pages(
            open_pages,
            GatewayParts(
                settings=settings,
                rules=rules,
                worker_info=worker_info,
                catalog=catalog,
                episodes=episodes,
                database=database,
                metrics=metrics,
            ),
        ) as pages,
        open_app(
            catalog,
            episodes,
            rules=rules,
            metrics=metrics,
            directories=directories,
            readiness=lambda: [*readiness(), *_missing_room(settings.home)],
            worker_info=worker_info,
            interactive=settings.serve.interactive,
            tasks=tasks,
            pages=pages,
        ) as app,
    ):
        if worker_info.index == FIRST:  # the others have no interactive endpoints
            _warn_of_unpublished(InteractiveCatalog(catalog, settings.serve.interactive))
        yield catalog, app


def _opened_pages(
    open_pages: OpenPages | None, parts: GatewayParts
) -> AbstractAsyncContextManager[Pages | None]:
    return nullcontext() if open_pages is None else open_pages(parts)


def _warn_of_unpublished(shown: InteractiveCatalog) -> None:
    """Say of names that are probably misspelt; they are no error, since servers of files come and go."""
    for name in shown.unpublished():
        _log.warning("serve.interactive names %s, and no such server is published now", name)


def _missing_room(home: Path) -> list[str]:
    """Name what keeps a home from taking records."""
    if not os.access(home / "records", os.W_OK):
        return ["the records folder cannot be written"]
    disk = shutil.disk_usage(home)
    least = min(MIN_FREE_BYTES, disk.total // _MIN_FREE_SHARE)
    if disk.free < least:
        return [f"less than {least / (1 << 20):.3g} MiB are free for records"]
    return []


class _Infos(Sequence[EnvironmentInfo]):
    """Environments as the control plane lists them, each put together when it is looked at."""

    def __init__(self, digests: Sequence[BundleDigest]) -> None:
        self._digests = digests

    def __len__(self) -> int:
        return len(self._digests)

    @overload
    def __getitem__(self, index: int) -> EnvironmentInfo: ...

    @overload
    def __getitem__(self, index: slice) -> "_Infos": ...

    def __getitem__(self, index: int | slice) -> "EnvironmentInfo | _Infos":
        found = self._digests[index]
        return _environment_info(found) if isinstance(found, BundleDigest) else _Infos(found)


def _environment_info(digest: BundleDigest) -> EnvironmentInfo:
    return EnvironmentInfo(
        name=digest.name,
        title=digest.title,
        description=digest.description,
        version=digest.content_hash,
        status="verified" if digest.status == "verified" else "unverified",
        domain=digest.domain,
        language=digest.language,
        scenario_type=digest.scenario_type,
        hops=digest.hops,
        family=digest.family,
        question=digest.question,
        sub_tasks=digest.sub_tasks,
        num_questions=digest.num_questions,
        tools=digest.tools,
    )
