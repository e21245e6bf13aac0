"""A deployed server that goes wrong on request, over stdio or HTTP, of nothing but the standard library.

    python faulty_server.py --ledger FILE [--http PORT]

Its tool ``count`` changes the world: each execution appends its nonce to the ledger, which all processes
of the server share, so that anybody can see what was executed how often. The argument ``fault`` says what
goes wrong after that. HTTP is written by hand, since a library would not let it misbehave on the wire.
Speaks both eras of MCP.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

__all__ = ["HTTP_FAULTS", "STDIO_FAULTS", "main"]

SLOW_SECONDS = 0.15
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
STDIO_FAULTS = (
    "slow",
    "hang",
    "garbage",
    "wrong-id",
    "half-line",
    "close-output",
    "exit",
    "kill-before",
    "kill",
)
HTTP_FAULTS = (
    "slow",
    "hang",
    "no-http",
    "no-json",
    "wrong-id",
    "empty",
    "status-500",
    "lost-session",
    "close",
    "cut-head",
    "cut-body",
    "cut-chunk",
    "cut-events",
)
COUNT: dict[str, Any] = {
    "name": "count",
    "description": "Write a nonce into the ledger, and say it again.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "nonce": {"type": "string"},
            "fault": {"enum": ["", *dict.fromkeys((*STDIO_FAULTS, *HTTP_FAULTS))]},
        },
        "required": ["nonce"],
    },
}
NAME = {"name": "faulty", "version": "1"}


class RequestLog:
    """What was executed, in a file that several processes append to."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def execute(self, nonce: str) -> None:
        """Note one execution; a single write, so that lines of processes do not mix."""
        os.write(self._file, nonce.encode() + b"\n")


def answer_plainly(message: dict[str, Any], ledger: RequestLog) -> dict[str, Any] | None:
    """Answer a message as a good server does; None where it wants no answer."""
    if "id" not in message or "method" not in message:
        return None
    params: dict[str, Any] = message.get("params") or {}
    meta: dict[str, Any] = params.get("_meta") or {}
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    result = _result(str(message["method"]), params, ledger)
    if result is None:
        return reply | {"error": {"code": -32601, "message": "Method not found"}}
    if "io.modelcontextprotocol/protocolVersion" in meta:
        result = {"resultType": "complete", **result}
    return reply | {"result": result}


def _result(method: str, params: dict[str, Any], ledger: RequestLog) -> dict[str, Any] | None:
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in HANDSHAKES else HANDSHAKES[-1]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": NAME}
        case "server/discover":
            return {
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {}},
                "serverInfo": NAME,
                "ttlMs": 0,
                "cacheScope": "private",
            }
        case "tools/list":
            return {"tools": [COUNT], "ttlMs": 0, "cacheScope": "private"}
        case "tools/call":
            nonce = str(_arguments(params).get("nonce", ""))
            ledger.execute(nonce)
            text = {"type": "text", "text": nonce}
            return {"content": [text], "structuredContent": {"pid": os.getpid()}}
        case "ping":
            return {}
        case _:
            return None


def _arguments(params: dict[str, Any]) -> dict[str, Any]:
    return params.get("arguments") or {}


def _fault(message: dict[str, Any]) -> str:
    if message.get("method") != "tools/call":
        return ""
    return str(_arguments(message.get("params") or {}).get("fault", ""))


# --- stdio --------------------------------------------------------------------------------------


def serve_stdio(ledger: RequestLog) -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        message = json.loads(line)
        fault = _fault(message)
        if fault == "kill-before":
            os.kill(os.getpid(), signal.SIGKILL)
        reply = answer_plainly(message, ledger)
        if reply is not None:
            _write_faultily(fault, reply)


def _write_faultily(fault: str, reply: dict[str, Any]) -> None:
    line = json.dumps(reply).encode() + b"\n"
    match fault:
        case "slow":
            time.sleep(SLOW_SECONDS)
        case "hang":
            return
        case "garbage":
            line = b"\xff\xfe{[ this is not JSON\n"
        case "wrong-id":
            line = json.dumps(reply | {"id": "never-asked"}).encode() + b"\n"
        case "half-line":
            line = line[: len(line) // 2]
        case "exit":
            sys.stderr.write("the server stops here\n")
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "close-output":
            os.close(1)
            time.sleep(3600)
        case _:
            pass
    os.write(1, line)
    if fault == "half-line":
        os._exit(0)


# --- HTTP ---------------------------------------------------------------------------------------


class HttpServer:
    """Streamable HTTP with JSON answers, by hand."""

    def __init__(self, ledger: RequestLog) -> None:
        self._ledger = ledger
        self._sessions: set[str] = set()
        self._lost: set[str] = set()
        """Nonces whose call has lost its session once; a second try is answered."""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False where the connection is over."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:])
        }
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        if not head[0].startswith("POST"):
            status = "200 OK" if head[0].startswith("DELETE") else "405 Method Not Allowed"
            writer.write(_http(status, b""))
            return True
        message = json.loads(body)
        is_modern = fields.get("mcp-protocol-version") == MODERN
        if not is_modern and not self._is_known(message, fields.get("mcp-session-id", "")):
            writer.write(_http("404 Not Found", b'{"error":"no such session"}'))
            return True
        reply = answer_plainly(message, self._ledger)
        if reply is None:
            writer.write(_http("202 Accepted", b""))
            return True
        extra = ""
        if message.get("method") == "initialize":
            session = token_hex(16)
            self._sessions.add(session)
            extra = f"Mcp-Session-Id: {session}\r\n"
        return await _send_faultily(_fault(message), reply, extra, reader, writer)

    def _is_known(self, message: dict[str, Any], session: str) -> bool:
        """Tell whether a request of the handshake era belongs to a session; may lose it just now."""
        if message.get("method") == "initialize":
            return True
        if _fault(message) == "lost-session":
            nonce = str(_arguments(message["params"]).get("nonce", ""))
            if nonce not in self._lost:
                self._lost.add(nonce)
                self._sessions.discard(session)
        return session in self._sessions


async def _send_faultily(
    fault: str,
    reply: dict[str, Any],
    extra: str,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> bool:
    body = json.dumps(reply).encode()
    whole = _http("200 OK", body, extra)
    half = body[: len(body) // 2]
    plain: dict[str, tuple[bytes, bool]] = {
        "no-http": (b"\x00\x01 this is not HTTP at all\r\n\r\n", False),
        "no-json": (_http("200 OK", b"{[ this is not JSON"), True),
        "wrong-id": (_http("200 OK", json.dumps(reply | {"id": "never-asked"}).encode()), True),
        "empty": (_http("200 OK", b""), True),
        "status-500": (_http("500 Internal Server Error", b"oh"), True),
        "close": (b"", False),
        "cut-head": (whole[:25], False),
        "cut-body": (whole[: -len(half)], False),
        "cut-chunk": (_chunked("application/json", half), False),
        "cut-events": (_chunked("text/event-stream", b"event: message\ndata: " + half), False),
    }
    if fault == "hang":
        await reader.read()  # until the client gives up
        return False
    if fault == "slow":
        await _wait(SLOW_SECONDS)
    content, goes_on = plain.get(fault, (whole, True))
    writer.write(content)
    await writer.drain()
    return goes_on


async def _wait(seconds: float) -> None:
    """Wait without the packages that this script does without."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, done.set)
    await done.wait()


def _http(status: str, body: bytes, extra: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{extra}"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _chunked(kind: str, part: bytes) -> bytes:
    """The beginning of a chunked answer whose end never comes."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head.encode() + f"{len(part):x}\r\n".encode() + part + b"\r\n"


async def serve_http(ledger: RequestLog, port: int) -> None:
    """Serve until the process is killed; tells its address as one JSON line."""
    connected: Callable[..., Awaitable[None]] = HttpServer(ledger).connected
    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=1 << 22)
    bound = server.sockets[0].getsockname()[1]
    sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{bound}", "pid": os.getpid()}) + "\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ledger", type=Path, required=True, help="where executions are noted")
    parser.add_argument("--http", type=int, metavar="PORT", help="over HTTP; 0 takes a free port")
    options = parser.parse_args()
    ledger = RequestLog(options.ledger)
    if options.http is None:
        serve_stdio(ledger)
    else:
        asyncio.run(serve_http(ledger, options.http))


if __name__ == "__main__":
    main()
