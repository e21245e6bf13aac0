"""The list of episodes as it goes on: the rows of its first page, sent again whenever they are others.

A stream of server-sent events for each viewer. Nothing runs where nobody looks: the viewer who comes first
after a second looks at the index for all who see the same choice of episodes, and what is rendered then is
handed to each of them as the same bytes.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256

import anyio
import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from astra_mcp.errors import RegistryError
from astra_mcp.serving.pages.episodes import Choice, list_view
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import Renderer

__all__ = ["LiveList"]

_LOOK_SECONDS = 1.0
_HEARTBEAT_SECONDS = 15.0
"""So long a stream is silent at most: proxies close one that says nothing."""
_SEND_SECONDS = 30.0
"""A viewer who takes nothing for so long has gone."""
_MAX_VIEWERS = 32
"""Of one process; who comes later has the page as it was loaded."""
_HEARTBEAT = b":\n\n"
_FIRST = b"retry: 5000\n\n"
"""So many milliseconds a browser waits before it comes back."""


class _Feed:
    """The rows of one choice of episodes, as an event, for all who look at it."""

    def __init__(self, parts: PageParts, renderer: Renderer, choice: Choice) -> None:
        self._parts = parts
        self._renderer = renderer
        self._choice = choice
        self._looking = anyio.Lock()
        self._due = 0.0
        self._seen: Mapping[str, object] | None = None
        self.num_viewers = 0
        self.digest = ""
        """Names what is shown."""
        self.event = b""

    async def look(self) -> None:
        """See what is there now, unless somebody did within the last second."""
        async with self._looking:
            if time.monotonic() < self._due:
                return
            with suppress(RegistryError):  # the page says it to who loads it; a stream waits
                view = await list_view(self._parts, self._choice)
                if view != self._seen:
                    self._render(view)
                    self._seen = view
            self._due = time.monotonic() + _LOOK_SECONDS

    def _render(self, values: Mapping[str, object]) -> None:
        html = self._renderer.fragment("episode_rows", **values)
        self.digest = sha256(html.encode()).hexdigest()[:16]
        # As JSON it is one line, whatever others wrote into it.
        self.event = b"id: %s\ndata: %s\n\n" % (self.digest.encode(), orjson.dumps(html))


class LiveList:
    """Answers at ``/live/episodes``."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer
        self._feeds: dict[Choice, _Feed] = {}

    def routes(self) -> Iterator[Route]:
        """Lay out the one address."""
        yield Route("/live/episodes", self.stream, methods=["GET"])

    @property
    def num_viewers(self) -> int:
        """How many look on now."""
        return sum(feed.num_viewers for feed in self._feeds.values())

    async def stream(self, request: Request) -> Response:
        """Send the rows now, and again whenever they are others, as long as the session lasts."""
        choice = Choice.of(request.query_params)
        if choice.fault:
            return PlainTextResponse(choice.fault, 422)
        if self.num_viewers >= _MAX_VIEWERS:
            words = f"{_MAX_VIEWERS} streams are open: load the page again to see what is new"
            return PlainTextResponse(words, 503, {"Retry-After": "60"})
        lasts: Callable[[], bool] = request.scope["session_lasts"]
        events = self._events(choice, lasts, request.headers.get("last-event-id", ""))
        return _EventStream(events)

    async def _events(
        self, choice: Choice, lasts: Callable[[], bool], sent: str
    ) -> AsyncGenerator[bytes]:
        feed = self._feeds.get(choice) or _Feed(self._parts, self._renderer, choice)
        self._feeds[choice] = feed
        feed.num_viewers += 1
        try:
            yield _FIRST
            spoke_at = time.monotonic()
            while lasts():
                await feed.look()
                if feed.event and feed.digest != sent:
                    sent = feed.digest
                    spoke_at = time.monotonic()
                    yield feed.event
                elif time.monotonic() >= spoke_at + _HEARTBEAT_SECONDS:
                    spoke_at = time.monotonic()
                    yield _HEARTBEAT
                await anyio.sleep(_LOOK_SECONDS)
        finally:
            feed.num_viewers -= 1
            if not feed.num_viewers:
                self._feeds.pop(choice, None)


class _EventStream(StreamingResponse):
    """Ends where its viewer takes nothing any more."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(
            events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "HEAD":
                await Response(headers=dict(self.headers))(scope, receive, send)
                return
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()

    async def stream_response(self, send: Send) -> None:
        """Send the events, each within its time."""

        async def send_in_time(message: Message) -> None:
            with anyio.fail_after(_SEND_SECONDS):
                await send(message)

        with suppress(TimeoutError):
            await super().stream_response(send_in_time)
