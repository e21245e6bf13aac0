"""One process at a time writes a run's folder; the system drops its lock with it."""

import fcntl
import os
import weakref
from pathlib import Path

from astra_mcp.errors import ConfigError

__all__ = ["LOCK", "RunLock"]

LOCK = "checkpoints.lock"
_held: "weakref.WeakSet[RunLock]" = weakref.WeakSet()


class RunLock:
    """Held from its creation to :meth:`release`, by this process alone: a fork of it does not hold it.

    So a worker of a data loader that outlives a killed trainer does not keep the next one out.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            ConfigError: Another process or writer has it, or the folder is not writable.
        """
        path = folder / LOCK
        try:
            self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be written ({error.strerror}): name another folder for the run"
            ) from None
        try:
            self._take(self._file, path)
        except BaseException:
            self.forget()
            raise
        _held.add(self)

    def _take(self, file: int, path: Path) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise ConfigError(
                f"{path.parent} is written by process {holder}: wait for its end, stop it, or name"
                " another folder for the run"
            ) from None
        except OSError as error:
            raise ConfigError(f"{path} cannot be locked: {error.strerror}") from None

    @property
    def is_held(self) -> bool:
        """Whether this process may write."""
        return self._file is not None

    def release(self) -> None:
        """Let others write; releasing twice is allowed."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)  # a fork may not have closed it yet
            self.forget()

    def forget(self) -> None:
        """Close the file alone, as a fork does: the lock is still its parent's."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _forget_in_fork() -> None:
    for lock in tuple(_held):
        lock.forget()


os.register_at_fork(after_in_child=_forget_in_fork)
