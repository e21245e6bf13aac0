"""The place of one gateway process among the workers of a home: what it owns, and where the others are.

An episode belongs to one worker by its id alone, so a request that arrives at another one is sent on
with a redirect. Knows addresses and paths; knows neither episodes nor how workers are started.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.settings import FIRST, public_base
from gateway.edge.placement import owner_of
from gateway.edge.security import send_json

__all__ = ["ALONE", "OwnWorkerInfo", "send_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWorkerInfo:
    """Which of the workers this process is."""

    index: int = FIRST
    inner_urls: tuple[str, ...] = ()
    """Base URL of every worker, as the others reach it on this machine; empty where there is one alone."""
    public_url: str | None = None
    """See :func:`public_base`."""

    @property
    def count(self) -> int:
        """How many workers there are."""
        return max(1, len(self.inner_urls))

    @property
    def others(self) -> Sequence[int]:
        """The other workers, ascending."""
        return [worker for worker in range(self.count) if worker != self.index]

    def base_url(self, scope: Scope, worker: int | None = None) -> str:
        """Name a worker's base URL, by default this one's, as the sender of a checked request reaches it."""
        wanted = self.index if worker is None else worker
        fixed = self.fixed_url(wanted)
        if fixed is not None:
            return fixed
        host = next(v.decode("latin-1") for k, v in scope["headers"] if k == b"host")
        if wanted == self.index:
            return f"{scope['scheme']}://{host}"
        name = SplitResult("", host, "", "", "").hostname or ""
        shown = f"[{name}]" if ":" in name else name
        return f"{scope['scheme']}://{shown}:{self._port(wanted)}"

    def fixed_url(self, worker: int) -> str | None:
        """Name a worker's public base URL; None where clients know it by how they reached it."""
        if self.public_url is None:
            return None
        return public_base(self.public_url, worker, self._port(worker))

    def _port(self, worker: int) -> int:
        inner = self.inner_urls[worker] if self.inner_urls else ""
        return urlsplit(inner).port or 0

    def answering(self, path: str) -> int:
        """Tell which worker answers a path."""
        match path.split("/")[1:]:
            case ["episodes", episode, *_] | ["v1", "episodes", episode, *_] if episode:
                return owner_of(episode, self.count)
            case ["mcp"] | ["servers", *_] | ["v1", "episodes:close" | "login-links"]:
                return FIRST
            case _:
                return self.index


ALONE = OwnWorkerInfo()
"""A gateway without workers."""


def send_on(app: ASGIApp, worker_info: OwnWorkerInfo) -> ASGIApp:
    """Answer what belongs to another worker with a redirect to it, and all else by the application."""
    if worker_info.count == 1:
        return app

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        worker = worker_info.answering(scope["path"])
        if worker == worker_info.index:
            await app(scope, receive, send)
            return
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        location = f"{worker_info.base_url(scope, worker)}{path}{'?' if query else ''}{query}"
        message = f"worker {worker} answers this: follow Location, and use its address from now on"
        body = {"error": {"code": "other_worker", "message": message}}
        await send_json(send, 307, body, {"Location": location})

    return answer
