"""What the control plane answers where something is wrong: a code for programs and words that say what to do.

Knows HTTP and the error tree; knows neither episodes nor catalogs.
"""

import logging
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from astra_mcp.errors import (
    AstraError,
    CapacityError,
    GatewayError,
    NoFilesError,
    NoMemoryError,
    NoProcessesError,
    NoSpaceError,
    NotAvailableError,
    RegistryError,
    UnknownNameError,
    UpstreamError,
    WorkerError,
    fault_words,
)
from astra_mcp.text.plain import one_line
from gateway.api.client import UPSTREAM_FAILED, RefusedError
from gateway.api.connections import (
    NO_FILES,
    NO_MEMORY,
    NO_PROCESSES,
    NO_SPACE,
    RETRY_AFTER_SECONDS,
)
from gateway.control.subregistry import LISTING_PATH, answer_error

__all__ = ["ErrorBody", "answer_errors"]

_MAX_FAULTS = 20
"""So many faults of a request are named."""
_MAX_PLACE = 256
"""Characters of the name of a place, which may be the sender's own."""


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str
    """Stable word for programs."""
    message: str
    """For people: what is wrong and what to do."""


class ErrorBody(BaseModel):
    """Body of every answer that is not a success."""

    error: ErrorDetail


_log = logging.getLogger("astra_mcp.gateway")
_WORKER_AWAY = "worker_unreachable"
_STATUS: tuple[tuple[type[AstraError], int, str], ...] = (
    (UnknownNameError, 404, "unknown_name"),
    (NotAvailableError, 422, "not_available"),
    (CapacityError, 503, "too_many_episodes"),
    (NoSpaceError, 503, NO_SPACE),
    (NoFilesError, 503, NO_FILES),
    (NoMemoryError, 503, NO_MEMORY),
    (NoProcessesError, 503, NO_PROCESSES),
    (WorkerError, 503, _WORKER_AWAY),
    (UpstreamError, 502, UPSTREAM_FAILED),
    (GatewayError, 500, "gateway_error"),
)


def answer_errors(app: FastAPI) -> None:
    """Turn every error into an :class:`ErrorBody`."""

    async def on_known(_: Request, error: Exception) -> JSONResponse:
        status, code = next((s, c) for kind, s, c in _STATUS if isinstance(error, kind))
        return _error(status, code, str(error))

    async def on_refused(_: Request, error: Exception) -> JSONResponse:
        if not isinstance(error, RefusedError):
            return await on_bug(_, error)
        return _error(error.status, error.code, error.message)  # another worker's words

    async def on_invalid(_: Request, error: Exception) -> JSONResponse:
        faults = error.errors() if isinstance(error, RequestValidationError) else ()
        said = [
            f"{'.'.join(map(str, f['loc']))[:_MAX_PLACE]}: {fault_words(f['type'], f['msg'])}"
            for f in faults[:_MAX_FAULTS]
        ]
        if len(faults) > _MAX_FAULTS:
            said.append(f"and {len(faults) - _MAX_FAULTS} more")
        return _error(422, "invalid_request", "; ".join(said))

    async def on_http(request: Request, error: Exception) -> JSONResponse:
        return _of_http(app, request, cast("HTTPException", error))

    async def on_unread(_: Request, error: Exception) -> JSONResponse:
        _log.warning("the list of servers cannot be read: %s", error)
        message = "the registry does not answer: try again, and see the gateway's log"
        return _error(503, "registry_unreachable", message)

    async def on_bug(_: Request, error: Exception) -> JSONResponse:
        _log.error("the control plane broke", exc_info=error)
        return _error(500, "gateway_error", "the gateway failed; its log says more")

    app.add_exception_handler(GatewayError, on_known)
    app.add_exception_handler(UpstreamError, on_known)
    app.add_exception_handler(RefusedError, on_refused)
    app.add_exception_handler(RegistryError, on_unread)
    app.add_exception_handler(Exception, on_bug)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)


def _of_http(app: FastAPI, request: Request, error: HTTPException) -> JSONResponse:
    if error.status_code == 404:
        return _nothing_at(request.url.path)
    if error.status_code == 400:  # a body that is no text is as wrong as one that is no JSON
        return _error(422, "invalid_request", error.detail)
    answer = _error(error.status_code, "http_error", error.detail)
    if error.status_code == 405:
        answer.headers["Allow"] = _methods_at(app, request)
    return answer


def _methods_at(app: FastAPI, request: Request) -> str:
    matching = (r for r in app.routes if r.matches(request.scope)[0] is not Match.NONE)
    return ", ".join(sorted({m for r in matching for m in getattr(r, "methods", None) or ()}))


def _nothing_at(path: str) -> JSONResponse:
    if path.startswith(f"{LISTING_PATH}/"):  # such as a name with a line break, which fits no route
        return answer_error(404, "Server not found")
    return _error(404, "http_error", "there is nothing at this address: see /openapi.json")


def _error(status: int, code: str, message: str) -> JSONResponse:
    body = ErrorBody(error=ErrorDetail(code=code, message=one_line(message)))
    is_short = code in (NO_SPACE, NO_FILES, NO_MEMORY, NO_PROCESSES, _WORKER_AWAY)
    retry = {"Retry-After": str(RETRY_AFTER_SECONDS)} if is_short else None
    return JSONResponse(body.model_dump(), status_code=status, headers=retry)
