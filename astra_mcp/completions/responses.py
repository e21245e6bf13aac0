"""Replies and faults as HTTP responses: answers as documents, whole or as the events of a stream."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from email.utils import formatdate
from typing import cast

import orjson
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from astra_mcp.completions.planned_faults import FaultKind, FaultPlan
from astra_mcp.completions.policy import Answer, AnswerCall, CompletionRequest, Refusal
from astra_mcp.completions.sending import CutOff, InPieces, Silence, Trickle
from astra_mcp.types import JsonObject, canonical_json

__all__ = [
    "answer_response",
    "document_response",
    "failure",
    "impair",
    "refusal_response",
]

_CHARACTERS_PER_TOKEN = 4
_PROSE = "I would rather say it in my own words, which are not what was asked for."


def _completion_document(request: CompletionRequest, answer: Answer) -> JsonObject:
    """Write an answer as one document."""
    message: JsonObject = {"role": "assistant", "content": answer.text}
    if answer.reasoning_content is not None:
        message["reasoning_content"] = answer.reasoning_content
    if answer.calls:
        message["tool_calls"] = [*_calls(request, answer.calls)]
    choice: JsonObject = {
        "index": 0,
        "message": message,
        "finish_reason": _finish_reason(answer),
        "logprobs": None,
    }
    return {
        **_head(request, "chat.completion"),
        "choices": [choice],
        "usage": _usage(request, answer),
    }


def _completion_events(request: CompletionRequest, answer: Answer) -> list[JsonObject]:
    """Write an answer as the events of a stream.

    Texts and arguments are cut in the middle, so that clients have to put them together.
    """
    head = _head(request, "chat.completion.chunk")
    events: list[JsonObject] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in _deltas(request, answer)
    ]
    end: JsonObject = {"index": 0, "delta": {}, "finish_reason": _finish_reason(answer)}
    events.append({**head, "choices": [end]})
    options = request.body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        events.append({**head, "choices": [], "usage": _usage(request, answer)})
    return events


def _cut_short(answer: Answer) -> Answer:
    """Make of an answer one that reached its limit of tokens half-way."""
    text = answer.text
    calls = tuple(
        call.model_copy(update={"arguments": _first_half(_arguments(call))})
        for call in answer.calls[:1]
    )
    content = None if text is None else _first_half(text)
    return answer.model_copy(update={"content": content, "calls": calls, "finish_reason": "length"})


def _first_half(text: str) -> str:
    return text[: len(text) // 2]


def _deltas(request: CompletionRequest, answer: Answer) -> Iterator[JsonObject]:
    yield {"role": "assistant"}
    for half in _halves(answer.reasoning_content or ""):
        yield {"reasoning_content": half}
    for half in _halves(answer.text or ""):
        yield {"content": half}
    for index, call in enumerate(_calls(request, answer.calls)):
        function = cast("JsonObject", call["function"])
        first, *rest = _halves(cast("str", function["arguments"])) or ("",)
        begun: JsonObject = {**call, "index": index, "function": {**function, "arguments": first}}
        yield {"tool_calls": [begun]}
        for half in rest:
            yield {"tool_calls": [{"index": index, "function": {"arguments": half}}]}


def _head(request: CompletionRequest, kind: str) -> JsonObject:
    return {
        "id": f"chatcmpl-{request.id}-{request.occurrence}",
        "object": kind,
        "created": 0,
        "model": request.body["model"],
    }


def _finish_reason(answer: Answer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.calls else "stop")


def _calls(request: CompletionRequest, calls: Sequence[AnswerCall]) -> list[JsonObject]:
    return [
        {
            "id": f"call_{request.id}_{index}" if call.id is None else call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": _arguments(call)},
        }
        for index, call in enumerate(calls)
    ]


def _arguments(call: AnswerCall) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False)


def _usage(request: CompletionRequest, answer: Answer) -> JsonObject:
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    if prompt is None:
        prompt = _tokens(len(canonical_json(request.messages)))
    if completion is None:
        said = [answer.reasoning_content or "", answer.text or "", *map(_arguments, answer.calls)]
        completion = _tokens(sum(map(len, said)))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)


def _halves(text: str) -> tuple[str, ...]:
    middle = len(text) // 2
    return tuple(half for half in (text[:middle], text[middle:]) if half)


def document_response(document: object) -> Response:
    """Send a document as a success."""
    return Response(orjson.dumps(document), media_type="application/json")


def refusal_response(refusal: Refusal) -> Response:
    """Send an error in the form of the API."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    error = {"message": refusal.message, "type": kind, "param": None, "code": None}
    content = orjson.dumps({"error": error})
    return Response(content, refusal.status, refusal.headers, "application/json")


def answer_response(
    request: CompletionRequest, answer: Answer, fault: FaultKind | None
) -> Response:
    """Send an answer, whole or as a stream, with what a fault makes of its content."""
    if fault is FaultKind.CUT_ANSWER:
        answer = _cut_short(answer)
    elif fault is FaultKind.NOT_JSON_CONTENT:
        update = {"content": _PROSE, "calls": (), "finish_reason": None}
        answer = answer.model_copy(update=update)
    is_stream = bool(request.body.get("stream"))
    documents = (
        _completion_events(request, answer)
        if is_stream
        else [_completion_document(request, answer)]
    )
    if fault is FaultKind.NO_CHOICES:
        documents = [{**document, "choices": []} for document in documents]
    return _stream(documents) if is_stream else document_response(documents[0])


def failure(kind: FaultKind, plan: FaultPlan, key: str) -> ASGIApp:
    """Fail without any answer.

    Args:
        kind: One of those :data:`~astra_mcp.completions.planned_faults.WITHOUT_ANSWER`.
        plan: Says how long to wait.
        key: What the client sent as its key.
    """
    match kind:
        case FaultKind.RATE_LIMITED:
            response: ASGIApp = _limited(str(plan.retry_after_seconds))
        case FaultKind.RATE_LIMITED_UNTIL:
            date = math.ceil(time.time()) + plan.retry_after_seconds
            response = _limited(formatdate(date, usegmt=True))
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
            raise ValueError(f"{kind} needs an answer to spoil")
    return response


def impair(response: Response, fault: FaultKind | None, plan: FaultPlan) -> ASGIApp:
    """Send a response the way a fault has it."""
    if fault is FaultKind.SLOW:
        return InPieces(response, plan.pause_seconds)
    if fault is FaultKind.CUT_BODY:
        return CutOff(response)
    return response


def _limited(retry_after: str) -> Response:
    headers = {"retry-after": retry_after}
    return refusal_response(Refusal(429, "too many requests; this is a planned fault", headers))


def _stream(events: Sequence[JsonObject]) -> Response:
    lines = [b"data: " + orjson.dumps(event) + b"\n\n" for event in events]
    return Response(b"".join([*lines, b"data: [DONE]\n\n"]), media_type="text/event-stream")
