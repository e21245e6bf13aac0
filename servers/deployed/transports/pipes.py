"""Our ends of the pipes of a process.

Read and written here whenever the loop says that it can be done at once. The loops' own streams are not used:
uvloop closes the number of a pipe twice, and in between it may be another thread's; that of a socket it
closes once, but a program cannot open a ``/dev/stderr`` that is one. Knows neither processes nor lines.
"""

import asyncio
import os
from typing import IO, Final

import anyio
import anyio.lowlevel

__all__ = ["Input", "Output"]

CHUNK_BYTES: Final = 1 << 16
HIGH_WATER_BYTES: Final = 128 << 10
"""So much of an output is held before anybody takes it; then no more is read, and the process waits."""


class _End:
    """Our end of a pipe; belongs to the loop that it is made in."""

    def __init__(self, pipe: IO[bytes]) -> None:
        """Take over a pipe that keeps nothing back itself."""
        self._pipe = pipe
        self._fd: int | None = pipe.fileno()
        self._loop = asyncio.get_running_loop()
        self._moved = asyncio.Event()
        """Whoever waits for the pipe looks at it again."""
        os.set_blocking(self._fd, False)

    def close(self) -> None:
        """Close it at once, whatever is under way; closing twice is allowed."""
        if self._fd is None:
            return
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._pipe.close()
        self._fd = None
        self._moved.set()

    @property
    def _is_closed(self) -> bool:
        return self._fd is None

    async def _move(self) -> None:
        self._moved.clear()
        await self._moved.wait()


class Input(_End):
    """Standard input. Data that is sent goes out whole, also where its sender is cancelled."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(pipe)
        self._left = bytearray()
        """What was sent and is not written yet."""
        self._is_ending = False

    async def send(self, data: bytes) -> None:
        """Send data; returns once it is written, so that a process that does not read is waited for.

        Raises:
            anyio.BrokenResourceError: The process has closed it, or we have.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._fd is None or self._is_ending:
            raise anyio.BrokenResourceError
        fd, is_alone = self._fd, not self._left
        self._left += data
        if is_alone:
            self._write(fd)
        if is_alone and self._left and not self._is_closed:
            self._loop.add_writer(fd, self._write, fd)
        while self._left and not self._is_closed:
            await self._move()
        if self._left:
            raise anyio.BrokenResourceError

    def end(self) -> None:
        """Close it behind what was sent."""
        self._is_ending = True
        if not self._left:
            self.close()

    def _write(self, fd: int) -> None:
        try:
            written = os.write(fd, self._left)
        except BlockingIOError:
            return
        except OSError:  # the process has closed it
            self.close()
            return
        del self._left[:written]
        if self._left:
            return
        self._loop.remove_writer(fd)
        self._moved.set()
        if self._is_ending:
            self.close()


class Output(_End):
    """Standard output or standard error."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(pipe)
        self._held = bytearray()
        self._is_paused = False
        self._go_on()

    async def receive(self) -> bytearray:
        """Wait for data, and take all there is.

        Raises:
            anyio.EndOfStream: Nobody can write to it any more, or we have closed it.
        """
        while not self._held:
            if self._fd is None:
                raise anyio.EndOfStream
            await self._move()
        data, self._held = self._held, bytearray()
        if self._is_paused:
            self._is_paused = False
            self._go_on()
        return data

    def _go_on(self) -> None:
        if self._fd is not None:
            self._loop.add_reader(self._fd, self._read, self._fd)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        self._held += data
        if len(self._held) > HIGH_WATER_BYTES:
            self._is_paused = True
            self._loop.remove_reader(fd)
        self._moved.set()
