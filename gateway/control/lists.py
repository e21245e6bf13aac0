"""Long lists of the control API: read, made and written item by item, between which others have their turn.

Knows models and HTTP; knows neither episodes nor where they come from.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Annotated, Any

import anyio
from fastapi import Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import (
    BaseModel,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from astra_mcp.call_record import CallRecord
from astra_mcp.concurrency import drop_in_slices, in_turns
from gateway.api.wire import EpisodeRecord, EpisodeRequest

__all__ = ["UnreadRequest", "answer_list", "answer_record", "read_requests"]

_SLICE = 200
"""Calls that are written at a time; some take as long as a millisecond, of results of a megabyte."""
_SENT_AT_ONCE = 256 << 10
_CALLS = TypeAdapter(tuple[CallRecord, ...])
_JSON = "application/json"


class _Unread:
    """Documents a request for an episode, and reads nothing of it."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source, handler
        return core_schema.any_schema()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema
        return handler(EpisodeRequest.__pydantic_core_schema__)


UnreadRequest = Annotated[Any, _Unread]
"""One of many, which FastAPI would read in one step: see :func:`read_requests`."""


async def read_requests(body: Sequence[UnreadRequest]) -> list[EpisodeRequest]:
    """Read the requests of a batch.

    Raises:
        RequestValidationError: Names what is wrong with the first that is.
    """
    requests: list[EpisodeRequest] = []
    async for place, given in in_turns(enumerate(body)):
        try:
            requests.append(EpisodeRequest.model_validate(given))
        except ValidationError as error:
            faults = error.errors(include_url=False)
            places = [{**fault, "loc": ("body", place, *fault["loc"])} for fault in faults]
            raise RequestValidationError(places) from None
    return requests


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
