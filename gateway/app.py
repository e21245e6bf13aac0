"""The gateway's HTTP application: the gate, and behind it the agent plane and the control plane."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.agents.plane import AgentPlane
from gateway.agents.targets import target_at
from gateway.api.directories import ServerDirectory
from gateway.api.interactive import InteractiveCatalog
from gateway.api.seams import Catalog, TaskDirectory
from gateway.api.settings import Interactive
from gateway.control.other_workers import open_fleet
from gateway.control.plane import build_control_plane
from gateway.control.subregistry import Subregistry
from gateway.edge.metrics import Metrics
from gateway.edge.pages import Pages
from gateway.edge.security import AccessRules, Gate
from gateway.edge.workers import ALONE, OwnWorkerInfo, send_on
from gateway.episodes.live import Episodes
from gateway.machine.lateness import LatenessWatch

__all__ = ["open_app"]


@asynccontextmanager
async def open_app(  # noqa: PLR0913 - one parameter for each thing that it is made of
    catalog: Catalog,
    episodes: Episodes,
    *,
    rules: AccessRules,
    metrics: Metrics,
    directories: Sequence[ServerDirectory] = (),
    readiness: Callable[[], Sequence[str]] = tuple,
    worker_info: OwnWorkerInfo = ALONE,
    interactive: Interactive = "all",
    tasks: TaskDirectory | None = None,
    pages: Pages | None = None,
) -> AsyncGenerator[ASGIApp]:
    """Compose the planes; the application answers while the context is open.

    It takes no lifespan events: this context is its life.

    Args:
        catalog: What the gateway publishes.
        episodes: Opened over the same catalog, with ``metrics`` among its sinks.
        rules: Who may speak to the gateway.
        metrics: Rendered at ``/metrics``.
        directories: Listed at ``/v0.1/servers``.
        readiness: Names what keeps the gateway from taking episodes; empty where it is ready.
        worker_info: Which of the workers this process is.
        interactive: The servers that interactive endpoints and ``/v0.1/servers`` show.
        tasks: Listed at ``/v1/tasks``.
        pages: Answer beside the planes; who looks at them needs a link that the control plane gives.
    """
    metrics.watch_open(episodes.count_open)
    metrics.watch_servers(catalog)
    shown = InteractiveCatalog(catalog, interactive)
    plane = AgentPlane(shown, episodes)
    subregistry = Subregistry(
        catalog=shown,
        directories=directories,
        worker_info=worker_info,
        needs_key=bool(rules.api_keys),
    )
    metrics.watch_plane(ways=lambda: (plane.num_hot, plane.num_sdk), sessions=plane.count_sessions)
    lateness = LatenessWatch(metrics.observe_lateness)
    async with (
        open_fleet(worker_info, rules.control_key) as fleet,
        plane.open(max_body_bytes=rules.max_body_bytes),
    ):
        control = build_control_plane(
            catalog,
            episodes,
            shown=shown,
            metrics=metrics,
            readiness=readiness,
            fleet=fleet,
            tasks=tasks,
            subregistry=subregistry.routes(),
            pages=pages,
        )

        async def planes(scope: Scope, receive: Receive, send: Send) -> None:
            target = target_at(scope["path"])
            if target is not None:
                await plane.answer(target, scope, receive, send)
            elif pages is not None and pages.owns(scope):
                await pages(scope, receive, send)
            else:
                await control(scope, receive, send)

        gate = Gate(send_on(planes, worker_info), rules, metrics.observe_request, pages)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            lateness.stir()
            await gate(scope, receive, send)

        try:
            yield app
        finally:
            lateness.close()
