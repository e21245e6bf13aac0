"""The wire of plain requests in both eras: reading one that is beyond doubt, and shaping a rare result.

Reading is strict: whatever the SDK might see otherwise is no plain request. Knows headers and JSON; knows
neither endpoints nor episodes.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import mcp_types
import orjson
from mcp import MCPError
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.types import Scope

from astra_mcp.mcp.request_context import Era
from astra_mcp.types import JsonObject, JsonValue, ToolResult

_MODERN: Final = "2026-07-28"
_HANDSHAKE: Final = frozenset({"2025-06-18", "2025-11-25"})
"""Later than these two nothing was taken away from results; older clients are the SDK's."""
_MODERN_HEADER = _MODERN.encode()
_HANDSHAKE_HEADERS = frozenset(v.encode() for v in _HANDSHAKE)
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_CALL_MEMBERS = frozenset({"name", "arguments", "_meta"})
_OTHER_MEMBERS = frozenset({"_meta"})
_ENVELOPE = (
    mcp_types.PROTOCOL_VERSION_META_KEY,
    mcp_types.CLIENT_CAPABILITIES_META_KEY,
    mcp_types.CLIENT_INFO_META_KEY,
)
_ENVELOPE_KEYS = frozenset(_ENVELOPE)
_OURS = ("io.modelcontextprotocol/", "dev.astra-mcp/")
_SENTINEL = b"=?base64?"
_MAX_DEPTH = 64
_MAX_EXACT = 2.0**63
"""A number beyond may have been an integer, which was rounded when it was read."""
_MAX_REMEMBERED = 1024
_MAX_KEY_BYTES = 4096
"""What a client says at greater length is looked at each time, and not kept."""
_NOTHING: dict[str, Any] = {}
"""Never written to."""

_accepted: dict[bytes, tuple[bool, bool]] = {}
_envelopes: set[bytes] = set()
_latest: list[Mapping[str, Any]] = []
"""The last ``_meta`` that was an envelope and nothing else: mostly the next request says the same."""


class HotRequest:
    """A request whose envelope holds."""

    __slots__ = (
        "arguments",
        "authorization",
        "capabilities",
        "era",
        "id",
        "is_as_latest",
        "meta",
        "method",
        "name",
        "own_meta",
        "session_id",
        "version",
        "wants_log",
        "wants_progress",
    )

    versions_served = _HANDSHAKE
    """Sessions of other revisions are the SDK's."""

    def __init__(self, *, era: Era, version: str, id: str | int, method: str) -> None:
        self.era = era
        self.version = version
        """Of the protocol; in the handshake era the session knows it."""
        self.id = id
        self.method = method
        self.session_id: str | None = None
        self.authorization = b""
        self.name = ""
        self.arguments: Mapping[str, JsonValue] = _NOTHING
        self.meta: Mapping[str, Any] = _NOTHING
        self.own_meta: Mapping[str, Any] = _NOTHING
        """Of ``meta`` what is the client's own."""
        self.is_as_latest = False
        """True where ``meta`` is an envelope that holds, and nothing else."""
        self.capabilities: Mapping[str, JsonValue] = _NOTHING
        self.wants_progress = False
        self.wants_log = False


def read_request(scope: Scope, body: bytes) -> HotRequest | None:
    """Read a request; None where there is the least doubt about it."""
    fields: list[tuple[bytes, bytes]] = scope["headers"]
    headers = dict(fields)
    if len(headers) != len(fields) or not _is_json(headers):
        return None  # a repeated header means different things to different readers
    takes_json, takes_streams = _accepts(headers)
    if not takes_json:
        return None
    try:
        message: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if type(message) is not dict:
        return None
    said = cast("dict[str, Any]", message)
    session = headers.get(b"mcp-session-id")
    version = headers.get(b"mcp-protocol-version")
    if version is not None:
        version = version.strip(b" \t")
    request: HotRequest | None = None
    if version == _MODERN_HEADER:
        request = _read_modern(said, headers)
    elif (
        session is not None and takes_streams and (version is None or version in _HANDSHAKE_HEADERS)
    ):
        request = _read_handshake(said, session.strip(b" \t"))
    if request is not None:
        request.authorization = headers.get(b"authorization", b"")
    return request


def _is_json(headers: Mapping[bytes, bytes]) -> bool:
    kind = headers.get(b"content-type", b"")
    return kind == b"application/json" or kind.startswith(b"application/json;")


def _accepts(headers: Mapping[bytes, bytes]) -> tuple[bool, bool]:
    """Tell whether a client takes plain JSON, and whether it takes event streams."""
    accept = headers.get(b"accept", b"")
    known = _accepted.get(accept)
    if known is None:
        types = {t.split(b";")[0].strip().lower() for t in accept.split(b",")}
        known = (
            not types.isdisjoint((b"*/*", b"application/json", b"application/*")),
            not types.isdisjoint((b"*/*", b"text/event-stream", b"text/*")),
        )
        if len(_accepted) >= _MAX_REMEMBERED:
            _accepted.clear()
        if len(accept) <= _MAX_KEY_BYTES:
            _accepted[accept] = known
    return known


def _read_message(message: dict[str, Any], era: Era, version: str) -> HotRequest | None:
    """Check what both eras share: the members of the message and of its params."""
    number, method, params = message.get("id"), message.get("method"), message.get("params")
    if (
        message.get("jsonrpc") != "2.0"
        or (type(number) is not int and type(number) is not str)
        or type(method) is not str
        or not message.keys() <= _MEMBERS
    ):
        return None
    request = HotRequest(era=era, version=version, id=number, method=method)
    if "params" not in message:
        return request if method != "tools/call" else None
    if type(params) is not dict:
        return None
    given = cast("dict[str, Any]", params)
    is_read = (
        _read_call(request, given) if method == "tools/call" else given.keys() <= _OTHER_MEMBERS
    )
    if is_read and "_meta" in given:
        return _read_meta(request, given["_meta"])
    return request if is_read else None


def _read_call(request: HotRequest, params: dict[str, Any]) -> bool:
    name, arguments = params.get("name"), params.get("arguments", _NOTHING)
    if type(name) is not str or type(arguments) is not dict or not params.keys() <= _CALL_MEMBERS:
        return False
    request.name = name
    request.arguments = given = cast("dict[str, Any]", arguments)
    return _is_sound(given, _MAX_DEPTH)


def _read_meta(request: HotRequest, meta: Any) -> HotRequest | None:
    if type(meta) is not dict:
        return None
    said = request.meta = cast("dict[str, Any]", meta)
    if [said] == _latest:
        request.is_as_latest = True
        return request
    return request if _read_own(request, said) else None


def _read_own(request: HotRequest, meta: dict[str, Any]) -> bool:
    """Read what is not of the envelope."""
    own: dict[str, Any] = {}
    for key, value in meta.items():
        if key in _ENVELOPE_KEYS:
            continue
        if key == "progressToken":
            if type(value) is not int and type(value) is not str:
                return False
            request.wants_progress = True
        if not key.startswith(_OURS):
            own[key] = value
        elif key.startswith(_OURS[0]):
            if key != mcp_types.LOG_LEVEL_META_KEY:
                return False
            request.wants_log = True
    request.own_meta = own
    return not own or _is_sound(own, _MAX_DEPTH)


def _read_modern(message: dict[str, Any], headers: Mapping[bytes, bytes]) -> HotRequest | None:
    request = _read_message(message, Era.MODERN, _MODERN)
    if request is None or request.method not in ("tools/call", "tools/list"):
        return None
    if not _is_routed(request, headers):
        return None
    meta = request.meta
    capabilities = meta.get(mcp_types.CLIENT_CAPABILITIES_META_KEY)
    if request.is_as_latest:
        request.capabilities = cast("JsonObject", capabilities)
        return request
    if meta.get(mcp_types.PROTOCOL_VERSION_META_KEY) != _MODERN or type(capabilities) is not dict:
        return None
    if not _is_envelope(request, message["params"]):
        return None
    request.capabilities = cast("JsonObject", capabilities)
    return request


def _is_routed(request: HotRequest, headers: Mapping[bytes, bytes]) -> bool:
    """True where the routing headers say what the body says, in plain characters."""
    if headers.get(b"mcp-method", b"").strip(b" \t") != request.method.encode():
        return False
    if request.method != "tools/call":
        return True
    name = headers.get(b"mcp-name", b"").strip(b" \t")
    return (
        request.name.isascii() and name == request.name.encode() and not name.startswith(_SENTINEL)
    )


def _is_envelope(request: HotRequest, params: dict[str, Any]) -> bool:
    """Check what the client says of itself as the SDK does, once for each thing that is said."""
    meta = request.meta
    said = {key: meta[key] for key in (*_ENVELOPE, mcp_types.LOG_LEVEL_META_KEY) if key in meta}
    key = orjson.dumps(said)
    if key not in _envelopes:
        try:
            methods.validate_client_request(request.method, request.version, params)
        except (ValidationError, KeyError):
            return False
        if len(_envelopes) >= _MAX_REMEMBERED:
            _envelopes.clear()
        if len(key) <= _MAX_KEY_BYTES:
            _envelopes.add(key)
    if key in _envelopes and meta.keys() <= _ENVELOPE_KEYS:
        _latest[:] = [meta]
    return True


def _read_handshake(message: dict[str, Any], session: bytes) -> HotRequest | None:
    request = _read_message(message, Era.HANDSHAKE, "")
    if request is None or request.method not in ("tools/call", "tools/list", "ping"):
        return None
    if any(key in request.meta for key in _ENVELOPE) or request.wants_log:
        return None
    request.session_id = session.decode("latin-1")
    return request


def _is_sound(value: dict[str, Any] | list[Any], depth: int) -> bool:
    """True where a value was read as it was sent: no rounded number, no great depth."""
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, (dict, list)):
            if depth <= 1 or not _is_sound(cast("dict[str, Any] | list[Any]", part), depth - 1):
                return False
        elif isinstance(part, float) and not -_MAX_EXACT < part < _MAX_EXACT:
            return False
    return True


def is_plain(result: ToolResult) -> bool:
    """True where a result is the same in both eras: texts, and at most a structured object."""
    if result.refusal or result.asks or result.meta is not None:
        return False
    if not isinstance(result.structured, dict | None):
        return False
    return all(
        len(block) == 2 and block.get("type") == "text" and isinstance(block.get("text"), str)
        for block in result.content
    )


def shaped(method: str, version: str, result: JsonObject, server_info: JsonObject) -> JsonObject:
    """Bring a result into the shape of a revision, as the SDK's server does.

    Raises:
        MCPError: It is no result of this method.
    """
    if method == "tools/list":  # lists differ by episode and caller: nobody may keep or share them
        result = {"ttlMs": 0, "cacheScope": "private", **result}
    if version in MODERN_PROTOCOL_VERSIONS:
        result = {"resultType": "complete", **result}
    try:
        found = methods.serialize_server_result(method, version, result)
    except ValidationError:
        code, message = mcp_types.INTERNAL_ERROR, "Handler returned an invalid result"
        raise MCPError(code, message) from None
    if version not in MODERN_PROTOCOL_VERSIONS:
        return found
    meta = cast("JsonObject", found.get("_meta") or {})
    if meta.get(mcp_types.SERVER_INFO_META_KEY) is None:
        found["_meta"] = {**meta, mcp_types.SERVER_INFO_META_KEY: server_info}
    return found
