"""One gateway process over a socket that is bound already: the whole gateway, or one of its workers.

Serves until it is asked to stop, then finishes what is under way. Knows neither options nor supervisors.
"""

import logging
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

import anyio

from astra_mcp.addresses import url_of
from astra_mcp.compose.catalog import open_gateway
from astra_mcp.compose.settings import Settings
from astra_mcp.report.console import say
from astra_mcp.serving.http.memory import be_sparing
from astra_mcp.serving.http.server import Listener, listen
from astra_mcp.serving.pages.opening import OwnPages
from astra_mcp.serving.process.deployed_look import look_at_deployed
from astra_mcp.serving.process.lifecycle import Stop, hear_signals
from astra_mcp.tracing import open_tracing
from gateway.api.seams import Catalog
from gateway.api.settings import FIRST, public_base
from gateway.edge.security import AccessRules, access_rules
from gateway.edge.workers import OwnWorkerInfo
from gateway.machine.files import most_connections

__all__ = ["rules_of", "serve_gateway"]

_log = logging.getLogger("astra_mcp.gateway")


def rules_of(settings: Settings, control_key: str, listener: socket.socket) -> AccessRules:
    """Derive what the gate lets through; the URLs that we print and answer must be among it.

    Raises:
        ConfigError: A key is missing or too short.
    """
    serving = settings.serve
    allowed = [*serving.allowed_hosts]
    if serving.public_url is not None:
        allowed.append(urlsplit(public_base(serving.public_url, FIRST, 1)).hostname or "")
    return access_rules(
        host=serving.host,
        control_key=control_key,
        api_keys=[k.get_secret_value() for k in serving.api_keys],
        allowed_hosts=allowed,
        own_hosts=[urlsplit(url_of(listener)).hostname or ""],
        max_body_bytes=serving.max_body_bytes,
        max_body_values=serving.max_body_values,
    )


async def serve_gateway(
    settings: Settings,
    listener: socket.socket,
    *,
    control_key: str,
    worker_info: OwnWorkerInfo,
    trusted: bool,
    on_ready: Callable[[Catalog, str | None], AbstractContextManager[None]],
    watch: Callable[[Stop], Coroutine[None, None, None]] | None = None,
    linger: Callable[[Stop], Coroutine[None, None, None]] | None = None,
) -> Stop:
    """Serve until the process is asked to stop; then drain and release everything.

    Open episodes stay open in their records, and go on after the next start.

    Args:
        settings: What to publish, and how.
        listener: Closed at the end.
        control_key: Of the home.
        worker_info: Which of the workers this process is.
        trusted: Allow tool code to run unsandboxed where this machine has no sandbox.
        on_ready: Tells others that it serves, and which path leads into its pages, where it has some; left
            when the process is asked to stop.
        watch: Runs meanwhile; may also ask for the stop.
        linger: After a final stop, once all calls are finished: requests are refused as long as it runs.

    Returns:
        What asked it to stop.
    """
    be_sparing()
    rules = rules_of(settings, control_key, listener)
    stop = Stop()
    pages = OwnPages() if settings.serve.pages else None
    async with (
        hear_signals(stop),  # to the very end: one that nobody hears would break the release off
        _tracing(worker_info),
        open_gateway(
            settings,
            rules,
            trusted=trusted,
            worker_info=worker_info,
            readiness=lambda: ["it is stopping"] if stop.asked.is_set() else [],
            sinks=() if pages is None else (pages.heard,),
            open_pages=None if pages is None else pages.open,
        ) as (catalog, app),
        listen(app, listener, max_connections=most_connections()) as listening,
        anyio.create_task_group() as group,
    ):
        if watch is not None:
            group.start_soon(watch, stop)
        # The workers open servers of their own, but they are broken alike.
        if worker_info.index == 0:
            group.start_soon(look_at_deployed, catalog, partial(_tell, settings))
        with on_ready(catalog, None if pages is None else pages.login_path()):
            await stop.asked.wait()
        is_done = await _finish(listening, stop, settings.serve.drain_seconds)
        if is_done and stop.is_final and linger is not None:
            with anyio.move_on_after(settings.serve.drain_seconds):
                await linger(stop)
        group.cancel_scope.cancel()
    return stop


def _tell(settings: Settings, line: str) -> None:
    if settings.serve.log_format == "text":  # else it would be a line that is no JSON
        say.print(line)


@asynccontextmanager
async def _tracing(worker_info: OwnWorkerInfo) -> AsyncGenerator[None]:
    with open_tracing(worker=worker_info.index if worker_info.count > 1 else None):
        yield


async def _finish(listening: Listener, stop: Stop, seconds: float) -> bool:
    """Drain until everything is answered (True), the time is over, or somebody insists."""
    is_done = False
    async with anyio.create_task_group() as group:

        async def insist() -> None:
            await stop.insisted.wait()
            group.cancel_scope.cancel()

        group.start_soon(insist)
        # The socket of a worker is also its supervisor's: who connects waits for the next worker.
        is_done = await listening.drain(seconds, keep_accepting=stop.is_final)
        group.cancel_scope.cancel()
    if not is_done:
        why = "as asked again" if stop.insisted.is_set() else f"after {seconds:g} s"
        _log.warning("stopped with calls under way, %s; they can be sent again", why)
        listening.abort()
    return is_done
