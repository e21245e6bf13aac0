"""Where the running gateway of a home is found: ``$ASTRA_MCP_HOME/gateway.json``.

Written once the gateway listens, removed when it stops. A file that a killed gateway left behind is
recognised by its process. Knows nothing of what is served.
"""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = ["RunningGateway", "announce", "find_gateway"]


class RunningGateway(BaseModel):
    """How another command of the same home reaches the gateway."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    """Base URL, such as ``http://127.0.0.1:8420``."""
    pid: int
    version: str
    """Of the astra-mcp that serves."""


def find_gateway(home: Path) -> RunningGateway | None:
    """Find the gateway that serves a home; None where none runs."""
    try:
        running = RunningGateway.model_validate_json(_path(home).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return running if _is_alive(running.pid) else None


@contextmanager
def announce(home: Path, running: RunningGateway) -> Generator[None]:
    """Let other commands find this gateway while the block runs."""
    path = _path(home)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_text(running.model_dump_json() + "\n", encoding="utf-8")
    draft.replace(path)
    try:
        yield
    finally:
        found = find_gateway(home)
        if found is None or found.pid == running.pid:
            path.unlink(missing_ok=True)


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
