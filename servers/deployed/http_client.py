"""The HTTP connections to one server: a client made once, at the first use, and shared by all sessions.

A client costs a TLS context, which takes longer than a hundred calls. Knows HTTP only.
"""

import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
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
MAX_KEPT = 256
MAX_REDIRECTS = 3
_METHOD_KEPT: Final = (307, 308)


class HttpLink:
    """Sends requests to one URL, and to nowhere outside of its origin."""

    def __init__(self, url: str) -> None:
        self._url = httpx2.URL(url)
        self._client: httpx2.AsyncClient | None = None
        self._opening = anyio.Lock()

    @property
    def url(self) -> httpx2.URL:
        """Where the server is, after redirects within its origin."""
        return self._url

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
        """
        client = self._client or await self._open()
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
            client, self._client = self._client, None
            if client is not None:
                await client.aclose()

    def _redirected(self, response: httpx2.Response) -> httpx2.URL | None:
        if response.status_code not in _METHOD_KEPT or "location" not in response.headers:
            return None
        target = response.request.url.join(response.headers["location"])
        return target if self.is_same_origin(target) else None

    async def _open(self) -> httpx2.AsyncClient:
        async with self._opening:
            if self._client is None:
                verify: ssl.SSLContext | bool = False  # nothing to verify without TLS
                if self._url.scheme == "https":
                    verify = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
                self._client = httpx2.AsyncClient(
                    verify=verify,
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
            return self._client
