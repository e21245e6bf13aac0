"""The door of a gateway that stops: finishes what is under way, tells everyone else to come back later.

Knows HTTP requests; knows neither episodes nor what a request does.
"""

from collections.abc import Callable

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.connections import RETRY_AFTER_SECONDS, STOPPING
from gateway.edge.security import send_json

__all__ = ["Drain", "IsStream", "is_listening"]

HEALTH_PATHS = ("/healthz", "/readyz")

IsStream = Callable[[Scope], bool]
"""True for a request whose answer has no end of its own, such as a stream of notifications."""


def is_listening(scope: Scope) -> bool:
    """True where an MCP client or a page only listens: its answer ends when the gateway does."""
    if scope["method"] == "GET":
        return scope["path"].endswith("/mcp") or scope["path"].startswith("/live/")
    methods = [v.strip() for k, v in scope["headers"] if k == b"mcp-method"]
    return methods == [b"subscriptions/listen"]


class Drain:
    """ASGI middleware that counts the requests under way, and can be closed."""

    def __init__(self, app: ASGIApp, is_stream: IsStream) -> None:
        """Stand before an application.

        Args:
            app: Answers the requests.
            is_stream: Which requests are not waited for.
        """
        self._app = app
        self.is_stream = is_stream
        self.closed = anyio.Event()
        self._num_under_way = 0
        self._num_begun = 0
        self._became_empty = anyio.Event()
        self.hear_end: Callable[[], None] = lambda: None
        """Called when a request is answered."""

    def activity(self) -> int | None:
        """Tell how many requests there were so far, streams aside; None while one is under way."""
        return None if self._num_under_way else self._num_begun

    def close(self) -> None:
        """Refuse further requests, all but health checks."""
        self.closed.set()

    async def wait_empty(self) -> None:
        """Wait until no request is under way but streams."""
        while self._num_under_way:
            self._became_empty = anyio.Event()
            await self._became_empty.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        if self.closed.is_set() and scope["path"] not in HEALTH_PATHS:
            await self._refuse(send)
            return
        if self.is_stream(scope):
            await self._app(scope, receive, send)
            return
        self._num_under_way += 1
        self._num_begun += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._num_under_way -= 1
            if not self._num_under_way:
                self._became_empty.set()
            self.hear_end()

    @staticmethod
    async def _refuse(send: Send) -> None:
        message = "the gateway is stopping and did nothing of this: try again"
        fields = {"Retry-After": str(RETRY_AFTER_SECONDS), "Connection": "close"}
        await send_json(send, 503, {"error": {"code": STOPPING, "message": message}}, fields)
