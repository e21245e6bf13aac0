"""Reads what a tool process said. It may lie about everything, so shape and size are checked here."""

from collections.abc import Mapping
from typing import cast

import orjson

from astra_mcp.errors import SandboxError
from astra_mcp.sandbox.channel import Message
from astra_mcp.sandbox.protocol import Raised, Returned
from astra_mcp.sandbox.zygote.frames import RETURNED
from astra_mcp.sandbox.zygote.settings import RESULT_VALUES
from astra_mcp.text.json_bounds import bounds_fault
from astra_mcp.types import JsonValue

__all__ = ["MalformedReplyError", "head_limit", "parse_call", "parse_head"]

_MAX_DEPTH = 100
_MAX_KIND = 100
_MAX_MESSAGE = 2000
_ESCAPED = 6
"""Bytes that JSON may need for one byte of text."""


class MalformedReplyError(SandboxError):
    """A process sent what no honest loop sends."""


def head_limit(output_bytes: int) -> int:
    """Largest head, in bytes, that an honest process sends when it keeps so much printed text."""
    return _ESCAPED * (output_bytes + 4 * _MAX_MESSAGE + 1024)


def parse_head(message: Message) -> Mapping[str, JsonValue]:
    """Decode a head.

    Raises:
        MalformedReplyError: Not a JSON object.
    """
    try:
        head = orjson.loads(message.head)
    except orjson.JSONDecodeError as error:
        raise MalformedReplyError("a reply is not JSON") from error
    if not isinstance(head, dict):
        raise MalformedReplyError("a reply is not an object")
    return cast("dict[str, JsonValue]", head)


def parse_call(message: Message, *, call: str, output_bytes: int) -> Returned | Raised:
    """Decode the answer to a call, which carries the call's name.

    Raises:
        MalformedReplyError: Not the shape that the loop sends, or the answer to something else.
    """
    if message.head == RETURNED % call.encode():  # as nearly always
        return Returned(value=_value(message.body))
    head = parse_head(message)
    if head.get("call") != call:
        raise MalformedReplyError("a reply to another call, or to none")
    output = _text(head, "output", output_bytes)
    match head.get("status"):
        case "returned":
            return Returned(value=_value(message.body), output=output)
        case ("raised" | "interrupted") as status if not message.body:
            return Raised(
                kind=_text(head, "kind", _MAX_KIND),
                message=_text(head, "message", _MAX_MESSAGE),
                output=output,
                is_timeout=status == "interrupted",
            )
        case _:
            raise MalformedReplyError("a reply has no known status")


def _text(head: Mapping[str, JsonValue], key: str, limit: int) -> str:
    value = head.get(key, "")
    if not isinstance(value, str) or len(value) > limit:
        raise MalformedReplyError(f"{key} of a reply is not a text of at most {limit} characters")
    return value


def _value(body: bytes) -> JsonValue:
    fault = bounds_fault(body, RESULT_VALUES)
    if fault is not None:
        raise MalformedReplyError(f"a result is beyond its bounds: {fault}")
    try:
        value: JsonValue = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedReplyError("a result is not JSON") from error
    if isinstance(value, dict | list):
        _check_depth(value)
    return value


def _check_depth(value: JsonValue) -> None:
    level: list[JsonValue] = [value]
    for _ in range(_MAX_DEPTH + 1):
        level = [item for node in level for item in _children(node)]
        if not level:
            return
    raise MalformedReplyError(f"a result is nested deeper than {_MAX_DEPTH} levels")


def _children(node: JsonValue) -> list[JsonValue]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []
