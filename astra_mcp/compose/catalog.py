"""What a gateway publishes, and the whole gateway over it: its episodes and the application."""

import logging
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp

from astra_mcp.compose.bundles import find_bundle, load_published, open_bundle_sandbox
from astra_mcp.compose.directories import open_directories
from astra_mcp.compose.distractor_pool import open_distractors
from astra_mcp.compose.emulators import open_emulated
from astra_mcp.compose.settings import Settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import UnknownNameError
from astra_mcp.reward import JobItem
from gateway.api.interactive import InteractiveCatalog
from gateway.api.seams import EnvironmentInfo, GoldCall, QuestionInfo, Upstream
from gateway.api.settings import FIRST
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import AccessRules
from gateway.edge.workers import ALONE, OwnWorkerInfo
from gateway.episodes.failures import FailureDefaults
from gateway.episodes.live import open_episodes
from registry.store.database import Database, open_database
from servers.deployed import DeployedServers, open_deployed
from servers.emulated.fleet import EmulatedServers, NoDocuments
from servers.environment import EnvironmentServer

__all__ = ["PublishedCatalog", "open_catalog", "open_gateway"]

MIN_FREE_BYTES = 64 << 20
"""With less room on the disk of its home, a gateway says that it is not ready."""
_MAX_NAMED = 12
"""So many servers are named to who asks for another one."""
_log = logging.getLogger("astra_mcp.gateway")


class PublishedCatalog:
    """Satisfies the gateway's ``Catalog``: the environments of bundles, and the servers that are none."""

    def __init__(
        self,
        bundles: Iterable[Bundle],
        publish: Callable[[Bundle], Upstream],
        deployed: DeployedServers,
        emulated: EmulatedServers,
    ) -> None:
        """Publish all of them; no two may have one name.

        Args:
            bundles: The environments.
            publish: Makes the server of one environment.
            deployed: The real servers that are no environments.
            emulated: The servers of which the registry has documents only.
        """
        self._bundles = {b.name: b for b in sorted(bundles, key=lambda bundle: bundle.name)}
        self._environments = {name: publish(bundle) for name, bundle in self._bundles.items()}
        self._deployed = deployed
        self._emulated = emulated
        self._upstreams: Sequence[Upstream] | None = None
        self.watch(self._forget)  # first of all, so that whoever hears of a change sees it

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """The environments, by name."""
        return tuple(self._bundles.values())

    @property
    def deployed(self) -> DeployedServers:
        """The real servers that are no environments; a program may mount some of its own."""
        return self._deployed

    @property
    def emulated(self) -> EmulatedServers:
        """The servers of which the registry has documents only."""
        return self._emulated

    def environments(self) -> Sequence[EnvironmentInfo]:
        """All environments, by name."""
        return tuple(_environment_info(b) for b in self.bundles)

    def questions(self, environment: str) -> Sequence[QuestionInfo]:
        """The further questions of an environment."""
        further = find_bundle(self._bundles, environment).document.questions
        return tuple(
            QuestionInfo(
                id=asked.id,
                question=asked.question,
                scenario_type=asked.scenario_type,
                sub_tasks=len(asked.scored),
            )
            for asked in further
        )

    def question(self, environment: str, question: str | None = None) -> str:
        """What an agent is told of a question: the question itself, after the user's background."""
        return self._asked(environment, question).document.prompt

    def job(self, environment: str, question: str | None = None) -> tuple[JobItem, ...]:
        """The sub-tasks that an episode of a question is scored on."""
        return self._asked(environment, question).job

    def _asked(self, environment: str, question: str | None) -> Bundle:
        return find_bundle(self._bundles, environment).asking(question)

    def gold(self, environment: str, question: str | None = None) -> tuple[GoldCall, ...]:
        """The gold calls of a question."""
        gold = self._asked(environment, question).document.gold
        return tuple(GoldCall(tool=g.tool, arguments=g.values, solves=g.solves) for g in gold)

    def domain(self, server: str) -> str | None:
        """What a server is about; None where it has no label, and of deployed and unknown ones."""
        emulated = self._emulated.find(server)
        if emulated is not None:
            return emulated.domain
        bundle = self._bundles.get(server)
        return None if bundle is None else bundle.document.domain

    def upstreams(self) -> Sequence[Upstream]:
        """All servers, by name; the same object as long as none comes or goes."""
        if self._upstreams is None:
            servers: list[Upstream] = [
                *self._environments.values(),
                *self._deployed.upstreams(),
                *self._emulated.upstreams(),
            ]
            self._upstreams = tuple(sorted(servers, key=lambda server: server.name))
        return self._upstreams

    def upstream(self, name: str) -> Upstream:
        """One server, by name; ``UnknownNameError`` names the closest names."""
        found = self._deployed.find(name) or self._emulated.find(name)
        found = found or self._environments.get(name)
        if found is not None:
            return found
        names = [server.name for server in self.upstreams()]
        hint = "`GET /v1/servers` of a running gateway names all"
        if len(names) <= _MAX_NAMED:
            hint = f"there are {', '.join(names)}" if names else "there is none"
        raise UnknownNameError.among("server", name, names, hint)

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told of servers that change; bundles stay as they were when they were loaded."""
        ends = (self._deployed.watch(hear), self._emulated.watch(hear))

        def end() -> None:
            for end_one in ends:
                end_one()

        return end

    def _forget(self, name: str) -> None:
        del name
        self._upstreams = None


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
    bundles = load_published(settings)
    names = frozenset(bundle.name for bundle in bundles)
    async with AsyncExitStack() as stack:
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
        sandboxed = open_bundle_sandbox(settings, bundles, trusted=trusted)
        sandbox = await stack.enter_async_context(sandboxed)
        publish = partial(EnvironmentServer, sandbox=sandbox)
        yield PublishedCatalog(bundles, publish, deployed, emulated)


@asynccontextmanager
async def open_gateway(
    settings: Settings,
    rules: AccessRules,
    *,
    trusted: bool = False,
    worker_info: OwnWorkerInfo = ALONE,
    readiness: Callable[[], Sequence[str]] = tuple,
) -> AsyncGenerator[tuple[PublishedCatalog, ASGIApp]]:
    """Compose the gateway over everything that is published; yields the catalog and the application.

    Args:
        settings: Folders, limits and the home.
        rules: Who may speak to it; its control key also derives the keys of episodes.
        trusted: Allow tool code to run unsandboxed where this machine has no sandbox.
        worker_info: Which of the workers this process is.
        readiness: Names what else keeps this process from taking episodes.
    """
    metrics = Metrics()
    async with (
        open_database(settings.registry_url) as database,
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
            sinks=(metrics,),
            failures=FailureDefaults(
                rate=settings.serve.failure_rate, scope=settings.serve.failure_scope
            ),
            distractors=distractors,
            emulator=settings.emulators.distractors,
        ) as episodes,
        open_app(
            catalog,
            episodes,
            rules=rules,
            metrics=metrics,
            directories=directories,
            readiness=lambda: [*readiness(), *_missing_room(settings.home)],
            worker_info=worker_info,
            interactive=settings.serve.interactive,
        ) as app,
    ):
        if worker_info.index == FIRST:  # the others have no interactive endpoints
            _warn_of_unpublished(InteractiveCatalog(catalog, settings.serve.interactive))
        yield catalog, app


def _warn_of_unpublished(shown: InteractiveCatalog) -> None:
    """Say of names that are probably misspelt; they are no error, since servers of files come and go."""
    for name in shown.unpublished():
        _log.warning("serve.interactive names %s, and no such server is published now", name)


def _missing_room(home: Path) -> list[str]:
    """Name what keeps a home from taking records."""
    if not os.access(home / "records", os.W_OK):
        return ["the records folder cannot be written"]
    if shutil.disk_usage(home).free < MIN_FREE_BYTES:
        return [f"less than {MIN_FREE_BYTES >> 20} MiB are free for records"]
    return []


def _environment_info(bundle: Bundle) -> EnvironmentInfo:
    document = bundle.document
    return EnvironmentInfo(
        name=bundle.name,
        title=document.title,
        description=document.description,
        version=bundle.content_hash,
        status=document.status,
        domain=document.domain,
        language=document.language,
        scenario_type=document.scenario_type,
        question=document.question,
        sub_tasks=len(bundle.job),
        num_questions=1 + len(document.questions),
        tools=document.tools,
    )
