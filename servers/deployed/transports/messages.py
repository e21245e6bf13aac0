"""JSON-RPC, as plain JSON objects.

Members that nobody here knows pass through untouched. Knows no transport and does no input or output.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Never, cast

import orjson

from astra_mcp import __version__
from astra_mcp.errors import NoMemoryError, RelayedError, UpstreamError
from astra_mcp.headroom import READING, require_memory
from astra_mcp.types import JsonObject, JsonValue

__all__ = [
    "CLIENT_INFO",
    "INTERNAL_ERROR",
    "MAX_MESSAGE_BYTES",
    "METHOD_NOT_FOUND",
    "as_object",
    "error_message",
    "error_of",
    "notification",
    "parse_message",
    "request_message",
    "result_message",
]

CLIENT_INFO: Final[JsonObject] = {"name": "astra-mcp", "version": __version__}
METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
MAX_MESSAGE_BYTES: Final = 64 << 20
"""One message of a server, such as a line or a body; a longer one is a failure of the server."""
_MAX_MENDED_BYTES: Final = 1 << 20
_SHORT_CHARACTERS: Final = 64 << 10
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL
)
"""An escape of JSON, or the two of one character beyond 65,535."""


def request_message(
    number: int | str, method: str, params: Mapping[str, JsonValue] | None
) -> JsonObject:
    """Make a request."""
    message: JsonObject = {"jsonrpc": "2.0", "id": number, "method": method}
    if params is not None:
        message["params"] = params if isinstance(params, dict) else dict(params)
    return message


def notification(method: str, params: Mapping[str, JsonValue] | None = None) -> JsonObject:
    """Make a notification."""
    message: JsonObject = {"jsonrpc": "2.0", "method": method}
    if params:
        message["params"] = dict(params)
    return message


def result_message(number: JsonValue, result: JsonObject) -> JsonObject:
    """Answer a request of the server."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def error_message(number: JsonValue, error: RelayedError) -> JsonObject:
    """Answer a request of the server with an error."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": number, "error": body}


def error_of(error: object) -> RelayedError:
    """Read the ``error`` member of a response, whatever a server put there."""
    members = as_object(error)
    if members is None:
        return RelayedError(
            INTERNAL_ERROR, f"the server answered an error that is no object: {error!r:.200}"
        )
    code, message = members.get("code"), members.get("message")
    return RelayedError(
        code if isinstance(code, int) else INTERNAL_ERROR,
        message
        if isinstance(message, str) and message
        else "the server gave no message with its error",
        members.get("data"),
    )


def parse_message(text: bytes | str) -> JsonObject | None:
    """Read one message; None where it is no JSON object.

    Raises:
        UpstreamError: There is no memory to read it.

    Half an emoji, as ``JSON.stringify`` writes it in the text of whoever cuts strings, is read as U+FFFD.
    """
    try:
        return as_object(_loaded(text))
    except orjson.JSONDecodeError:
        data = text.encode() if isinstance(text, str) else text
    if len(data) > _MAX_MENDED_BYTES:
        return None
    try:
        return as_object(orjson.loads(_ESCAPE.sub(_whole, data)))
    except orjson.JSONDecodeError:
        return None


def _loaded(text: bytes | str) -> object:
    """Read JSON; where memory is short by the library that takes less of it, and survives its lack."""
    if len(text) > _SHORT_CHARACTERS:
        try:
            require_memory(READING * len(text))
        except NoMemoryError:
            return _loaded_thriftily(text)
    return orjson.loads(text)


def _loaded_thriftily(text: bytes | str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse)
    except MemoryError:
        msg = f"sent {len(text)} bytes at once, and the gateway has no memory to read them (ulimit -v)"
        raise UpstreamError(msg) from None
    except (ValueError, RecursionError) as error:
        raise orjson.JSONDecodeError(str(error), "", 0) from None


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is no JSON")


def _whole(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape["half"] else escape[0]


def as_object(value: object) -> JsonObject | None:
    """Take a value out of a JSON parser for an object; None where it is none."""
    return cast("JsonObject", value) if isinstance(value, dict) else None
