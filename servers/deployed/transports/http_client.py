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
from urllib.request import getproxies_environment, proxy_bypass

import anyio
import anyio.to_thread
import httpx2

from astra_mcp import __version__
from astra_mcp.errors import UpstreamError
from servers.deployed.transports.keep_alive import KeepAliveTransport

__all__ = ["HttpLink"]

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0
KEEP_ALIVE_SECONDS = 4.0
"""Less than the 5 s after which common servers close a connection, so that no request meets its end."""
MAX_KEPT = 512
"""Idle connections."""
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
                self._pool = _pool_to(self._url, verify)
            return self._pool


def _pool_to(url: httpx2.URL, verify: ssl.SSLContext | None) -> httpx2.AsyncBaseTransport:
    """Connect through the proxy that the environment names (``HTTPS_PROXY``, ``NO_PROXY`` and the like)."""
    named = getproxies_environment()
    proxy = named.get(url.scheme, named.get("all"))
    if proxy is None or proxy_bypass(url.host):
        return KeepAliveTransport(verify, max_kept=MAX_KEPT, keep_seconds=KEEP_ALIVE_SECONDS)
    return httpx2.AsyncHTTPTransport(
        verify=verify or False,  # nothing to verify without TLS
        trust_env=False,
        proxy=proxy,
        limits=httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=MAX_KEPT,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        ),
    )
