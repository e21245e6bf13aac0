"""The HTTP connections to one server, shared by all of its sessions.

A pool of its own for each session would cost a TLS context, which takes longer than a hundred calls.
Requests go to the pool without a client around it: cookies, which would mix up sessions, and redirects to
elsewhere are not wanted. Knows HTTP only.
"""

import ssl
from base64 import b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote_to_bytes

import anyio
import anyio.to_thread
import httpx2

from astra_mcp import __version__
from astra_mcp.errors import UpstreamError
from astra_mcp.http.keep_alive import transport_to

__all__ = ["HttpLink"]

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0
MAX_REDIRECTS = 3
_METHOD_KEPT: Final = (307, 308)
_TIMEOUTS: Final = {
    "timeout": {"connect": CONNECT_SECONDS, "write": WRITE_SECONDS, "read": None, "pool": None}
}


class HttpLink:
    """Sends requests to one URL, and to nowhere outside of its origin."""

    def __init__(self, url: str) -> None:
        self._url = httpx2.URL(url)
        self._headers = {"accept-encoding": "identity", "user-agent": f"astra-mcp/{__version__}"}
        if self._url.userinfo:
            given = unquote_to_bytes(self._url.userinfo)
            self._headers["authorization"] = f"Basic {b64encode(given).decode()}"
        self._pool: httpx2.AsyncBaseTransport | None = None
        self._opening = anyio.Lock()

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes,
        url: httpx2.URL | None = None,
    ) -> httpx2.Response:
        """Send a request; the caller reads or closes the response.

        Args:
            method: Of HTTP.
            headers: All of them, ``host`` and the like aside.
            body: Empty for none.
            url: Another one of the same origin.

        Raises:
            httpx2.HTTPError: The connection failed.
            httpx2.InvalidURL: It was redirected to what is no URL.
        """
        pool = self._pool or await self._open()
        for _ in range(MAX_REDIRECTS):
            request = httpx2.Request(
                method,
                url or self._url,
                headers={**self._headers, **headers},
                content=body or None,
                extensions=_TIMEOUTS,
            )
            response = await pool.handle_async_request(request)
            response.request = request
            if response.status_code not in _METHOD_KEPT or "location" not in response.headers:
                return response
            target = request.url.join(response.headers["location"])
            if not self.is_same_origin(target):
                return response
            await response.aclose()
            url = target  # for this request alone: it may belong to one session
        raise UpstreamError(f"{self._url.host} redirects in a circle")

    def is_same_origin(self, url: httpx2.URL) -> bool:
        """Tell whether a URL is of the configured scheme, host and port, without a password of its own."""
        ours = (self._url.scheme, self._url.host, self._url.port, self._url.userinfo)
        return (url.scheme, url.host, url.port, url.userinfo) == ours

    async def aclose(self) -> None:
        """Close all connections."""
        async with self._opening:
            pool, self._pool = self._pool, None
            if pool is not None:
                await pool.aclose()

    async def _open(self) -> httpx2.AsyncBaseTransport:
        async with self._opening:
            if self._pool is None:
                verify: ssl.SSLContext | None = None
                if self._url.scheme == "https":
                    verify = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
                self._pool = transport_to(self._url, verify)
            return self._pool
