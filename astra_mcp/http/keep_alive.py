"""HTTP/1.1 over kept connections, for the many small requests that go to one origin.

A transport of ``httpx2``. The default one looks through its whole pool for every request, and through every
byte once more. Knows HTTP/1.1 and nothing of what it carries; no redirects. Where the
environment names a proxy, the default one goes through it.
"""

import ssl
from collections.abc import AsyncIterator
from urllib.request import getproxies_environment, proxy_bypass

import httpx2

from astra_mcp.http.connection import HttpConnection, RestingConnections, connect

__all__ = ["KeepAliveTransport", "transport_to"]

KEEP_SECONDS = 4.0
"""A connection that rested longer is closed: less than the 5 s after which common servers close theirs, so
that no request meets its end."""
MAX_KEPT = 512
"""Connections that may rest."""


def transport_to(url: httpx2.URL, verify: ssl.SSLContext | None) -> httpx2.AsyncBaseTransport:
    """Connect to one origin, through the proxy that the environment names (``HTTPS_PROXY``, ``NO_PROXY`` …).

    Args:
        url: Of the origin.
        verify: For ``https``.
    """
    named = getproxies_environment()
    proxy = named.get(url.scheme, named.get("all"))
    if proxy is None or proxy_bypass(url.host):
        return KeepAliveTransport(verify, max_kept=MAX_KEPT, keep_seconds=KEEP_SECONDS)
    return httpx2.AsyncHTTPTransport(
        verify=verify or False,  # nothing to verify without TLS
        trust_env=False,
        proxy=proxy,
        limits=httpx2.Limits(
            max_connections=None, max_keepalive_connections=MAX_KEPT, keepalive_expiry=KEEP_SECONDS
        ),
    )


class KeepAliveTransport(httpx2.AsyncBaseTransport):
    """Sends requests to one origin; the connection that rested least is used first.

    Of the timeouts of a request ``connect`` is kept; whoever waits for an answer bounds that himself.
    """

    def __init__(
        self, verify: ssl.SSLContext | None, *, max_kept: int, keep_seconds: float
    ) -> None:
        """Connect to nobody yet.

        Args:
            verify: For ``https``.
            max_kept: Connections that may rest.
            keep_seconds: One that rested longer is closed.
        """
        self._verify = verify
        self._resting = RestingConnections(max_kept=max_kept, keep_seconds=keep_seconds)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and answer once the head of its answer is there.

        Raises:
            httpx2.ConnectError | httpx2.ConnectTimeout: Nothing was sent.
            httpx2.ReadError | httpx2.RemoteProtocolError: Whether it arrived, nobody knows.
        """
        body = await request.aread()
        wire = self._resting.take() or await self._connect(request)
        is_answered = False
        try:
            answer = await wire.send(_head(request) + body)
            is_answered = True
        finally:
            if not is_answered:
                wire.close()
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=_Body(self, wire), request=request
        )

    def rest(self, wire: HttpConnection) -> None:
        """Take a connection back, whose answer is over, or close it."""
        self._resting.put(wire)

    async def aclose(self) -> None:
        """Close what rests; the others are closed with their answers."""
        self._resting.close()

    async def _connect(self, request: httpx2.Request) -> HttpConnection:
        url = request.url
        is_secure = url.scheme == "https"
        try:
            return await connect(
                url.host,
                url.port or (443 if is_secure else 80),
                verify=self._verify if is_secure else None,
                seconds=request.extensions.get("timeout", {}).get("connect"),
            )
        except httpx2.TransportError as error:
            error.request = request
            raise


class _Body(httpx2.AsyncByteStream):
    """The rest of an answer; gives its connection back."""

    def __init__(self, transport: KeepAliveTransport, wire: HttpConnection) -> None:
        self._transport = transport
        self._wire: HttpConnection | None = wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._wire is not None:
            async for part in self._wire.body():
                yield part

    async def aclose(self) -> None:
        """Leave the connection to the next request, or close it where its answer is not over."""
        wire, self._wire = self._wire, None
        if wire is not None:
            self._transport.rest(wire)


def _head(request: httpx2.Request) -> bytes:
    """Write the head of a request.

    Raises:
        httpx2.LocalProtocolError: A header would end its line, and begin one of its own.
    """
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%s: %s" % field for field in request.headers.raw]
    if any(b"\r" in line or b"\n" in line or b"\0" in line for line in lines):
        msg = "a header holds a line end"
        raise httpx2.LocalProtocolError(msg, request=request)
    return b"\r\n".join([*lines, b"", b""])
