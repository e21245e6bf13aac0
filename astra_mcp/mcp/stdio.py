"""Standard input and output as a wire of lines, whose waits can be cancelled at any time.

Knows descriptors and limits; knows no protocol.
"""

import os
import select
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel

__all__ = ["LineWire", "claim_stdio"]

_READ_BYTES = 1 << 16


@contextmanager
def claim_stdio(*, max_line_bytes: int) -> Generator["LineWire"]:
    """Take standard input and output for one client; nothing else in the process can disturb it.

    From then on, whatever reads standard input finds its end, and whatever is printed goes to standard
    error. That stays so: nobody else should speak to the client after the wire is closed.

    Args:
        max_line_bytes: Longer lines are not kept.
    """
    with (
        os.fdopen(os.dup(0), "rb", buffering=0) as reading,
        os.fdopen(os.dup(1), "wb", buffering=0) as writing,
    ):
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        yield LineWire(reading.fileno(), writing.fileno(), max_line_bytes)


@dataclass(frozen=True, slots=True)
class LineWire:
    """Two open descriptors, which belong to the caller; they may be blocking ones."""

    reading: int
    writing: int
    max_line_bytes: int

    async def lines(self) -> AsyncGenerator[bytes | None]:
        """Read lines without their ends, until the input ends; a last line needs no end.

        A line that is too long comes as None. Takes time and memory in proportion to what arrives.
        """
        waits = _can_wait(self.reading)
        rest = bytearray()
        is_too_long = is_over = False
        while not is_over:
            if waits:
                await anyio.wait_readable(self.reading)
            else:
                await anyio.lowlevel.checkpoint()
            chunk = os.read(self.reading, _READ_BYTES)
            is_over = not chunk
            first, *others = chunk.split(b"\n")
            rest += b"" if is_too_long else first
            if len(rest) > self.max_line_bytes:
                is_too_long = True
                rest.clear()
            if is_over and (rest or is_too_long):
                others = [b""]
            for following in others:
                yield None if is_too_long else bytes(rest)
                is_too_long = False
                rest = bytearray(following)

    async def write(self, line: bytes) -> None:
        """Write a line with its end, as fast as it is read.

        Raises:
            BrokenPipeError: Nobody reads any more; so ConnectionResetError for a socket.
        """
        waits = _can_wait(self.writing)
        rest = memoryview(line)
        while rest:
            if waits:
                await anyio.wait_writable(self.writing)
            else:
                await anyio.lowlevel.checkpoint()
            # So much fits into a pipe that is ready: a write never blocks, although the pipe may.
            rest = rest[os.write(self.writing, rest[: select.PIPE_BUF]) :]


def _can_wait(descriptor: int) -> bool:
    """True where the system tells readiness; files and devices like /dev/null are always ready."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
