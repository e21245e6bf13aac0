"""The HTTP+SSE transport of 2024-11-05: a standing stream, and POSTs to the address that it names.

Knows HTTP; knows neither sessions nor what a method means.
"""

import logging
from collections.abc import Mapping

import anyio
import httpx2
import orjson
from httpx2 import ServerSentEvent

from astra_mcp.errors import UpstreamError
from astra_mcp.types import JsonObject
from servers.deployed.errors import NotSentError, StatusError, words_of
from servers.deployed.transports.events import EventReader
from servers.deployed.transports.http_client import HttpLink
from servers.deployed.transports.messages import parse_message

__all__ = ["SseWire"]

SEND_SECONDS = 60.0
MAX_REPLY_BYTES = 1 << 16
"""Of what is read of the reply to a POST, which says nothing; a connection with more is closed."""

_log = logging.getLogger(__name__)


class SseWire:
    """One standing stream. Made by :meth:`open`."""

    def __init__(
        self, link: HttpLink, response: httpx2.Response, headers: Mapping[str, str]
    ) -> None:
        self._link = link
        self._response = response
        self._headers = {"content-type": "application/json", **headers}
        self._events = EventReader().read(response)
        self._endpoint: httpx2.URL | None = None
        self._fault = "ended its stream"
        self.nonsense = ""
        self._is_closed = False

    @classmethod
    async def open(cls, link: HttpLink, headers: Mapping[str, str], *, name: str) -> "SseWire":
        """Open the stream and wait for the address to post to; the caller bounds the time.

        Raises:
            NotSentError: Nobody listens.
            UpstreamError: It is no such server.
        """
        try:
            response = await link.send("GET", {"accept": "text/event-stream", **headers}, b"")
        except httpx2.HTTPError as error:
            raise NotSentError(f"upstream {name} cannot be reached: {words_of(error)}") from None
        except httpx2.InvalidURL as error:
            raise UpstreamError(f"upstream {name} redirects to no URL: {error}") from None
        wire = cls(link, response, headers)
        is_open = False
        try:
            if response.status_code != 200:
                msg = f"upstream {name} answered HTTP {response.status_code}"
                raise StatusError(msg, response.status_code)
            await wire._read_endpoint(name)
            is_open = True
        finally:
            if not is_open:
                await wire.aclose()
        return wire

    async def send(self, message: JsonObject) -> None:
        """Post one message."""
        if self._is_closed or self._endpoint is None:
            raise UpstreamError("was closed")
        try:
            with anyio.fail_after(SEND_SECONDS):
                response = await self._link.send(
                    "POST", self._headers, orjson.dumps(message), self._endpoint
                )
                try:
                    await _read_out(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise UpstreamError(f"did not take a message in {SEND_SECONDS:.0f} s") from None
        except httpx2.HTTPError as error:
            raise UpstreamError(f"broke the connection: {words_of(error)}") from None
        except httpx2.InvalidURL as error:
            raise UpstreamError(f"redirects to no URL: {error}") from None
        if response.status_code >= 300:
            raise UpstreamError(f"answered HTTP {response.status_code} to a message")

    async def receive(self) -> JsonObject | None:
        """Wait for the next message of the stream."""
        while (event := await self._next_event()) is not None:
            message = parse_message(event.data) if event.event == "message" else None
            if message is not None:
                return message
        return None

    async def describe_end(self) -> str:
        """Say how the stream ended."""
        return self._fault

    async def aclose(self) -> None:
        """Close the stream, which ends the session at the server."""
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            await self._response.aclose()

    async def _read_endpoint(self, name: str) -> None:
        event = await self._next_event()
        if event is None or event.event != "endpoint":
            msg = f"upstream {name} speaks neither Streamable HTTP nor the old SSE transport"
            raise UpstreamError(msg)
        try:
            endpoint = self._response.request.url.join(event.data)
        except httpx2.InvalidURL as error:
            msg = f"upstream {name} names no URL to send messages to: {error}"
            raise UpstreamError(msg) from None
        if not self._link.is_same_origin(endpoint):
            msg = f"upstream {name} wants messages sent to another host, which is refused"
            raise UpstreamError(msg)
        self._endpoint = endpoint

    async def _next_event(self) -> ServerSentEvent | None:
        """The next event that says something; some only keep the connection open, or count."""
        try:
            while (event := await anext(self._events, None)) is not None and not event.data:
                pass
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            self._fault = f"broke its stream off: {words_of(error)}"
            return None
        return event


async def _read_out(response: httpx2.Response) -> None:
    """Read a reply that says nothing, so that its connection can be kept."""
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MAX_REPLY_BYTES:
            return
