"""Other gateways and bridges, run beside ours where they are installed.

Each gets the same echo behind it as ours and is called in the handshake era, which all of them speak. The
processor time is that of the peer's own process, without what it puts behind itself.
"""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from measured_programs import SUPPORT, run_program, stop
from measured_targets import Target

__all__ = ["PEERS", "open_peers"]

START_SECONDS = 60.0
MAX_CONNECTIONS = 32
"""At 128 connections some of them need minutes for the handshakes alone."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """How to start one peer."""

    program: str
    what: str
    arguments: Callable[[int, str], Sequence[str]]
    """Made of its port and the address of an HTTP server to put behind it."""


_STDIO = [sys.executable, "-P", "-S", str(SUPPORT / "stdio_echo.py")]
PEERS = (
    Peer(
        program="mcp-proxy",
        what="mcp-proxy (PyPI) before the stdio server",
        arguments=lambda port, _: ("--port", str(port), "--log-level", "ERROR", "--", *_STDIO),
    ),
    Peer(
        program="supergateway",
        what="supergateway (npm) before the stdio server, one process per session",
        arguments=lambda port, _: (
            *("--stdio", " ".join(_STDIO), "--outputTransport", "streamableHttp"),
            *("--stateful", "--logLevel", "none", "--port", str(port)),
        ),
    ),
    Peer(
        program="fastmcp",
        what="fastmcp (PyPI) as a proxy of the HTTP server",
        arguments=lambda port, url: (
            *("run", f"{url}/mcp", "--transport", "http", "--port", str(port)),
            *("--no-banner", "--log-level", "ERROR"),
        ),
    ),
)


@contextmanager
def open_peers(folder: str | None) -> Generator[tuple[list[Target], list[str]]]:
    """Start every peer that is installed; yields them, and a line about each one that is not.

    Args:
        folder: Where they are installed (``bin``, ``*/bin`` and ``node_modules/.bin`` are searched);
            empty for PATH, None for no peers at all.

    Raises:
        RuntimeError: One that is installed did not start.
    """
    with ExitStack() as stack:
        if folder is None:
            yield [], []
            return
        found = {peer: _find(peer.program, folder) for peer in PEERS}
        absent = [f"{p.program}: it is not installed" for p, path in found.items() if path is None]
        targets: list[Target] = []
        if any(found.values()):
            script = [sys.executable, "-P", str(SUPPORT / "baseline_server.py")]
            behind = stack.enter_context(run_program(script))
            targets = [
                stack.enter_context(_run(peer, path, behind.url))
                for peer, path in found.items()
                if path is not None
            ]
        yield targets, absent


def _find(program: str, folder: str) -> Path | None:
    if not folder:
        path = shutil.which(program)
        return Path(path) if path else None
    places = (*Path(folder).glob("bin"), *Path(folder).glob("*/bin"))
    places += (Path(folder, "node_modules", ".bin"),)
    return next((place / program for place in places if (place / program).is_file()), None)


@contextmanager
def _run(peer: Peer, path: Path, behind: str) -> Generator[Target]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    command = [str(path.absolute()), *peer.arguments(port, behind)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for_port(peer.program, process, port)
        yield Target(
            name=f"peer_{peer.program.replace('-', '_')}",
            what=peer.what,
            host="127.0.0.1",
            port=port,
            pid=process.pid,
            era="handshake",
            max_connections=MAX_CONNECTIONS,
        )
    finally:
        stop(process)


def _wait_for_port(program: str, process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    msg = f"{program} does not listen (exit status {process.poll()})"
    raise RuntimeError(msg)
