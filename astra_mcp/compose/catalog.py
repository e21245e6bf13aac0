"""Wires the parts: bundles, sandbox, servers and catalog, as the commands need them."""

import os
import resource
import shutil
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from astra_mcp.compose.distractor_pool import open_distractors
from astra_mcp.compose.settings import Settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleError, BundleFault, ConfigError, SandboxUnavailableError
from astra_mcp.report.console import say
from astra_mcp.reward import JobItem
from astra_mcp.sandbox import Sandbox, SandboxReport, examine_machine, open_sandbox
from gateway.api.protocol import EnvironmentInfo, GoldCall, Upstream
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import AccessRules
from gateway.edge.workers import ALONE, Seat
from gateway.episodes.failures import FailureDefaults
from gateway.episodes.live import open_episodes
from registry import FolderCatalog
from servers.bundled import bundled_folder
from servers.deployed import DeployedServers, open_deployed
from servers.emulated.fleet import EmulatedServers, NoDocuments
from servers.environment import EnvironmentServer

if TYPE_CHECKING:
    from registry.store.database import Database

__all__ = [
    "BUNDLE_FILE",
    "PublishedCatalog",
    "find_bundles",
    "load_published",
    "open_bundle_sandbox",
    "open_catalog",
    "open_gateway",
    "open_present_registry",
]

MIN_FREE_BYTES = 64 << 20
"""With less room on the disk of its home, a gateway says that it is not ready."""
BUNDLE_FILE = "environment.json"
"""A folder that holds this file is a bundle."""


def find_bundles(folder: Path) -> tuple[Path, ...]:
    """Find the bundle folders at a path: itself, or its direct sub-folders, by name.

    Raises:
        ConfigError: There is no such folder, or no bundle in it.
    """
    if not folder.is_dir():
        msg = f"{folder} is no folder: name a bundle folder or a folder of bundles"
        raise ConfigError(msg)
    if (folder / BUNDLE_FILE).is_file():
        return (folder,)
    found = tuple(sorted(p.parent for p in folder.glob(f"*/{BUNDLE_FILE}")))
    if not found:
        msg = f"{folder} holds no bundle (no {BUNDLE_FILE} in it or in its sub-folders)"
        raise ConfigError(msg)
    return found


def load_published(settings: Settings) -> tuple[Bundle, ...]:
    """Load the bundled environments and those of the settings' folders.

    Raises:
        BundleError: One or more do not load; carries the faults of all.
        ConfigError: A folder holds no bundle, or two bundles have one name.
    """
    places = (bundled_folder(), *(f.expanduser() for f in settings.environments))
    folders = dict.fromkeys(f.resolve() for place in places for f in find_bundles(place))
    bundles: dict[str, tuple[Bundle, Path]] = {}
    faults: list[BundleFault] = []
    for folder in folders:
        try:
            bundle = load_bundle(folder)
        except BundleError as error:
            faults.extend(BundleFault(f"{folder.name}/{fault}") for fault in error.faults)
            continue
        if bundle.name in bundles:
            msg = (
                f"{bundles[bundle.name][1]} and {folder} are both named {bundle.name!r}: rename one"
            )
            raise ConfigError(msg)
        bundles[bundle.name] = (bundle, folder)
    if faults:
        raise BundleError(f"{len(faults)} faults; what is published", faults)
    return tuple(bundle for bundle, _ in bundles.values())


class PublishedCatalog:
    """Satisfies the gateway's ``Catalog`` from a catalog of bundles, and the other servers."""

    def __init__(
        self,
        catalog: FolderCatalog[EnvironmentServer],
        deployed: DeployedServers,
        emulated: EmulatedServers,
    ) -> None:
        self._catalog = catalog
        self._deployed = deployed
        self._emulated = emulated
        self._upstreams: Sequence[Upstream] | None = None
        self.watch(self._forget)  # first of all, so that whoever hears of a change sees it

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """The environments, by name."""
        return self._catalog.bundles()

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
        return tuple(_environment_info(b) for b in self._catalog.bundles())

    def question(self, environment: str) -> str:
        """The main question of an environment."""
        return self._catalog.bundle(environment).document.question

    def job(self, environment: str) -> tuple[JobItem, ...]:
        """The sub-tasks that an episode of the environment is scored on."""
        return self._catalog.job(environment)

    def gold(self, environment: str) -> tuple[GoldCall, ...]:
        """The gold calls of an environment."""
        gold = self._catalog.bundle(environment).document.gold
        return tuple(GoldCall(tool=g.tool, arguments=g.values, solves=g.solves) for g in gold)

    def domain(self, server: str) -> str | None:
        """What a server is about; None where it has no label, and of deployed and unknown ones."""
        emulated = self._emulated.find(server)
        if emulated is not None:
            return emulated.domain
        return next((b.document.domain for b in self.bundles if b.name == server), None)

    def upstreams(self) -> Sequence[Upstream]:
        """All servers, by name; the same object as long as none comes or goes."""
        if self._upstreams is None:
            servers: list[Upstream] = [
                *self._catalog.upstreams(),
                *self._deployed.upstreams(),
                *self._emulated.upstreams(),
            ]
            self._upstreams = tuple(sorted(servers, key=lambda server: server.name))
        return self._upstreams

    def upstream(self, name: str) -> Upstream:
        """One server, by name; ``UnknownNameError`` names the closest names."""
        found = self._deployed.find(name) or self._emulated.find(name)
        if found is not None:
            return found
        others = (*self._deployed.upstreams(), *self._emulated.upstreams())
        return self._catalog.upstream(name, besides=[s.name for s in others])

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
async def open_present_registry(settings: Settings) -> AsyncGenerator["Database | None"]:
    """Open the registry of the settings where there is one, for a command that would not make it.

    Raises:
        ConfigError: ``registry.url`` is wrong.
        RegistryError: The database cannot be opened.
    """
    if not settings.has_registry:
        yield None
        return
    from registry.store.database import open_database  # noqa: PLC0415 - half a second to load

    async with open_database(settings.registry_url) as database:
        yield database


@asynccontextmanager
async def open_catalog(
    settings: Settings, *, trusted: bool = False, database: "Database | None" = None
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
    file = settings.serve.mcp_config.expanduser() if settings.serve.mcp_config else None
    async with AsyncExitStack() as stack:
        opening = open_deployed(file, home=settings.home, taken=names)
        deployed = await stack.enter_async_context(opening)
        emulated = EmulatedServers(NoDocuments(), {})
        if database is not None and settings.emulators.publish:
            from astra_mcp.compose.emulators import open_emulated  # noqa: PLC0415 - half a second to load

            published = open_emulated(
                settings,
                database,
                crawled=settings.emulators.crawled,
                is_taken=lambda name: name in names or deployed.find(name) is not None,
            )
            emulated = await stack.enter_async_context(published)
        sandboxed = open_bundle_sandbox(settings, bundles, trusted=trusted)
        sandbox = await stack.enter_async_context(sandboxed)
        servers = FolderCatalog(bundles, lambda bundle: EnvironmentServer(bundle, sandbox))
        yield PublishedCatalog(servers, deployed, emulated)


@asynccontextmanager
async def open_gateway(
    settings: Settings,
    rules: AccessRules,
    *,
    trusted: bool = False,
    seat: Seat = ALONE,
    readiness: Callable[[], Sequence[str]] = tuple,
) -> AsyncGenerator[tuple[PublishedCatalog, ASGIApp]]:
    """Compose the gateway over everything that is published; yields the catalog and the application.

    Args:
        settings: Folders, limits and the home.
        rules: Who may speak to it; its control key also derives the keys of episodes.
        trusted: Allow tool code to run unsandboxed where this machine has no sandbox.
        seat: Which of the workers this process is.
        readiness: Names what else keeps this process from taking episodes.
    """
    # Half a second to load.
    from astra_mcp.compose.directories import open_directories  # noqa: PLC0415
    from registry.store.database import open_database  # noqa: PLC0415

    metrics = Metrics()
    async with (
        open_database(settings.registry_url) as database,
        open_catalog(settings, trusted=trusted, database=database) as catalog,
        open_directories(
            database, catalog.bundles, catalog.deployed, catalog.emulated
        ) as directories,
        open_distractors(settings, catalog, database) as distractors,
        open_episodes(
            catalog,
            settings.home,
            secret=derive_secret(rules.control_key),
            max_open=settings.serve.max_episodes,
            worker=seat.index,
            workers=seat.count,
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
            seat=seat,
        ) as app,
    ):
        yield catalog, app


@asynccontextmanager
async def open_bundle_sandbox(
    settings: Settings, bundles: Iterable[Bundle], *, trusted: bool = False
) -> AsyncGenerator[Sandbox]:
    """Open the sandbox that these bundles may run in on this machine.

    Where a required layer is missing, the environments that ship with this package run in plain
    processes with a notice; any other code does so only when it is trusted.

    Raises:
        SandboxUnavailableError: A layer is missing and not all of the code is trusted.
    """
    _allow_open_files()
    report = examine_machine()
    if report.missing:
        _require_trust(report, bundles, trusted=trusted)
    async with open_sandbox(settings.sandbox, unsandboxed=bool(report.missing)) as sandbox:
        yield sandbox


def _missing_room(home: Path) -> list[str]:
    """Name what keeps a home from taking records."""
    if not os.access(home / "records", os.W_OK):
        return ["the records folder cannot be written"]
    if shutil.disk_usage(home).free < MIN_FREE_BYTES:
        return [f"less than {MIN_FREE_BYTES >> 20} MiB are free for records"]
    return []


def _allow_open_files() -> None:
    """Raise the soft limit to the hard one: an episode takes a record, a socket and a process handle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _require_trust(report: SandboxReport, bundles: Iterable[Bundle], *, trusted: bool) -> None:
    missing = ", ".join(report.missing)
    shipped = {load_bundle(folder).content_hash for folder in find_bundles(bundled_folder())}
    foreign = [b.name for b in bundles if b.content_hash not in shipped]
    if foreign and not trusted:
        msg = (
            f"this machine lacks {missing}, so the tool code of {', '.join(foreign)} cannot be "
            "isolated: run on Linux (see `astra-mcp doctor`), or pass --trusted if you trust it"
        )
        raise SandboxUnavailableError(msg)
    say.print(f"notice: this machine lacks {missing}; tool code runs unsandboxed", style="yellow")


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
        tools=document.tools,
    )
