"""The control plane: a small HTTP API for orchestrators, beside the planes that agents see.

Creates, reads and closes episodes, and lists what there is, gold included; that is why it always needs
the control key (checked before it). Knows HTTP and the episode core; every error is JSON with a code for
programs and a message that says what to do.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated

import anyio
from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from astra_mcp import __version__
from astra_mcp.call_record import EpisodeId
from astra_mcp.concurrency import in_turns, map_concurrently, shielded
from astra_mcp.errors import (
    AstraError,
    CapacityError,
    GatewayError,
    ShortageError,
    WorkerError,
)
from astra_mcp.text.plain import one_line
from gateway.api.client import RefusedError
from gateway.api.environments import DEFAULT_PAGE, MAX_PAGE, EnvironmentFilter, page_of
from gateway.api.interactive import InteractiveCatalog
from gateway.api.seams import (
    Catalog,
    CountedUpstream,
    EnvironmentDetails,
    EnvironmentInfo,
    GoldCall,
    TaskDirectory,
    TaskInfo,
    Upstream,
    emulated,
)
from gateway.api.settings import FIRST
from gateway.api.wire import (
    EpisodeCreated,
    EpisodeRecord,
    EpisodeRequest,
    EpisodeState,
    ServerInfo,
    WorkerInfo,
)
from gateway.control.errors import ErrorBody, answer_errors
from gateway.control.lists import UnreadRequest, WholeNumber, answer_list, read_requests
from gateway.control.login_links import login_links
from gateway.control.other_workers import Fleet, Slice
from gateway.control.records import RecordAnswers
from gateway.edge.metrics import METRICS_CONTENT_TYPE, Metrics, merge
from gateway.edge.pages import Pages
from gateway.edge.placement import owner_of
from gateway.episodes.episode import Episode
from gateway.episodes.live import Episodes

MAX_BATCH = 1024
"""Episodes of one batch request."""

_CLOSINGS_AT_ONCE = 32

Readiness = Callable[[], Sequence[str]]
"""Names what keeps the gateway from taking episodes; empty where it is ready."""


class Health(BaseModel):
    """Answer of the health checks."""

    status: str
    """``ok`` or ``not ready``."""
    missing: tuple[str, ...] = ()
    """What keeps the gateway from taking episodes."""
    environments: int | None = None
    version: str = __version__


_log = logging.getLogger("astra_mcp.gateway")
_ERRORS = {
    401: "The control key is missing or wrong.",
    404: "There is nothing of this name.",
    422: "The request is wrong, or not available.",
    503: "As many episodes as allowed are open, the machine lacks something, or a worker does not answer.",
}
_LISTING_ERRORS = {
    401: "An API key is needed, and missing or wrong.",
    422: "A parameter is wrong.",
    503: "The registry does not answer.",
}


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Answers the control API from the episode core and the catalog, and with the other workers."""

    _catalog: Catalog
    _shown: InteractiveCatalog
    _episodes: Episodes
    _fleet: Fleet
    _readiness: Readiness
    _tasks: TaskDirectory | None
    _records: RecordAnswers = field(default_factory=RecordAnswers, init=False)

    def routes(self) -> APIRouter:
        """Lay out the paths below ``/v1``."""
        v1 = APIRouter(prefix="/v1", responses=_documented(_ERRORS))
        v1.add_api_route("/episodes", self.create, methods=["POST"], status_code=201)
        v1.add_api_route(
            "/episodes:batch",
            self.create_batch,
            methods=["POST"],
            status_code=201,
            response_model=list[EpisodeCreated],
        )
        v1.add_api_route(
            "/episodes:close", self.close_batch, methods=["POST"], response_model=list[EpisodeState]
        )
        v1.add_api_route(
            "/episodes", self.list_open, methods=["GET"], response_model=list[EpisodeState]
        )
        v1.add_api_route("/episodes/{id}", self.state, methods=["GET"])
        v1.add_api_route("/episodes/{id}", self.close, methods=["DELETE"])
        v1.add_api_route(
            "/episodes/{id}/record", self.record, methods=["GET"], response_model=EpisodeRecord
        )
        v1.add_api_route(
            "/environments",
            self.environments,
            methods=["GET"],
            response_model=Sequence[EnvironmentInfo],
        )
        v1.add_api_route("/environments/{name}", self.environment, methods=["GET"])
        v1.add_api_route("/environments/{name}/gold", self.gold, methods=["GET"])
        v1.add_api_route("/servers", self.servers, methods=["GET"], response_model=list[ServerInfo])
        v1.add_api_route("/tasks", self.tasks, methods=["GET"])
        v1.add_api_route("/workers", self.workers, methods=["GET"])
        return v1

    async def create(self, body: EpisodeRequest, request: Request) -> EpisodeCreated:
        """Open an episode; give its `mcp_url` to the agent, and nothing else of the answer."""
        refusal: GatewayError | None = None
        for worker in await self._fleet.turn():
            try:
                if worker == self._fleet.worker_info.index:
                    return self._created(await self._episodes.create(body), request)
                return self._moved(await self._fleet.create(worker, body), worker, request)
            except (CapacityError, ShortageError, WorkerError) as error:
                refusal = error
        raise refusal or CapacityError("no worker takes episodes")

    async def create_batch(
        self,
        body: Annotated[list[UnreadRequest], Field(min_length=1, max_length=MAX_BATCH)],
        request: Request,
        first: Annotated[
            WholeNumber, Query(ge=0, description="Number of the first one in errors.")
        ] = 0,
    ) -> Response:
        """Open several episodes: all, in the order of the requests, or none."""
        parts = await self._fleet.slices(await read_requests(body))
        opened: dict[int, list[EpisodeCreated]] = {}
        try:
            await self._open_parts(parts, opened, request, first)
        except BaseException:
            with shielded():
                await self._undo(parts, opened)
            raise
        return await answer_list((made for part in parts for made in opened[part.first]), 201)

    async def _open_parts(
        self,
        parts: Sequence[Slice],
        opened: dict[int, list[EpisodeCreated]],
        request: Request,
        first: int,
    ) -> None:
        faults: dict[int, AstraError] = {}

        async def open_part(part: Slice) -> None:
            try:
                opened[part.first] = await self._create_part(part, request, first)
            except AstraError as error:
                faults[part.first] = error

        async with anyio.create_task_group() as group:
            for part in parts:
                group.start_soon(open_part, part)
        if faults:
            raise faults[min(faults)]

    async def _create_part(self, part: Slice, request: Request, first: int) -> list[EpisodeCreated]:
        if part.worker != self._fleet.worker_info.index:
            made = await self._fleet.create_slice(part)
            return [self._moved(created, part.worker, request) for created in made]
        opened: list[Episode] = []
        try:
            async for index, wanted in in_turns(enumerate(part.requests, first + part.first)):
                opened.append(await self._create_item(index, wanted))
        except BaseException:
            with shielded():
                async for episode in in_turns(opened):
                    await self._undo_one(episode.id)
            raise
        return [self._created(episode, request) async for episode in in_turns(opened)]

    async def _create_item(self, index: int, wanted: EpisodeRequest) -> Episode:
        try:
            return await self._episodes.create(wanted)
        except GatewayError as error:
            raise type(error)(f"episode {index} of the batch (none was opened): {error}") from error

    async def _undo(
        self, parts: Sequence[Slice], opened: Mapping[int, Sequence[EpisodeCreated]]
    ) -> None:
        """Close what was opened of a batch that failed."""
        for part in parts:
            ids = [created.id for created in opened.get(part.first, ())]
            if part.worker == self._fleet.worker_info.index:
                async for id in in_turns(ids):
                    await self._undo_one(id)
                continue
            try:
                await self._fleet.close(part.worker, ids)
            except (WorkerError, RefusedError):
                _log.exception("%d episodes of a failed batch are left to expire", len(ids))

    async def _undo_one(self, id: EpisodeId) -> None:
        try:
            await self._episodes.close(id)
        except ShortageError:
            _log.exception("an episode of a failed batch is left to expire")

    def _created(self, episode: Episode, request: Request) -> EpisodeCreated:
        return EpisodeCreated(
            id=episode.id,
            **self._addresses(episode.id, self._fleet.worker_info.index, request),
            prompt=episode.prompt,
            tools=episode.tools,
            tools_hash=episode.tools_hash,
            seed=episode.state().seed,
            expires_at=episode.expires_at,
            source=episode.state().source,
            upstream_keys=self._episodes.upstream_keys(episode),
        )

    def _moved(self, created: EpisodeCreated, worker: int, request: Request) -> EpisodeCreated:
        """Name another worker's episode as this request's sender reaches it."""
        return created.model_copy(update=self._addresses(created.id, worker, request))

    def _addresses(self, id: EpisodeId, worker: int, request: Request) -> dict[str, str]:
        base = self._fleet.worker_info.base_url(request.scope, worker)
        return {"mcp_url": f"{base}/episodes/{id}/mcp", "control_url": f"{base}/v1/episodes/{id}"}

    async def list_open(self) -> Response:
        """List the episodes that take calls; the states of interactive endpoints are left out."""
        others = await self._fleet.open_episodes()
        return await answer_list(chain(self._episodes.open_states(), others))

    async def state(self, id: str) -> EpisodeState:
        """Read where an episode stands, its reward included."""
        return await self._episodes.state(id)

    async def record(self, id: str) -> Response:
        """Read an episode's calls with their results, origins and what they solved."""
        return await self._records.answer(*await self._episodes.recorded(id))

    async def close(self, id: str) -> EpisodeState:
        """Close an episode after its running calls, and read its final state; repeatable."""
        return await self._episodes.close(id)

    async def close_batch(
        self, body: Annotated[list[str], Field(min_length=1, max_length=MAX_BATCH)]
    ) -> Response:
        """Close several episodes by their ids, each as `DELETE` does; final states in the same order.

        All that can be are closed, also where another one cannot; repeatable.
        """
        faults: dict[int, AstraError] = {}

        async def close_one(item: tuple[int, str]) -> EpisodeState | None:
            place, id = item
            try:
                return await self._close_anywhere(id)
            except AstraError as error:
                faults[place] = error
                return None

        states = await map_concurrently(close_one, enumerate(body), limit=_CLOSINGS_AT_ONCE)
        if faults:
            raise _of_item(min(faults), faults[min(faults)])
        return await answer_list(state for state in states if state is not None)

    async def _close_anywhere(self, id: str) -> EpisodeState:
        owner = owner_of(id, self._fleet.worker_info.count)
        if owner == self._fleet.worker_info.index:
            return await self._episodes.close(id)
        return await self._fleet.close_one(owner, EpisodeId(id))

    async def environments(  # noqa: PLR0913 - one parameter for each of the query
        self,
        request: Request,
        *,
        limit: Annotated[WholeNumber, Query(ge=1, le=MAX_PAGE)] = DEFAULT_PAGE,
        cursor: Annotated[str, Query(description="From the page before.")] = "",
        domain: str | None = None,
        language: str | None = None,
        type: Annotated[str | None, Query(description="Shape of the decomposition.")] = None,
        hops: Annotated[WholeNumber | None, Query(description="The deepest hop level.")] = None,
        family: str | None = None,
        verified: bool | None = None,
    ) -> Response:
        """List environments, by name; `Link` leads to the next page, `X-Total-Count` says how many fit."""
        wanted = EnvironmentFilter(
            domain=domain,
            language=language,
            type=type,
            hops=hops,
            family=family,
            verified=verified,
        )
        page = page_of(self._catalog.summaries(), wanted, cursor, limit)
        response = await answer_list(
            self._told(self._catalog.environment(name)) for name in page.names
        )
        response.headers["X-Total-Count"] = str(page.total)
        if page.cursor is not None:
            following = request.url.include_query_params(cursor=page.cursor)
            response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
        return response

    async def environment(self, name: str) -> EnvironmentDetails:
        """Describe one environment with its further questions."""
        found = self._told(await self._prepared(name))
        return EnvironmentDetails(**dict(found), questions=tuple(self._catalog.questions(name)))

    async def _prepared(self, name: str) -> EnvironmentInfo:
        """Find an environment, and load what its questions and gold calls are read from."""
        self._catalog.environment(name)  # the error that names the closest ones
        await self._catalog.upstream(name).prepare()
        return self._catalog.environment(name)

    def _told(self, environment: EnvironmentInfo) -> EnvironmentInfo:
        shown = self._shown.shows(environment.name)
        return environment.model_copy(update={"interactive": shown})

    async def gold(
        self,
        name: str,
        question: Annotated[str | None, Query(description="Id of a further question.")] = None,
    ) -> Sequence[GoldCall]:
        """Read the gold calls of an environment's question; empty where it is unverified."""
        await self._prepared(name)
        return self._catalog.gold(name, question)

    async def servers(self, request: Request) -> Response:
        """List all servers, by name."""
        base = self._fleet.worker_info.base_url(request.scope, FIRST)
        shows = self._shown.shows
        upstreams = self._catalog.upstreams()
        return await answer_list(_described(u, base, shown=shows(u.name)) for u in upstreams)

    async def tasks(
        self,
        *,
        limit: Annotated[WholeNumber, Query(ge=1, le=MAX_PAGE)] = DEFAULT_PAGE,
        cursor: Annotated[str, Query(description="Id of the last one before.")] = "",
        run: Annotated[str | None, Query(description="The run that made them.")] = None,
    ) -> Sequence[TaskInfo]:
        """List synthesized tasks, by their ids; the last id leads to the next page."""
        if self._tasks is None:
            return []
        return await self._tasks.page(run=run, after=cursor, limit=limit)

    async def workers(self, request: Request) -> list[WorkerInfo]:
        """List the processes that share the episodes; at the first one all, else the asked one."""
        here = WorkerInfo(
            index=self._fleet.worker_info.index,
            url="",
            pid=os.getpid(),
            open_episodes=self._episodes.count_proper(),
            missing=self._own_missing(),
        )
        found = [here, *await self._fleet.describe_others()]
        return [
            info.model_copy(
                update={"url": self._fleet.worker_info.base_url(request.scope, info.index)}
            )
            for info in sorted(found, key=lambda info: info.index)
        ]

    def _own_missing(self) -> tuple[str, ...]:
        return tuple(map(one_line, (*self._readiness(), *self._episodes.missing())))

    async def missing(self) -> tuple[str, ...]:
        """Name what keeps this worker, or else at the first one any worker, from taking episodes."""
        own = self._own_missing()
        if own:
            return own  # enough to say no, and at once: the others may be stopping too
        others = await self._fleet.describe_others()
        return tuple(f"worker {info.index}: {fault}" for info in others for fault in info.missing)


def _of_item(place: int, error: AstraError) -> AstraError:
    """Say of which one of several episodes an error speaks."""
    said = f"episode {place} of the list was not closed (all others were that can be): "
    if isinstance(error, RefusedError):
        return RefusedError(error.status, error.code, f"{said}{error.message}")
    return type(error)(f"{said}{error}")


def _documented(errors: Mapping[int, str]) -> dict[int | str, dict[str, object]]:
    """Say in the OpenAPI document which errors are answered, and why."""
    return {status: {"model": ErrorBody, "description": text} for status, text in errors.items()}


def _described(upstream: Upstream, base: str, *, shown: bool) -> ServerInfo:
    made_up = emulated(upstream)
    is_counted = isinstance(upstream, CountedUpstream)
    return ServerInfo(
        name=upstream.name,
        kind=upstream.kind,
        version=upstream.version,
        tools=upstream.num_tools if is_counted else len(upstream.tools),
        mcp_url=f"{base}/servers/{upstream.name}/mcp",
        status=upstream.status[0],
        detail=one_line(upstream.status[1]),
        emulator=None if made_up is None else made_up.emulator,
        interactive=shown,
    )


def build_control_plane(  # noqa: PLR0913 - one parameter for each thing that it is made of
    catalog: Catalog,
    episodes: Episodes,
    *,
    shown: InteractiveCatalog,
    metrics: Metrics,
    readiness: Readiness,
    subregistry: APIRouter,
    fleet: Fleet,
    tasks: TaskDirectory | None = None,
    pages: Pages | None = None,
) -> FastAPI:
    """Make the control API with its health checks, its metrics and its OpenAPI document.

    The subregistry has the paths that list servers to clients; readiness speaks of this process, and of each
    server it is told whether it is among those that interactive endpoints show.
    """
    plane = ControlPlane(catalog, shown, episodes, fleet, readiness, tasks)
    # Fixed behind a proxy; else clients know it by how they reached it.
    public_url = fleet.worker_info.fixed_url(fleet.worker_info.index)
    app = FastAPI(
        title="astra-mcp control plane",
        version=__version__,
        description="Create, read and close episodes. Agents use MCP at each episode's mcp_url.",
        servers=[{"url": public_url}] if public_url else None,
        openapi_url=None,  # it is made in a thread, below
        docs_url=None,  # the page would load its scripts from another host
        redoc_url=None,
        redirect_slashes=False,
    )
    app.include_router(plane.routes(), tags=["control"])
    links = login_links(pages, fleet.worker_info)
    app.include_router(links, tags=["control"], responses=_documented(_ERRORS))
    app.include_router(subregistry, tags=["servers"], responses=_documented(_LISTING_ERRORS))

    async def healthz() -> Health:
        """Tell that the process answers."""
        return Health(status="ok")

    async def readyz(response: Response) -> Health:
        """Tell whether episodes can be opened; 503 with what is missing where not."""
        missing = await plane.missing()
        response.status_code = 503 if missing else 200
        count = len(catalog.summaries())
        return Health(status="not ready" if missing else "ok", missing=missing, environments=count)

    async def render_metrics(server: Annotated[tuple[str, ...], Query()] = ()) -> Response:
        """Render the metrics for Prometheus; the first of several workers joins those of all.

        What is counted by server is told of those that `server` names alone, where it stands there.
        """
        text = metrics.render(server)
        others = await fleet.metrics_of_others(server)
        if others:
            text = merge({fleet.worker_info.index: text, **others})
        return Response(text, media_type=METRICS_CONTENT_TYPE)

    async def describe() -> JSONResponse:
        """Describe every request and answer; made at the first request, which takes a tenth of a second."""
        return JSONResponse(await anyio.to_thread.run_sync(app.openapi))

    app.add_api_route("/openapi.json", describe, methods=["GET"], include_in_schema=False)
    app.add_api_route("/healthz", healthz, methods=["GET"], tags=["health"])
    app.add_api_route("/readyz", readyz, methods=["GET"], tags=["health"])
    app.add_api_route(
        "/metrics",
        render_metrics,
        methods=["GET"],
        tags=["health"],
        response_class=Response,
        responses=_documented({422: _LISTING_ERRORS[422]}),
    )
    answer_errors(app)
    return app
