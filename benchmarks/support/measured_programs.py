"""Starts the programs that are measured, and stops them; each tells its address as one JSON line."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

__all__ = [
    "START_SECONDS",
    "SUPPORT",
    "Program",
    "RunningProcess",
    "run_program",
    "run_serve",
    "stop",
]

SUPPORT = Path(__file__).parent
START_SECONDS = 60.0
STOP_SECONDS = 30.0


class RunningProcess(Protocol):
    """What is done with a process, as :class:`subprocess.Popen` has it."""

    pid: int

    @property
    def stdout(self) -> IO[bytes] | None:
        """Where it is a pipe to this process."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Send a signal, where it runs."""
        ...

    def terminate(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it."""
        ...

    def poll(self) -> int | None:
        """Its exit status, once it has ended."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and answer its exit status."""
        ...


@dataclass(frozen=True, kw_only=True)
class Program:
    """A running server."""

    process: RunningProcess
    hello: dict[str, Any]
    """What it printed at its start."""
    log: Path | None = None
    """Its standard error, where it was asked to be kept."""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def url(self) -> str:
        """Its base address."""
        return str(self.hello["url"])

    @property
    def port(self) -> int:
        """The port of its address."""
        return int(self.url.rpartition(":")[2])


@contextmanager
def run_program(
    command: Sequence[str], *, env: dict[str, str] | None = None, log: Path | None = None
) -> Generator[Program]:
    """Run a program that prints one JSON line when it listens.

    Raises:
        RuntimeError: It ended before it did.
    """
    with _errors_to(log) as stderr:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, env={**os.environ, **(env or {})}
        )
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        line = process.stdout.readline()
        if not line.startswith(b"{"):
            process.wait(START_SECONDS)
            msg = f"{' '.join(command[:6])} did not start (exit status {process.returncode})"
            raise RuntimeError(msg)
        yield Program(process=process, hello=json.loads(line), log=log)
    finally:
        stop(process)


@contextmanager
def run_serve(
    home: Path, *options: str, log: Path | None = None, port: int = 0, **variables: str
) -> Generator[Program]:
    """Run ``astra-mcp serve`` under an own home."""
    command = [sys.executable, "-P", "-m", "astra_mcp", "serve"]
    command += ["--port", str(port), "--json", *options]
    env = {"ASTRA_MCP_HOME": str(home), **variables}
    with run_program(command, env=env, log=log) as program:
        key = (home / "control.key").read_text(encoding="ascii").strip()
        yield Program(process=program.process, hello=program.hello | {"key": key}, log=log)


def stop(process: RunningProcess) -> None:
    """Ask a program to end; kill it where it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def _errors_to(log: Path | None) -> Generator[Any]:
    if log is None:
        yield None
        return
    with log.open("ab") as file:
        yield file
