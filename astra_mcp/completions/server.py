"""The server on a loopback socket: opened, known by its URL, and gone with its context."""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import anyio
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from astra_mcp.addresses import BACKLOG, bind, url_of
from astra_mcp.completions.application import Endpoint
from astra_mcp.completions.planned_faults import FaultPlan
from astra_mcp.completions.policy import Policy
from astra_mcp.completions.request_log import RequestLog
from astra_mcp.completions.sending import HANG_UP

__all__ = ["CompletionsServer", "open_completions"]

_CLOSING_SECONDS = 5
_NO_FAULTS = FaultPlan(shares={})


class CompletionsServer:
    """A server that runs; made by :func:`open_completions`."""

    def __init__(self, url: str, ledger: RequestLog) -> None:
        self.url = url
        """Without a path; ``/stats`` stands under it."""
        self.ledger = ledger

    @property
    def base_url(self) -> str:
        """What clients of the API take as their base URL."""
        return f"{self.url}/v1"


@asynccontextmanager
async def open_completions(
    policy: Policy,
    *,
    faults: FaultPlan | None = None,
    models: Sequence[str] = ("scripted",),
    takes_schemas: bool = True,
    port: int = 0,
) -> AsyncGenerator[CompletionsServer]:
    """Serve on a loopback port while the context is open; then break off what is under way.

    Args:
        policy: Says what to reply; see :class:`~astra_mcp.completions.recordings.Recordings` for one.
        faults: Which requests fail; None lets none fail.
        models: What ``/v1/models`` lists; requests may name others.
        takes_schemas: False refuses ``response_format`` of type ``json_schema`` with 400, as many
            servers do.
        port: 0 takes any free one.

    Raises:
        PortInUseError: Another program listens there.
    """
    endpoint = Endpoint(policy, faults or _NO_FAULTS, models=models, takes_schemas=takes_schemas)
    with bind("127.0.0.1", port) as listener:
        server = _Server(
            uvicorn.Config(
                endpoint,
                http=_Connection,
                ws="none",
                proxy_headers=False,
                lifespan="off",
                log_config=None,
                access_log=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=_CLOSING_SECONDS,
            )
        )
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            try:
                yield CompletionsServer(url_of(listener), endpoint.ledger)
            finally:
                server.break_off()


class _Connection(HttpToolsProtocol):
    """Lets the application close its connection."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {HANG_UP: cast("dict[object, object]", self.transport.close)}


class _Server(uvicorn.Server):
    """Leaves signals to its owner."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    def break_off(self) -> None:
        """Stop, and close every connection now; who hangs is released."""
        self.should_exit = True
        if self.started:
            for server in self.servers:
                server.close()
        for connection in self.server_state.connections:
            cast("_Connection", connection).transport.abort()
