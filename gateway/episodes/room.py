"""Room on the disk for records: calls that begin ask for it, and those under way have a reserve.

A full disk ends nothing. What begins is refused first, so that what is under way can still be recorded: the
reserve is a file of zeros that gives its place up for that, and that must be whole again before anything
begins. Knows one file and the disk that it lies on; knows no record.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from astra_mcp.errors import NoSpaceError

__all__ = ["DiskRoom"]

_MOST_BYTES = 8 << 20
_SHARE = 16
"""The reserve is one of so many parts of a disk, where that is less."""
_BEGINNING_BYTES = 64 << 10
"""So much must be free beside the reserve for anything to begin again."""
_LOOK_AGAIN_SECONDS = 0.25


class DiskRoom:
    """The reserve of one gateway process on the disk of its records."""

    def __init__(self, path: Path, now: Callable[[], float] = time.monotonic) -> None:
        """Take the reserve; a disk that is full already gives none now, and gives it once it has room."""
        self._path = path
        self._now = now
        self._look_at = now()
        self._has_reserve = self._is_there()
        self._why = ""
        """What keeps anything from beginning; empty where nothing does."""
        self._look()

    def require(self) -> None:
        """Let something begin.

        Raises:
            NoSpaceError: What would be under way then might not be recorded.
        """
        if self._why:
            self._look()
            if self._why:
                raise self.error()

    def note(self, why: str) -> NoSpaceError:
        """Hear that something could not begin, for the system's reason; answers the error of it."""
        self._why = why
        return self.error()

    def give(self, why: str) -> bool:
        """Give the reserve to what is under way and could not be written, for the system's reason.

        Returns:
            False where it was given before.
        """
        self._why = why
        had, self._has_reserve = self._has_reserve, False
        self._free()
        return had

    def missing(self) -> tuple[str, ...]:
        """Say what keeps records from being written now; empty where nothing does."""
        self._look()
        return (str(self.error()),) if self._why else ()

    def error(self) -> NoSpaceError:
        """Say what is the matter, and what to do."""
        return NoSpaceError(
            f"records cannot be written ({self._why}): free disk space and try again; nothing is lost"
        )

    def _look(self) -> None:
        """Find out whether the disk has room, a few times a second at most; takes the reserve again."""
        if self._now() < self._look_at:
            return
        self._look_at = self._now() + _LOOK_AGAIN_SECONDS
        try:
            self._take()
        except OSError as error:
            self._why = error.strerror or type(error).__name__
            if not self._has_reserve:
                self._free()
        else:
            self._has_reserve, self._why = True, ""

    def _is_there(self) -> bool:
        """Whether an earlier process left a reserve, which is as good."""
        try:
            return self._path.stat().st_size > 0
        except OSError:
            return False

    def _take(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            disk = os.fstatvfs(descriptor)
            size = min(_MOST_BYTES, disk.f_blocks * disk.f_frsize // _SHARE) or _MOST_BYTES
            os.posix_fallocate(descriptor, 0, size + _BEGINNING_BYTES)
            os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)

    def _free(self) -> None:
        with suppress(OSError):  # there is none, or the disk takes nothing at all
            os.truncate(self._path, 0)
