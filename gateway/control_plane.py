"""The control plane: a small HTTP API for orchestrators, beside the planes that agents see.

Creates, reads and closes episodes, and lists what there is, gold included; that is why it always needs
the control key (checked before it). Knows HTTP and the episode core; every error is JSON with a code for
programs and a message that says what to do.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Annotated

import anyio
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from astra_mcp import __version__
from astra_mcp.errors import (
    AstraError,
    CapacityError,
    GatewayError,
    NotAvailableError,
    UnknownNameError,
)
from gateway.episode import Episode
from gateway.episodes import Episodes
from gateway.metrics import METRICS_CONTENT_TYPE, Metrics
from gateway.protocol import (
    Catalog,
    EnvironmentInfo,
    EpisodeCreated,
    EpisodeRecord,
    EpisodeRequest,
    EpisodeState,
    GoldCall,
    ServerInfo,
)

__all__ = ["MAX_BATCH", "ControlPlane", "ErrorBody", "build_control_plane"]

MAX_BATCH = 1024
"""Episodes of one batch request."""

Readiness = Callable[[], Sequence[str]]
"""Names what keeps the gateway from taking episodes; empty where it is ready."""


class ErrorDetail(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(frozen=True)

    code: str
    """Stable word for programs."""
    message: str
    """For people: what is wrong and what to do."""


class ErrorBody(BaseModel):
    """Body of every answer that is not a success."""

    model_config = ConfigDict(frozen=True)

    error: ErrorDetail


class Health(BaseModel):
    """Answer of the health checks."""

    status: str
    """``ok`` or ``not ready``."""
    missing: tuple[str, ...] = ()
    """What keeps the gateway from taking episodes."""
    environments: int | None = None
    version: str = __version__


_log = logging.getLogger("astra_mcp.gateway")
_STATUS: tuple[tuple[type[AstraError], int, str], ...] = (
    (UnknownNameError, 404, "unknown_name"),
    (NotAvailableError, 422, "not_available"),
    (CapacityError, 503, "too_many_episodes"),
    (GatewayError, 500, "gateway_error"),
)
_ERRORS: dict[int | str, dict[str, object]] = {
    401: {"model": ErrorBody, "description": "The control key is missing or wrong."},
    404: {"model": ErrorBody, "description": "There is nothing of this name."},
    422: {"model": ErrorBody, "description": "The request is wrong, or not available."},
    503: {"model": ErrorBody, "description": "As many episodes as allowed are open."},
}


class ControlPlane:
    """Answers the control API from the episode core and the catalog."""

    def __init__(self, catalog: Catalog, episodes: Episodes) -> None:
        self._catalog = catalog
        self._episodes = episodes

    def routes(self) -> APIRouter:
        """Lay out the paths below ``/v1``."""
        v1 = APIRouter(prefix="/v1", responses=_ERRORS)
        v1.add_api_route("/episodes", self.create, methods=["POST"], status_code=201)
        v1.add_api_route("/episodes:batch", self.create_batch, methods=["POST"], status_code=201)
        v1.add_api_route("/episodes", self.list_open, methods=["GET"])
        v1.add_api_route("/episodes/{id}", self.state, methods=["GET"])
        v1.add_api_route("/episodes/{id}", self.close, methods=["DELETE"])
        v1.add_api_route("/episodes/{id}/record", self.record, methods=["GET"])
        v1.add_api_route("/environments", self.environments, methods=["GET"])
        v1.add_api_route("/environments/{name}", self.environment, methods=["GET"])
        v1.add_api_route("/environments/{name}/gold", self.gold, methods=["GET"])
        v1.add_api_route("/servers", self.servers, methods=["GET"])
        return v1

    async def create(self, body: EpisodeRequest, request: Request) -> EpisodeCreated:
        """Open an episode; give its `mcp_url` to the agent, and nothing else of the answer."""
        return _created(await self._episodes.create(body), request)

    async def create_batch(
        self,
        body: Annotated[list[EpisodeRequest], Field(min_length=1, max_length=MAX_BATCH)],
        request: Request,
    ) -> list[EpisodeCreated]:
        """Open several episodes: all, in the order of the requests, or none."""
        opened: list[Episode] = []
        try:
            for index, wanted in enumerate(body):
                opened.append(await self._create_item(index, wanted))
        except BaseException:
            with anyio.CancelScope(shield=True):
                for episode in opened:
                    await self._episodes.close(episode.id)
            raise
        return [_created(episode, request) for episode in opened]

    async def _create_item(self, index: int, wanted: EpisodeRequest) -> Episode:
        try:
            return await self._episodes.create(wanted)
        except GatewayError as error:
            msg = f"episode {index} of the batch (none was opened): {error}"
            raise type(error)(msg) from error

    async def list_open(self) -> list[EpisodeState]:
        """List the episodes that take calls; the states of interactive endpoints are left out."""
        return list(self._episodes.open_states())

    async def state(self, id: str) -> EpisodeState:
        """Read where an episode stands, its reward included."""
        return self._episodes.state(id)

    async def record(self, id: str) -> EpisodeRecord:
        """Read an episode's calls with their results, origins and what they solved."""
        return await self._episodes.record(id)

    async def close(self, id: str) -> EpisodeState:
        """Close an episode after its running calls, and read its final state; repeatable."""
        return await self._episodes.close(id)

    async def environments(self) -> Sequence[EnvironmentInfo]:
        """List all environments, by name."""
        return self._catalog.environments()

    async def environment(self, name: str) -> EnvironmentInfo:
        """Describe one environment."""
        self._catalog.job(name)  # the error that names the closest ones
        return next(e for e in self._catalog.environments() if e.name == name)

    async def gold(self, name: str) -> Sequence[GoldCall]:
        """Read the gold calls of an environment; empty where it is unverified."""
        return self._catalog.gold(name)

    async def servers(self, request: Request) -> list[ServerInfo]:
        """List all servers, by name."""
        return [
            ServerInfo(
                name=u.name,
                kind=u.kind,
                version=u.version,
                tools=len(u.tools),
                mcp_url=f"{_base_url(request)}/servers/{u.name}/mcp",
                status=u.status[0],
                detail=u.status[1],
            )
            for u in self._catalog.upstreams()
        ]


def build_control_plane(
    catalog: Catalog, episodes: Episodes, *, metrics: Metrics, readiness: Readiness
) -> FastAPI:
    """Make the control API with its health checks, its metrics and its OpenAPI document.

    Args:
        catalog: What episodes can be opened of.
        episodes: Where they live.
        metrics: Rendered at ``/metrics``.
        readiness: Names what keeps the gateway from taking episodes.
    """
    app = FastAPI(
        title="astra-mcp control plane",
        version=__version__,
        description="Create, read and close episodes. Agents use MCP at each episode's mcp_url.",
        docs_url=None,  # the page would load its scripts from another host
        redoc_url=None,
        redirect_slashes=False,
    )
    app.include_router(ControlPlane(catalog, episodes).routes(), tags=["control"])

    async def healthz() -> Health:
        """Tell that the process answers."""
        return Health(status="ok")

    async def readyz(response: Response) -> Health:
        """Tell whether episodes can be opened; 503 with what is missing where not."""
        missing = tuple(readiness())
        response.status_code = 503 if missing else 200
        count = len(catalog.environments())
        return Health(status="not ready" if missing else "ok", missing=missing, environments=count)

    async def render_metrics() -> Response:
        """Render the metrics for Prometheus."""
        return Response(metrics.render(), media_type=METRICS_CONTENT_TYPE)

    app.add_api_route("/healthz", healthz, methods=["GET"], tags=["health"])
    app.add_api_route("/readyz", readyz, methods=["GET"], tags=["health"])
    app.add_api_route(
        "/metrics", render_metrics, methods=["GET"], tags=["health"], response_class=Response
    )
    _answer_errors(app)
    return app


def _answer_errors(app: FastAPI) -> None:
    """Turn every error into an :class:`ErrorBody`."""

    async def on_known(_: Request, error: Exception) -> JSONResponse:
        status, code = next((s, c) for kind, s, c in _STATUS if isinstance(error, kind))
        return _error(status, code, str(error))

    async def on_invalid(_: Request, error: Exception) -> JSONResponse:
        faults = error.errors() if isinstance(error, RequestValidationError) else ()
        message = "; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}" for f in faults)
        return _error(422, "invalid_request", message)

    async def on_http(_: Request, error: Exception) -> JSONResponse:
        status = error.status_code if isinstance(error, HTTPException) else 500
        message = "there is nothing at this address: see /openapi.json" if status == 404 else ""
        detail = error.detail if isinstance(error, HTTPException) else ""
        return _error(status, "http_error", message or detail)

    async def on_bug(_: Request, error: Exception) -> JSONResponse:
        _log.error("the control plane broke", exc_info=error)
        return _error(500, "gateway_error", "the gateway failed; its log says more")

    app.add_exception_handler(GatewayError, on_known)
    app.add_exception_handler(Exception, on_bug)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)


def _error(status: int, code: str, message: str) -> JSONResponse:
    body = ErrorBody(error=ErrorDetail(code=code, message=message))
    return JSONResponse(body.model_dump(), status_code=status)


def _created(episode: Episode, request: Request) -> EpisodeCreated:
    base = _base_url(request)
    return EpisodeCreated(
        id=episode.id,
        mcp_url=f"{base}/episodes/{episode.id}/mcp",
        control_url=f"{base}/v1/episodes/{episode.id}",
        prompt=episode.prompt,
        tools=episode.tools,
        tools_hash=episode.tools_hash,
        seed=episode.state().seed,
        expires_at=episode.expires_at,
    )


def _base_url(request: Request) -> str:
    """Name the gateway as the client named it; its ``Host`` was checked before."""
    return f"{request.url.scheme}://{request.headers['host']}"
