"""Room on the disk for records: calls that begin ask for it, and those under way have a reserve.

A full disk ends nothing. What begins is refused first, so that what is under way can still be recorded: the
reserve is a file of zeros that gives its place up for that, and that must be whole again before anything
begins. A slow disk holds up nothing either, after the one write that tells that it is slow: nothing is
written then until a thread finds that writes are quick again. Knows one file and the disk that it lies on;
knows no record.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from astra_mcp.errors import NoSpaceError

__all__ = ["SLOW_SECONDS", "DiskRoom"]

_MOST_BYTES = 8 << 20
_SHARE = 16
"""The reserve is one of so many parts of a disk, where that is less."""
_BEGINNING_BYTES = 64 << 10
"""So much must be free beside the reserve for anything to begin again."""
_LOOK_AGAIN_SECONDS = 0.25
SLOW_SECONDS = 0.5
"""A write that takes longer says that the disk is slow; nobody else is answered meanwhile."""
_QUICK_TRIALS = 2
"""So many quick writes in a row say that it is not any more."""


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
        self._slow = ""
        """How slow the disk is; empty where it is not. Cleared by the thread that tries it."""
        self._look()

    def require(self) -> None:
        """Let something begin.

        Raises:
            NoSpaceError: What would be under way then might not be recorded.
        """
        self.require_speed()
        if self._why:
            self._look()
            if self._why:
                raise self.error()

    def require_speed(self) -> None:
        """Let something be written that may wait, for as long as the disk is slow.

        Raises:
            NoSpaceError: It would hold up everything.
        """
        if self._slow:
            raise self.error()

    def note_slow(self, seconds: float) -> None:
        """Hear that a write took so long; from then on a thread tries the disk."""
        if not self._slow:
            self._slow = f"the disk is slow: a write took {seconds:.1f} s"
            threading.Thread(target=self._try_on, daemon=True).start()

    def _try_on(self) -> None:
        num_quick = 0
        while num_quick < _QUICK_TRIALS:
            time.sleep(_LOOK_AGAIN_SECONDS)
            began = time.monotonic()
            with suppress(OSError):  # a full disk is another matter
                self._try()
            num_quick = num_quick + 1 if time.monotonic() - began < SLOW_SECONDS / 2 else 0
        self._slow = ""

    def _try(self) -> None:
        path = self._path.with_name(f"{self._path.name}.trial")
        try:
            path.write_bytes(bytes(4096))
        finally:
            path.unlink(missing_ok=True)

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
        if not self._slow:
            self._look()
        return (str(self.error()),) if self._why or self._slow else ()

    def error(self) -> NoSpaceError:
        """Say what is the matter, and what to do."""
        if self._slow:
            return NoSpaceError(
                f"no record is written for now ({self._slow}): try again; nothing is lost"
            )
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
