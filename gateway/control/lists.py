"""Long answers of the control API: made and written slice by slice, between which others have their turn.

Knows models and HTTP answers; knows neither episodes nor where they come from.
"""

from collections.abc import AsyncGenerator, Iterable

import anyio
from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, TypeAdapter

from astra_mcp.call_record import CallRecord
from astra_mcp.concurrency import drop_in_slices, in_turns
from gateway.api.wire import EpisodeRecord

__all__ = ["answer_list", "answer_record"]

_SLICE = 200
"""Calls that are written at a time; some take as long as a millisecond, of results of a megabyte."""
_SENT_AT_ONCE = 256 << 10
_CALLS = TypeAdapter(tuple[CallRecord, ...])
_JSON = "application/json"


async def answer_list(items: Iterable[BaseModel], status: int = 200) -> Response:
    """Answer a JSON list; the items may be made while it is written."""
    written = [item.__pydantic_serializer__.to_json(item) async for item in in_turns(items)]
    return _answer([b"[", b",".join(written), b"]"], status)


async def answer_record(held: list[EpisodeRecord]) -> Response:
    """Answer a record, the only one in a list, which holds it alone and is emptied."""
    return _answer(await anyio.to_thread.run_sync(_written, held), 200)


def _answer(parts: list[bytes], status: int) -> Response:
    size = sum(map(len, parts))
    if size <= _SENT_AT_ONCE:
        return Response(b"".join(parts), status, media_type=_JSON)
    headers = {"Content-Length": str(size)}
    return StreamingResponse(_slices(parts), status, headers, media_type=_JSON)


async def _slices(parts: list[bytes]) -> AsyncGenerator[memoryview]:
    for part in map(memoryview, parts):
        for begin in range(0, len(part), _SENT_AT_ONCE):
            yield part[begin : begin + _SENT_AT_ONCE]


def _written(held: list[EpisodeRecord]) -> list[bytes]:
    """Write a record as JSON in a thread, and drop it there, slice by slice."""
    record = held.pop()
    whole = record.model_copy(update={"calls": ()}).model_dump_json().encode()
    parts = [whole.removesuffix(b"]}")]
    for begin in range(0, len(record.calls), _SLICE):
        part = _CALLS.dump_json(record.calls[begin : begin + _SLICE])
        parts += (b"," if begin else b"", part[1:-1])
    parts.append(b"]}")
    calls = [*record.calls]
    del record
    drop_in_slices(calls)
    return parts
