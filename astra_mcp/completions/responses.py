"""Replies and faults as HTTP responses."""

import math
import time
from collections.abc import Sequence
from email.utils import formatdate

import orjson
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from astra_mcp.completions.documents import (
    completion_document,
    completion_events,
    cut_short,
    error_document,
    prose,
)
from astra_mcp.completions.faults import FaultKind, FaultPlan
from astra_mcp.completions.reply import Answer, Refusal
from astra_mcp.completions.request import CompletionRequest
from astra_mcp.completions.sending import CutOff, InPieces, Silence, Trickle
from astra_mcp.types import JsonObject

__all__ = [
    "answer_response",
    "document_response",
    "failure",
    "impair",
    "refusal_response",
]


def document_response(document: object) -> Response:
    """Send a document as a success."""
    return Response(orjson.dumps(document), media_type="application/json")


def refusal_response(refusal: Refusal) -> Response:
    """Send an error in the form of the API."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    return Response(
        orjson.dumps(error_document(refusal.message, kind)),
        refusal.status,
        refusal.headers,
        "application/json",
    )


def answer_response(
    request: CompletionRequest, answer: Answer, fault: FaultKind | None
) -> Response:
    """Send an answer, whole or as a stream, with what a fault makes of its content."""
    if fault is FaultKind.CUT_ANSWER:
        answer = cut_short(answer)
    elif fault is FaultKind.NOT_JSON_CONTENT:
        answer = prose(answer)
    is_stream = bool(request.body.get("stream"))
    documents = (
        completion_events(request, answer) if is_stream else [completion_document(request, answer)]
    )
    if fault is FaultKind.NO_CHOICES:
        documents = [{**document, "choices": []} for document in documents]
    return _stream(documents) if is_stream else document_response(documents[0])


def failure(kind: FaultKind, plan: FaultPlan, key: str) -> ASGIApp:
    """Fail without any answer.

    Args:
        kind: One of those :data:`~astra_mcp.completions.faults.WITHOUT_ANSWER`.
        plan: Says how long to wait.
        key: What the client sent as its key.
    """
    match kind:
        case FaultKind.RATE_LIMITED:
            response: ASGIApp = _limited(str(plan.retry_after_seconds))
        case FaultKind.RATE_LIMITED_UNTIL:
            response = _limited(_date_after(plan.retry_after_seconds))
        case FaultKind.SERVER_ERROR:
            response = refusal_response(
                Refusal(500, "the server had an error; this is a planned fault")
            )
        case FaultKind.KEY_ECHO:
            response = refusal_response(Refusal(401, f"Incorrect API key provided: {key}."))
        case FaultKind.NOT_JSON_BODY:
            response = HTMLResponse("<html><body><h1>Please wait</h1></body></html>")
        case FaultKind.TRICKLE:
            response = Trickle("application/json", plan.pause_seconds)
        case FaultKind.HANG:
            response = Silence()
        case _:
            msg = f"{kind} needs an answer to spoil"
            raise ValueError(msg)
    return response


def impair(response: Response, fault: FaultKind | None, plan: FaultPlan) -> ASGIApp:
    """Send a response the way a fault has it."""
    if fault is FaultKind.SLOW:
        return InPieces(response, plan.pause_seconds)
    if fault is FaultKind.CUT_BODY:
        return CutOff(response)
    return response


def _date_after(seconds: int) -> str:
    return formatdate(math.ceil(time.time()) + seconds, usegmt=True)


def _limited(retry_after: str) -> Response:
    headers = {"retry-after": retry_after}
    return refusal_response(Refusal(429, "too many requests; this is a planned fault", headers))


def _stream(events: Sequence[JsonObject]) -> Response:
    lines = [b"data: " + orjson.dumps(event) + b"\n\n" for event in events]
    return Response(b"".join([*lines, b"data: [DONE]\n\n"]), media_type="text/event-stream")
