"""HTTP requests to the agent plane that are wrong in one or several ways, made from a seed.

Most begin as a right request and are bent: members, types, headers, bytes, framing. The same seed makes
the same frames. Knows MCP's two eras and HTTP/1.1, and nothing of how they are answered.
"""

import json
import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from mcp_wire import HANDSHAKE, MODERN, modern_meta

__all__ = ["Frame", "FrameMaker"]

_METHODS = (
    *(("tools/call",) * 6),
    *(("tools/list",) * 2),
    *("ping", "initialize", "notifications/initialized", "notifications/cancelled"),
    *("server/discover", "resources/list", "resources/read", "prompts/get", "completion/complete"),
    *("logging/setLevel", "subscriptions/listen", "tasks/get", "no/such", "", "tools/call "),
)
_WORDS = (
    *(
        "",
        "echo",
        "a" * 5000,
        "\u0000",
        "北京",
        "\ud83d",
        "../../etc/passwd",
        "%00",
        "null",
        "1e999",
    ),
    *("io.modelcontextprotocol/protocolVersion", "dev.astra-mcp/call-id", "__proto__", "\r\nX: y"),
)
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**53, 2**63, -(2**63) - 1, 10**40, 1e308),
    *([], {}, [[]], {"a": {"b": []}}, "", "x", "9" * 400),
)
_OWN = "{host}"
"""Stands for what the request has for a host: a page of the gateway itself may ask it."""
_ORIGINS = (
    *(("http://{host}",) * 3),
    *("http://evil.example", "http://127.0.0.1:1", "null", "", "http://{host}:1", "//{host}"),
)
_VERSIONS = (
    MODERN,
    HANDSHAKE,
    "2025-06-18",
    "2024-11-05",
    "1999-01-01",
    "",
    "\u00ff",
    "2026-07-28 ",
)
_RAW_VALUES = (
    b"NaN",
    b"Infinity",
    b"1e99999",
    b'"\\ud800"',
    b'"\xff\xfe"',
    b"9" * 5000,
    b"tru",
    b"",
)


@dataclass(kw_only=True)
class Frame:
    """One request as bytes, and what may be expected of its answer."""

    content: bytes
    is_whole: bool = True
    """True where it is one complete request whose connection can be used again."""
    path: str = ""
    """Where it goes to."""
    number: int | None = None
    """Id of the request where it is right in every way and must be answered rightly."""
    text: str = ""
    """What the answer must say then."""
    what: str = ""
    """For people: what is wrong with it."""


@dataclass
class _Draft:
    """A request while it is being bent."""

    path: str
    headers: list[tuple[str, str]]
    body: Any
    method: str = "POST"
    raw: bytes | None = None
    """The body as bytes, where it is no longer the JSON of ``body``."""
    wrongs: list[str] = field(default_factory=list[str])
    is_whole: bool = True

    @property
    def content(self) -> bytes:
        return _encode(self.body) if self.raw is None else self.raw


def _encode(body: Any) -> bytes:
    try:
        return orjson.dumps(body)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(body).encode("utf-8", "surrogatepass")


class FrameMaker:
    """Makes frames; one for each connection, so that each has its own chance."""

    def __init__(self, seed: str, *, host: str, control: float = 0.1) -> None:
        """Begin.

        Args:
            seed: Decides every frame.
            host: Of the ``Host`` header.
            control: Share of frames that are right, and whose answers are checked.
        """
        self._chance = random.Random(seed)  # noqa: S311 - frames, no secrets
        self._host = host
        self._control = control
        self._number = 0

    def make(self, paths: Sequence[str], sessions: Sequence[tuple[str, str]]) -> Frame:
        """Make one frame.

        Args:
            paths: Endpoints that exist.
            sessions: Endpoints with a session of the handshake era there.
        """
        self._number += 1
        if self._chance.random() < self._control:
            return self._right(self._chance.choice(paths))
        draft = self._draft(paths, sessions)
        for _ in range(self._chance.choice((1, 1, 1, 2, 3))):
            bend = self._chance.choice(_BENDS)
            draft.wrongs.append(bend.__name__.removeprefix("_"))
            bend(self._chance, draft)
        framing = self._chance.choice(_FRAMINGS) if self._chance.random() < 0.15 else _plain
        draft.wrongs.append(framing.__name__.removeprefix("_"))
        content = framing(self._chance, draft)
        return Frame(
            content=content, is_whole=draft.is_whole, path=draft.path, what=" ".join(draft.wrongs)
        )

    def _right(self, path: str) -> Frame:
        text = f"right-{self._number}"
        draft = self._call(path, "modern", text)
        return Frame(
            content=_plain(self._chance, draft), number=self._number, text=text, what="nothing"
        )

    def _call(self, path: str, era: str, text: str) -> _Draft:
        name = "echo" if path != "/mcp" else "echo__echo"
        params: dict[str, Any] = {"name": name, "arguments": {"text": text}}
        return self._request(path, era, "tools/call", params)

    def _request(self, path: str, era: str, method: str, params: dict[str, Any]) -> _Draft:
        headers = [
            ("Host", self._host),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ]
        if era == "modern":
            params = {**params, "_meta": modern_meta()}
            headers += [("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)]
            if isinstance(params.get("name"), str):
                headers.append(("Mcp-Name", params["name"]))
        body = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return _Draft(path, headers, body)

    def _draft(self, paths: Sequence[str], sessions: Sequence[tuple[str, str]]) -> _Draft:
        method = self._chance.choice(_METHODS)
        path, session = self._chance.choice(paths), None
        era = self._chance.choice(("modern", "handshake"))
        if era == "handshake" and sessions and self._chance.random() < 0.7:
            path, session = self._chance.choice(sessions)
        if method == "tools/call":
            draft = self._call(path, era, self._chance.choice(_WORDS))
        elif method == "initialize":
            hello: dict[str, Any] = {"protocolVersion": HANDSHAKE, "capabilities": {}}
            hello |= {"clientInfo": {"name": "fuzz", "version": "1"}}
            draft = self._request(path, "handshake", method, hello)
        else:
            params = self._chance.choice(({}, {"uri": "a:b"}, {"name": "echo"}, {"cursor": "x"}))
            draft = self._request(path, era, method, dict(params))
        if method.startswith("notifications/"):
            del draft.body["id"]
        if session is not None:
            draft.headers += [("Mcp-Session-Id", session), ("MCP-Protocol-Version", HANDSHAKE)]
        return draft


# --- what can be wrong with a message -----------------------------------------------------------

_Chance = random.Random


def _odd(chance: _Chance, *more: Any) -> Any:
    """A new copy, since later bends change it."""
    return deepcopy(chance.choice((*_ODD, *more)))


def _members(value: Any) -> dict[str, Any]:
    """The object itself; of anything else none, so that a change to it is lost."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _odd_id(chance: _Chance, draft: _Draft) -> None:
    _members(draft.body)["id"] = _odd(chance)


def _odd_member(chance: _Chance, draft: _Draft) -> None:
    """Any member, at any depth, becomes something odd, or goes."""
    at = _members(draft.body)
    while at:
        key = chance.choice(list(at))
        below = _members(at[key])
        if below and chance.random() < 0.6:
            at = below
            continue
        at[key] = _odd(chance, *_WORDS)
        if chance.random() < 0.2:
            del at[key]
        return


def _odd_meta(chance: _Chance, draft: _Draft) -> None:
    params = _members(_members(draft.body).get("params"))
    names = ("call-id", "seq", "argument-fault", "nothing")
    meta = {f"dev.astra-mcp/{chance.choice(names)}": _odd(chance, *_WORDS)}
    more = ("progressToken", "traceparent", "io.modelcontextprotocol/logLevel", "tracestate")
    meta[chance.choice(more)] = _odd(chance, *_WORDS)
    params["_meta"] = meta | _members(params.get("_meta"))


def _odd_arguments(chance: _Chance, draft: _Draft) -> None:
    params = _members(_members(draft.body).get("params"))
    params["arguments"] = _odd(chance, {"text": _odd(chance, *_WORDS)})


def _new_member(chance: _Chance, draft: _Draft) -> None:
    names = ("result", "error", "inputResponses", "requestState", "jsonrpc", "method", "params")
    target = _members(draft.body)
    if chance.random() < 0.5:
        target = _members(target.get("params"))
    target[chance.choice((*names, *_WORDS))] = _odd(chance, *_WORDS)


def _other_message(chance: _Chance, draft: _Draft) -> None:
    """No request: an answer, an error, a batch, a bare value."""
    number = chance.choice((1, "1", None))
    bodies: tuple[Any, ...] = (
        {"jsonrpc": "2.0", "id": number, "result": {}},
        {"jsonrpc": "2.0", "id": number, "error": {"code": -1, "message": "x"}},
        [draft.body, draft.body],
        [],
        _odd(chance),
    )
    draft.body = chance.choice(bodies)


def _deep(chance: _Chance, draft: _Draft) -> None:
    depth = chance.choice((50, 99, 100, 101, 500, 2000, 20_000))
    left, right = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nested = left * depth + b"1" + right * depth
    draft.raw = draft.content.replace(b'"arguments":', b'"arguments":' + nested + b',"x":', 1)


def _large(chance: _Chance, draft: _Draft) -> None:
    size = chance.choice((1000, 60_000, 300_000))
    draft.raw = draft.content.replace(b'"text":"', b'"text":"' + b"z" * size, 1)


def _raw_value(chance: _Chance, draft: _Draft) -> None:
    """A value that JSON does not have, in the place of one that it has."""
    parts = draft.content.split(b":")
    at = chance.randrange(len(parts))
    parts[at] = chance.choice(_RAW_VALUES) + b"," + parts[at].rpartition(b",")[2]
    draft.raw = b":".join(parts)


def _double_member(chance: _Chance, draft: _Draft) -> None:
    pairs = (b'"id":1,', b'"id":"x",', b'"method":"ping",', b'"jsonrpc":"1.0",', b'"params":[],')
    draft.raw = draft.content.replace(b"{", b"{" + chance.choice(pairs), 1)


def _flipped(chance: _Chance, draft: _Draft) -> None:
    content = bytearray(draft.content)
    for _ in range(chance.choice((1, 1, 3, 20))):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    draft.raw = bytes(content)


def _bad_text(chance: _Chance, draft: _Draft) -> None:
    bad = chance.choice(
        (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x00", b"\xef\xbb\xbf")
    )
    content = draft.content
    at = chance.randrange(len(content) + 1)
    draft.raw = content[:at] + bad + content[at:]


def _cut(chance: _Chance, draft: _Draft) -> None:
    content = draft.content
    draft.raw = content[: chance.randrange(len(content) + 1)]


def _more(chance: _Chance, draft: _Draft) -> None:
    draft.raw = draft.content + chance.choice((b"{}", b" ", b"\n", b"]", b"\x00", draft.content))


def _noise(chance: _Chance, draft: _Draft) -> None:
    draft.raw = chance.randbytes(chance.choice((0, 1, 7, 400)))


# --- what can be wrong with the HTTP around it --------------------------------------------------


def _other_header(chance: _Chance, draft: _Draft) -> None:
    """A header of the protocol gets another value, goes, or comes twice."""
    values: dict[str, Sequence[str]] = {
        "Content-Type": ("text/plain", "application/json; charset=utf-16", "", "application/jsonx"),
        "Accept": ("", "text/html", "application/json", "text/event-stream", "*/*"),
        "MCP-Protocol-Version": _VERSIONS,
        "Mcp-Method": ("tools/list", "tools/call", "", "TOOLS/CALL", "x" * 3000),
        "Mcp-Name": ("", "other", "=?base64?ZWNobw==?=", "=?base64?!?=", "\u00ff", " echo "),
        "Mcp-Session-Id": ("", "none", "x" * 300, "\u00ff"),
        "Mcp-Param-Text": ("x", "", "=?base64?!?="),
        "Last-Event-ID": ("1", "x"),
        "Origin": _ORIGINS,
        "Host": ("evil.example", "", "localhost:99999", "127.0.0.1@evil"),
        "Authorization": ("Bearer x", "Bearer", "Basic eDp5", "Bearer " + "y" * 4000),
        "Connection": ("close", "upgrade", "keep-alive, foo"),
        "Expect": ("100-continue", "200-ok"),
        "Upgrade": ("websocket", "h2c"),
    }
    name = chance.choice(list(values))
    own = next((value for key, value in draft.headers if key == "Host"), "")
    kept = [pair for pair in draft.headers if pair[0] != name]
    chosen = chance.choice(values[name]).replace(_OWN, own)
    way = chance.random()
    if way < 0.2:
        draft.headers = kept
    elif way < 0.8:
        draft.headers = [*kept, (name, chosen)]
    else:
        draft.headers = [*draft.headers, (name, chosen)]
    if name in ("Connection", "Upgrade", "Expect"):
        draft.is_whole = False


def _many_headers(chance: _Chance, draft: _Draft) -> None:
    draft.headers += [(f"X-{i}", "v" * 10) for i in range(chance.choice((90, 101, 300)))]


def _long_header(chance: _Chance, draft: _Draft) -> None:
    draft.headers.append(("X-Long", "v" * chance.choice((8000, 33_000, 70_000))))
    draft.is_whole = False


def _other_method(chance: _Chance, draft: _Draft) -> None:
    draft.method = chance.choice(
        ("PUT", "PATCH", "OPTIONS", "DELETE", "GET", "TRACE", "post", "HEAD")
    )
    draft.is_whole = draft.is_whole and draft.method != "HEAD"


def _other_path(chance: _Chance, draft: _Draft) -> None:
    more = ("/", "/../mcp", "?caller=" + "z" * 300, "?caller=%ff", "%2f", "/mcp", "#x", "?", "//")
    odd = ("*", "http://evil/mcp", "/servers//mcp", "/episodes/x/mcp", "/servers/%00/mcp", "/v1/x")
    bent = chance.random() < 0.5
    draft.path = chance.choice(odd) if bent else draft.path + chance.choice(more)


_BENDS: tuple[Callable[[_Chance, _Draft], None], ...] = (
    *(_odd_id, _odd_member, _odd_member, _odd_member, _odd_meta, _odd_arguments, _new_member),
    *(_other_message, _deep, _large, _raw_value, _double_member, _flipped, _bad_text, _cut, _more),
    *(_noise, _other_header, _other_header, _other_header, _many_headers, _long_header),
    *(_other_method, _other_path),
)


# --- framing ------------------------------------------------------------------------------------


def _head(draft: _Draft, *more: tuple[str, str], version: str = "HTTP/1.1") -> bytes:
    lines = [f"{draft.method} {draft.path} {version}"]
    lines += [f"{name}: {value}" for name, value in (*draft.headers, *more)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _plain(_: _Chance, draft: _Draft) -> bytes:
    content = draft.content
    return _head(draft, ("Content-Length", str(len(content)))) + content


def _chunked(chance: _Chance, draft: _Draft) -> bytes:
    content, parts = draft.content, list[bytes]()
    while content:
        size = chance.randint(1, len(content))
        parts.append(f"{size:x}\r\n".encode() + content[:size] + b"\r\n")
        content = content[size:]
    return _head(draft, ("Transfer-Encoding", "chunked")) + b"".join(parts) + b"0\r\n\r\n"


def _bad_chunks(chance: _Chance, draft: _Draft) -> bytes:
    draft.is_whole = False
    bad = chance.choice(
        (b"zz\r\n", b"-1\r\n", b"fffffffffffffffff\r\n", b"5\r\nab", b"0\r\nX: y\r\n\r\n")
    )
    return _head(draft, ("Transfer-Encoding", "chunked")) + bad


def _wrong_length(chance: _Chance, draft: _Draft) -> bytes:
    draft.is_whole = False
    content = draft.content
    odd = (str(len(content) + 9), str(max(0, len(content) - 3)), "-1", "x", "9" * 30, "1, 1", " ")
    return _head(draft, ("Content-Length", chance.choice(odd))) + content


def _both_lengths(_: _Chance, draft: _Draft) -> bytes:
    draft.is_whole = False
    content = draft.content
    fields = (("Content-Length", str(len(content))), ("Transfer-Encoding", "chunked"))
    return _head(draft, *fields) + f"{len(content):x}\r\n".encode() + content + b"\r\n0\r\n\r\n"


def _truncated(chance: _Chance, draft: _Draft) -> bytes:
    draft.is_whole = False
    content = _plain(chance, draft)
    return content[: chance.randrange(len(content))]


def _pipelined(chance: _Chance, draft: _Draft) -> bytes:
    draft.is_whole = False
    return _plain(chance, draft) * chance.choice((2, 3, 10))


def _old_version(chance: _Chance, draft: _Draft) -> bytes:
    draft.is_whole = False
    content = draft.content
    version = chance.choice(("HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.1x", "SIP/2.0"))
    return _head(draft, ("Content-Length", str(len(content))), version=version) + content


def _bad_head(chance: _Chance, draft: _Draft) -> bytes:
    draft.is_whole = False
    content = _plain(chance, draft)
    return chance.choice(
        (
            content.replace(b"\r\n", b"\n"),
            content.replace(b": ", b":\t ", 3),
            content.replace(b"Host", b"Host ", 1),
            content.replace(b"Accept: ", b" Accept: ", 1),
            content.replace(b"\r\n", b"\r\n\x00", 1),
            b"\r\n\r\n" + content,
            chance.randbytes(50) + b"\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        )
    )


_FRAMINGS: tuple[Callable[[_Chance, _Draft], bytes], ...] = (
    *(_chunked, _bad_chunks, _wrong_length, _both_lengths, _truncated, _pipelined),
    *(_old_version, _bad_head),
)
