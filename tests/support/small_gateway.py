"""A gateway over one small environment in this process, whose tools can go wrong and whose end can wait."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from astra_mcp.errors import UpstreamError
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question, open_test_gateway
from astra_mcp.types import PastCall, ServerKind
from gateway.api.client import GatewayClient
from gateway.api.seams import UpstreamSession
from gateway.episodes.live import Episodes

NAME = "harbour"
QUESTION = Question("How heavy is the ship?", "300 tons", gold=[("look", {})])


def look() -> str:
    """Solve the job."""
    return "a ship of 300 tons"


def sink() -> str:
    """Fail the server."""
    raise UpstreamError("the harbour is flooded")


class HarbourServer(InMemoryServer):
    """Its sessions close when a test lets them."""

    def __init__(self) -> None:
        super().__init__(NAME, look, sink, kind=ServerKind.ENVIRONMENT)
        self.closing = anyio.Event()
        """Set when a session begins to close."""
        self.may_close: anyio.Event | None = None
        """Sessions close only once it is set."""

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> UpstreamSession:
        """Make one that waits with its end."""
        session = super().open_session(key=key, seed=seed, past=past)
        end = session.aclose

        async def aclose() -> None:
            self.closing.set()
            if self.may_close is not None:
                await self.may_close.wait()
            await end()

        session.aclose = aclose
        return session


@dataclass(frozen=True, kw_only=True)
class SmallGateway:
    """The gateway, its server, and a client of its control plane."""

    url: str
    server: HarbourServer
    episodes: Episodes
    client: GatewayClient


@asynccontextmanager
async def open_small_gateway(home: Path) -> AsyncGenerator[SmallGateway]:
    """Serve the harbour while the context is open."""
    server = HarbourServer()
    catalog = InMemoryCatalog(server, questions={NAME: QUESTION})
    async with open_test_gateway(catalog, home) as opened:
        yield SmallGateway(
            url=opened.url, server=server, episodes=opened.episodes, client=opened.control
        )
