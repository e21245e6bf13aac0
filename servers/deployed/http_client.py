"""The HTTP connections to one server, shared by all of its sessions.

A client of its own for each session would cost a TLS context, which takes longer than a hundred calls; one
for all looks through all connections for every request. So there are a few. Knows HTTP only.
"""

import logging
import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import count
from typing import Final

import anyio
import anyio.to_thread
import httpx2

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

# Its lines show whole URLs, with whatever secret stands in them.
logging.getLogger("httpx2").setLevel(logging.WARNING)


class HttpLink:
    """Sends requests to one URL, and to nowhere outside of its origin."""

    def __init__(self, url: str) -> None:
        self._url = httpx2.URL(url)
        self._clients: dict[int, httpx2.AsyncClient] = {}
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
        client = self._clients.get(lane) or await self._open(lane)
        for _ in range(MAX_REDIRECTS):
            request = client.build_request(
                method, url or self._url, headers=headers, content=body or None
            )
            response = await client.send(request, stream=True)
            target = self._redirected(response)
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
            clients, self._clients = self._clients, {}
            for client in clients.values():
                await client.aclose()

    def _redirected(self, response: httpx2.Response) -> httpx2.URL | None:
        if response.status_code not in _METHOD_KEPT or "location" not in response.headers:
            return None
        target = response.request.url.join(response.headers["location"])
        return target if self.is_same_origin(target) else None

    async def _open(self, lane: int) -> httpx2.AsyncClient:
        async with self._opening:
            if lane in self._clients:
                return self._clients[lane]
            if self._verify is None:
                self._verify = False  # nothing to verify without TLS
                if self._url.scheme == "https":
                    self._verify = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
            client = self._clients[lane] = httpx2.AsyncClient(
                verify=self._verify,
                follow_redirects=False,
                headers={"accept-encoding": "identity"},
                # Cookies of one session would be sent with another's requests.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, write=WRITE_SECONDS),
                limits=httpx2.Limits(
                    max_connections=None,
                    max_keepalive_connections=MAX_KEPT,
                    keepalive_expiry=KEEP_ALIVE_SECONDS,
                ),
            )
            return client
