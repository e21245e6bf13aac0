"""Taking an address, naming it, and serving until a signal comes.

Knows sockets and signals; knows neither what is served nor by which server.
"""

import errno
import signal
import socket
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

from astra_mcp.errors import ConfigError, PortInUseError

__all__ = ["BACKLOG", "bind", "run_until_stopped", "url_of"]

BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """Take an address; clients may connect from now on.

    Args:
        host: A name or an address.
        port: 0 takes any free one.

    Raises:
        PortInUseError: Another program listens there.
        ConfigError: The host is none of this machine's, or the port is privileged.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(
                f"port {port} on {host} is in use: stop the program that listens there,"
                " or choose another with --port (0 takes any free one)"
            ) from None
        msg = f"cannot listen on {host} port {port}: {error.strerror or error}; check --host and --port"
        raise ConfigError(msg) from None


def url_of(listener: socket.socket, path: str = "") -> str:
    """Name the URL under which a client on this machine reaches a listening socket."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"http://[{host}]:{port}{path}" if ":" in host else f"http://{host}:{port}{path}"


async def run_until_stopped(serve: Callable[[], Awaitable[None]]) -> signal.Signals | None:
    """Serve until the work ends by itself, or the user or the system asks the process to stop.

    Signals are heard from before ``serve`` begins, so it may tell others that it runs.

    Returns:
        The signal that stopped it; None where it ended by itself.
    """
    stopped_by: signal.Signals | None = None

    async def watch(*, task_status: TaskStatus[None]) -> None:
        nonlocal stopped_by
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
            task_status.started()
            stopped_by = await anext(aiter(received))
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        await group.start(watch)
        await serve()
        group.cancel_scope.cancel()
    return stopped_by
