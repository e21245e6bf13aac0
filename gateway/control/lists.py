"""Long lists of the control API: read, made and written item by item, between which others have their turn.

Knows models and HTTP; knows neither episodes nor where they come from.
"""

import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Annotated, Any

from fastapi import Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import (
    BaseModel,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from astra_mcp.concurrency import in_turns
from gateway.api.wire import EpisodeRequest

__all__ = ["UnreadRequest", "WholeNumber", "answer_list", "answer_parts", "read_requests"]

_SENT_AT_ONCE = 256 << 10
_JSON = "application/json"
_DIGITS = re.compile(r"[+-]?[0-9]+", re.ASCII)


def _digits(given: object) -> object:
    if isinstance(given, str) and not _DIGITS.fullmatch(given):
        raise ValueError("a whole number is written in digits alone")
    return given


WholeNumber = Annotated[int, BeforeValidator(_digits)]
"""Of a query: pydantic alone would read ``1_0`` as ten, which the document of the API does not allow."""


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
    return answer_parts([b"[", b",".join(written), b"]"], status)


def answer_parts(parts: list[bytes], status: int = 200) -> Response:
    """Answer JSON that was written in parts."""
    size = sum(map(len, parts))
    if size <= _SENT_AT_ONCE:
        return Response(b"".join(parts), status, media_type=_JSON)
    headers = {"Content-Length": str(size)}
    return StreamingResponse(_slices(parts), status, headers, media_type=_JSON)


async def _slices(parts: list[bytes]) -> AsyncGenerator[memoryview]:
    for part in map(memoryview, parts):
        for begin in range(0, len(part), _SENT_AT_ONCE):
            yield part[begin : begin + _SENT_AT_ONCE]
