"""A run of a pipeline: one process works on it at a time."""

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from astra_mcp.errors import ConfigError

__all__ = ["alone"]


@contextmanager
def alone(home: Path, run: str) -> Generator[None]:
    """Hold a run for this process while the block lasts: two would count each other's items.

    Raises:
        ConfigError: Another process works on it.
    """
    folder = home / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / f"{sha256(run.encode()).hexdigest()[:16]}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"another process works on the run {run!r}: wait until it ends, or name another with --run"
            ) from None
        yield
