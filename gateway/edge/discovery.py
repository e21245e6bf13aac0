"""Which gateway serves a home: one at a time, found through ``$ASTRA_MCP_HOME/gateway.json``.

The file is written once the gateway listens and removed when it stops; one that a killed gateway left
behind is recognised by its process. A lock keeps a second gateway from writing into the same records;
the system drops it with the process. Knows nothing of what is served.
"""

import fcntl
import os
import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from astra_mcp.errors import GatewayError

__all__ = [
    "RunningGateway",
    "announce",
    "claim_home",
    "find_gateway",
    "remember_ports",
    "remembered_ports",
]


_LOCK = "gateway.lock"
_PORTS = "workers.json"
_CLAIM_ATTEMPTS = 5
_CLAIM_SECONDS = 0.1


class RunningGateway(BaseModel):
    """How another command of the same home reaches the gateway."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    """Base URL, such as ``http://127.0.0.1:8420``."""
    pid: int
    version: str
    """Of the astra-mcp that serves."""
    public_url: str | None = None
    """Base URL that clients use, where a reverse proxy stands before it."""
    workers: tuple[str, ...] = ()
    """Base URL of every worker on this machine, the first one first; empty where there is one alone."""
    environments: tuple[Path, ...] = ()
    """Folders of bundles that it publishes besides the bundled ones."""
    mcp_config: Path | None = None
    """The file of the deployed servers that it publishes."""
    has_pages: bool = False
    """Whether people see it in a browser."""


class _Ports(BaseModel):
    ports: tuple[int, ...]


def find_gateway(home: Path) -> RunningGateway | None:
    """Find the gateway that serves a home; None where none runs."""
    try:
        running = RunningGateway.model_validate_json(_path(home).read_bytes())
    except (OSError, ValidationError):
        return None
    return running if _is_claimed(home) and _is_alive(running.pid) else None


@contextmanager
def claim_home(home: Path) -> Generator[int]:
    """Be the one gateway of a home while the block runs; yields the lock's file descriptor.

    A process that inherits the descriptor keeps the home claimed as long as it lives.

    Raises:
        GatewayError: Another one serves it, or the folder cannot be written.
    """
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        msg = f"{home} cannot be written ({error.strerror}): choose another ASTRA_MCP_HOME"
        raise GatewayError(msg) from None
    try:
        _lock(descriptor, home)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, home: Path) -> None:
    for _ in range(_CLAIM_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_CLAIM_SECONDS)  # it may have been held just to look
        else:
            return
    running = find_gateway(home)
    where = f" at {running.url} (process {running.pid})" if running else ", or is still stopping"
    raise GatewayError(
        f"a gateway already serves {home}{where}: use it, stop it, or choose another "
        "ASTRA_MCP_HOME for this one"
    )


@contextmanager
def announce(home: Path, running: RunningGateway) -> Generator[None]:
    """Let other commands find this gateway while the block runs.

    Raises:
        GatewayError: It cannot be written down.
    """
    path = _path(home)
    _write(path, running.model_dump_json())
    try:
        yield
    finally:
        found = find_gateway(home)
        if found is None or found.pid == running.pid:
            path.unlink(missing_ok=True)


def remembered_ports(home: Path) -> tuple[int, ...]:
    """Read which ports the workers of a home had, the second worker's first; empty where none is known."""
    try:
        return _Ports.model_validate_json((home / _PORTS).read_bytes()).ports
    except (OSError, ValidationError):
        return ()


def remember_ports(home: Path, ports: Sequence[int]) -> None:
    """Write them down for the next start; open episodes keep their addresses by it.

    Raises:
        GatewayError: They cannot be written down.
    """
    _write(home / _PORTS, _Ports(ports=tuple(ports)).model_dump_json())


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_text(f"{text}\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise GatewayError(
            f"{path} cannot be written ({error.strerror}): free disk space, or set ASTRA_MCP_HOME to a folder"
            " that can be written"
        ) from error


def _is_claimed(home: Path) -> bool:
    """Tell whether a process holds the lock, so that a reused process id deceives nobody."""
    try:
        descriptor = os.open(home / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _path(home: Path) -> Path:
    return home / "gateway.json"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
