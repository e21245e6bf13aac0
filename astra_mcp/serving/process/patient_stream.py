"""Standard error that nobody may read: writing to it never waits.

A pipe whose reader sleeps, or a terminal that was stopped, would hold up the event loop and everything with
it. What cannot be written now is held, up to a limit, and written by a thread once somebody reads again; what
does not fit is lost, and counted. Knows descriptors; knows nothing of what is written.
"""

import contextlib
import io
import os
import select
import socket
import stat
import sys
import threading
from collections.abc import Callable

__all__ = ["PatientStream", "unblocked"]

MAX_HELD_BYTES = 1 << 20
END_SECONDS = 1.0
"""What is held at the end may take so long to be read."""
_AT_ONCE = select.PIPE_BUF
"""A pipe that is said to be writable takes so many bytes without a wait."""


class PatientStream(io.RawIOBase):
    """A descriptor to write to."""

    def __init__(self, descriptor: int) -> None:
        """Write to a descriptor, which stays the caller's."""
        super().__init__()
        self._given = descriptor
        self._own = contextlib.ExitStack()
        self._write_some = _writer(descriptor, self._own)
        self._lock = threading.Lock()
        self._held = bytearray()
        self._lost = 0
        """Pieces since the last that was written."""
        self._thread: threading.Thread | None = None

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor, as whoever asks for the terminal's size needs it."""
        return self._given

    def isatty(self) -> bool:
        """True where somebody may look."""
        return os.isatty(self._given)

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        """Write, hold or lose all of it; never waits."""
        size = len(data)
        with self._lock:
            rest = memoryview(data) if self._held else self._write_now(memoryview(data))
            if len(self._held) + len(rest) > MAX_HELD_BYTES:
                self._lost += 1
            elif rest:
                self._held += rest
            if self._held and self._thread is None:
                self._thread = threading.Thread(target=self._catch_up, daemon=True)
                self._thread.start()
        return size

    def end(self, seconds: float = END_SECONDS) -> None:
        """Wait until all that is held is written, and no longer than so."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def close(self) -> None:
        """Let go of what was opened for the descriptor; what is held is lost."""
        if not self.closed:
            with self._lock:
                self._write_some = len
                self._own.close()
        super().close()

    def _write_now(self, data: memoryview) -> memoryview:
        """Write what goes at once; answers the rest."""
        while data and _is_ready(self._given, 0):
            written = self._write_some(data[:_AT_ONCE])
            if not written:
                break
            data = data[written:]
        return data

    def _catch_up(self) -> None:
        while True:
            _is_ready(self._given, None)
            with self._lock:
                rest = self._write_now(memoryview(bytes(self._held)))
                self._held[:] = rest
                if not self._held and self._lost:
                    self._held += (
                        b"%d pieces of the log were lost here: nobody read it\n" % self._lost
                    )
                    self._lost = 0
                if not self._held:
                    self._thread = None
                    return


def unblocked() -> contextlib.ExitStack:
    """Let nothing that is written to standard error wait, while the context is open."""
    stack = contextlib.ExitStack()
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return stack  # a stream in memory
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return stack
    stream = PatientStream(descriptor)
    text = io.TextIOWrapper(
        stream,  # pyright: ignore[reportArgumentType] - it takes all, as what is buffered does
        encoding="utf-8",
        errors="backslashreplace",
        write_through=True,
    )
    stack.callback(stream.end)
    stack.enter_context(contextlib.redirect_stderr(text))
    return stack


def _is_ready(descriptor: int, seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _writer(descriptor: int, own: contextlib.ExitStack) -> Callable[[memoryview], int]:
    """Write some bytes without a wait, though others write to the same; answers how many, 0 for none.

    The descriptor is shared with others, such as the shell, for whom writing shall go on to wait.
    """
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        ours = own.enter_context(socket.socket(fileno=os.dup(descriptor)))
        return lambda data: _tried(lambda: ours.send(data, socket.MSG_DONTWAIT), len(data))
    target = descriptor
    if stat.S_ISFIFO(mode):
        with contextlib.suppress(
            OSError
        ):  # no /proc: it waits only where another writer comes first
            target = os.open(
                f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
            )
            own.callback(os.close, target)
    return lambda data: _tried(lambda: os.write(target, data), len(data))


def _tried(write: Callable[[], int], size: int) -> int:
    try:
        return write()
    except BlockingIOError:
        return 0
    except OSError:  # nobody will ever read it: it is gone, as for every program
        return size
