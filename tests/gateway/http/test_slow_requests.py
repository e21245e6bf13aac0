"""Requests that never come to their end keep nobody out."""

import anyio
from anyio.abc import SocketStream
from starlette.types import Receive, Scope, Send

from astra_mcp.addresses import bind
from astra_mcp.serving.http.server import listen

BEGUN = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def test_who_has_been_sending_a_request_for_long_gives_its_place_up() -> None:
    arrived, come = anyio.create_memory_object_stream[None](9)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await arrived.send(None)
        message = await receive()
        while message.get("more_body", False):
            message = await receive()
        if message["type"] == "http.request":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    listener = bind("127.0.0.1", 0)
    host, port = listener.getsockname()
    slow: list[SocketStream] = []
    with anyio.fail_after(20):
        async with arrived, come, listen(app, listener, max_connections=2):
            for _ in range(2):
                slow.append(await anyio.connect_tcp(host, port))
                await slow[-1].send(BEGUN)
                await come.receive()
            async with await anyio.connect_tcp(host, port) as other:
                await other.send(WHOLE)
                assert (await other.receive()).startswith(b"HTTP/1.1 204")
            for stream in slow:
                await stream.aclose()
