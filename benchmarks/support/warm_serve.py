"""Gateways that need not load their code: each is a fork of a process that has loaded it, and nothing else.

A start takes a tenth of the processor time so, which counts where a gateway is started a thousand times.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import orjson

from astra_mcp.__main__ import main as run

from measured_programs import START_SECONDS, Program, stop

__all__ = ["ForkedProcess", "run_warm_serve"]

_LOADED = [
    "__main__",
    "astra_mcp.cli.serve",
    "alembic.command",
    "gateway.app",
    "pydantic.v1",
    "uvicorn",
    "uvloop",
]


@contextmanager
def run_warm_serve(home: Path, *options: str, log: Path, port: int = 0) -> Generator[Program]:
    """Run ``astra-mcp serve`` under an own home, as :func:`measured_programs.run_serve` does.

    Raises:
        RuntimeError: It ended before it listened.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    reading, writing = context.Pipe(duplex=False)
    arguments = ["serve", "--port", str(port), "--json", *options]
    process = context.Process(target=_serve, args=(home, arguments, log, writing), daemon=True)
    process.start()
    forked = ForkedProcess(process)
    try:
        writing.close()
        with os.fdopen(os.dup(reading.fileno()), "rb") as output:
            reading.close()
            line = output.readline()
            if not line.startswith(b"{"):
                status = forked.wait(START_SECONDS)
                msg = f"astra-mcp {' '.join(arguments)} did not start (exit status {status})"
                raise RuntimeError(msg)
            key = (home / "control.key").read_text(encoding="ascii").strip()
            yield Program(process=forked, hello=orjson.loads(line) | {"key": key}, log=log)
    finally:
        stop(forked)


class ForkedProcess:
    """A forked process, with what a program of :mod:`measured_programs` needs of one."""

    stdout = None

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self.pid = process.pid or 0

    def send_signal(self, number: int) -> None:
        """Send a signal, as long as it runs."""
        if self._process.is_alive():
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Its exit status, once it has ended."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: It runs on.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("astra-mcp serve", timeout or 0.0)
        return self._process.exitcode


def _serve(home: Path, arguments: Sequence[str], log: Path, output: Connection) -> None:
    """Be ``astra-mcp``: its standard streams, its variables and its command line."""
    os.dup2(output.fileno(), 1)
    output.close()
    with log.open("ab") as errors:
        os.dup2(errors.fileno(), 2)
    os.environ["ASTRA_MCP_HOME"] = str(home)
    sys.argv = ["astra-mcp", *arguments]
    run()
