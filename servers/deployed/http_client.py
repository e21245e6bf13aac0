"""The HTTP connections to one server, shared by all of its sessions.

A pool of its own for each session would cost a TLS context, which takes longer than a hundred calls; one
for all looks through all connections for every request. So there are a few. Requests go to the pool without
a client around it: cookies, which would mix up sessions, and redirects to elsewhere are not wanted, and they
take a quarter of the time. Knows HTTP only.
"""

import ssl
from base64 import b64encode
from collections.abc import Mapping
from itertools import count
from typing import Final
from urllib.parse import unquote_to_bytes
from urllib.request import getproxies_environment, proxy_bypass

import anyio
import anyio.to_thread
import httpx2

from astra_mcp import __version__
from astra_mcp.errors import UpstreamError

__all__ = ["HttpLink"]

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0
KEEP_ALIVE_SECONDS = 4.0
"""Less than the 5 s after which common servers close a connection, so that no request meets its end."""
LANES = 16
MAX_KEPT = 32
"""Idle connections of each lane."""
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
        self._pools: dict[int, httpx2.AsyncHTTPTransport] = {}
        self._verify: ssl.SSLContext | bool | None = None
        self._lanes = count()
        self._opening = anyio.Lock()

    @property
    def url(self) -> httpx2.URL:
        """Where the server is, after redirects within its origin."""
        return self._url

    def lane(self) -> int:
        """A number for a session to send with, so that requests of many are spread."""
        return next(self._lanes) % LANES

    async def send(
        self,
        lane: int,
        method: str,
        headers: Mapping[str, str],
        body: bytes,
        url: httpx2.URL | None = None,
    ) -> httpx2.Response:
        """Send a request; the caller reads or closes the response.

        Args:
            lane: Of the session.
            method: Of HTTP.
            headers: All of them, ``host`` and the like aside.
            body: Empty for none.
            url: Another one of the same origin.

        Raises:
            httpx2.HTTPError: The connection failed.
        """
        pool = self._pools.get(lane) or await self._open(lane)
        for _ in range(MAX_REDIRECTS):
            request = httpx2.Request(
                method,
                url or self._url,
                headers={**self._headers, **headers},
                content=body or None,
                extensions=_TIMEOUTS,
            )
            response = await pool.handle_async_request(request)
            target = self._redirected(request.url, response)
            if target is None:
                return response
            await response.aclose()
            if url is None:
                self._url = target
            else:
                url = target
        raise UpstreamError(f"{self._url.host} redirects in a circle")

    def is_same_origin(self, url: httpx2.URL) -> bool:
        """Tell whether a URL is of the configured scheme, host and port, without a password of its own."""
        ours = (self._url.scheme, self._url.host, self._url.port, self._url.userinfo)
        return (url.scheme, url.host, url.port, url.userinfo) == ours

    async def aclose(self) -> None:
        """Close all connections."""
        async with self._opening:
            pools, self._pools = self._pools, {}
            for pool in pools.values():
                await pool.aclose()

    def _redirected(self, sent: httpx2.URL, response: httpx2.Response) -> httpx2.URL | None:
        if response.status_code not in _METHOD_KEPT or "location" not in response.headers:
            return None
        target = sent.join(response.headers["location"])
        return target if self.is_same_origin(target) else None

    async def _open(self, lane: int) -> httpx2.AsyncHTTPTransport:
        async with self._opening:
            if lane in self._pools:
                return self._pools[lane]
            if self._verify is None:
                self._verify = False  # nothing to verify without TLS
                if self._url.scheme == "https":
                    self._verify = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
            pool = self._pools[lane] = httpx2.AsyncHTTPTransport(
                verify=self._verify,
                trust_env=False,
                proxy=_proxy_of(self._url),
                limits=httpx2.Limits(
                    max_connections=None,
                    max_keepalive_connections=MAX_KEPT,
                    keepalive_expiry=KEEP_ALIVE_SECONDS,
                ),
            )
            return pool


def _proxy_of(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for a URL (``HTTPS_PROXY``, ``NO_PROXY`` and the like)."""
    named = getproxies_environment()
    proxy = named.get(url.scheme, named.get("all"))
    return None if proxy is None or proxy_bypass(url.host) else proxy
