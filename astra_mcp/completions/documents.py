"""Answers as the API's documents: whole, or as the events of a stream."""

import json
from collections.abc import Iterator, Sequence
from typing import cast

from astra_mcp.completions.reply import Answer, AnswerCall
from astra_mcp.completions.request import CompletionRequest
from astra_mcp.types import JsonObject, canonical_json

__all__ = ["completion_document", "completion_events", "cut_short", "error_document", "prose"]

_CHARACTERS_PER_TOKEN = 4
_PROSE = "I would rather say it in my own words, which are not what was asked for."


def completion_document(request: CompletionRequest, answer: Answer) -> JsonObject:
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


def completion_events(request: CompletionRequest, answer: Answer) -> list[JsonObject]:
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


def error_document(message: str, kind: str = "server_error") -> JsonObject:
    """Write an error in the form of the API."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def cut_short(answer: Answer) -> Answer:
    """Make of an answer one that reached its limit of tokens half-way."""
    text = answer.text
    return answer.model_copy(
        update={
            "content": None if text is None else text[: len(text) // 2],
            "calls": tuple(
                call.model_copy(
                    update={"arguments": _arguments(call)[: len(_arguments(call)) // 2]}
                )
                for call in answer.calls[:1]
            ),
            "finish_reason": "length",
        }
    )


def prose(answer: Answer) -> Answer:
    """Put prose in the place of what an answer says."""
    return answer.model_copy(update={"content": _PROSE, "calls": (), "finish_reason": None})


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
