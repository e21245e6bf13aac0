"""The answer that tells an episode's record: a short one is written in a thread, a long one by a process.

Long ones are written one at a time. Knows HTTP and the program that prints; knows no episodes.
"""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO, cast

import anyio
import anyio.to_thread
from fastapi import Response
from pydantic import ValidationError

from astra_mcp.concurrency import Pace
from astra_mcp.errors import (
    GatewayError,
    NoFilesError,
    NoMemoryError,
    NoProcessesError,
    RecordError,
)
from gateway.api.wire import EpisodeState
from gateway.control.lists import answer_parts
from gateway.control.record_printer import Fault, Head, Question, print_record

__all__ = ["RecordAnswers"]

_MIB = 1 << 20
_LONG_BYTES = _MIB
_COMMAND = (sys.executable, "-P", "-m", "gateway.control.record_printer")
_READ_BYTES = 1 << 18
_START_SECONDS, _SECONDS_PER_MIB = 60.0, 5.0
"""A busy machine takes a tenth of the second."""
_ERRORS = {
    Fault.UNREADABLE: RecordError,
    Fault.NO_FILES: NoFilesError,
    Fault.NO_MEMORY: NoMemoryError,
}


class RecordAnswers:
    """Writes the answers of one gateway process."""

    def __init__(self) -> None:
        self._turn = anyio.Lock()

    async def answer(self, state: EpisodeState, path: Path) -> Response:
        """Answer what a record says of an episode that stands there.

        Raises:
            RecordError: It cannot be read.
            ShortageError: There is no memory or no file for it now.
            GatewayError: It was not written in time.
        """
        size = _size_of(path)
        if size <= _LONG_BYTES:
            return answer_parts(await anyio.to_thread.run_sync(print_record, state, path, Pace()))
        question = Question(state=state, path=path).model_dump_json().encode()
        async with self._turn:
            try:
                with anyio.fail_after(_START_SECONDS + _SECONDS_PER_MIB * size / _MIB):
                    return answer_parts(await _ask_for_print(question))
            except TimeoutError:
                msg = (
                    "the record could not be written in time: see whether the machine is overloaded"
                )
                raise GatewayError(msg) from None


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # whoever reads it says so
        return 0


async def _ask_for_print(question: bytes) -> list[bytes]:
    """Have a process print a record, and take all of it before anybody is answered."""
    process = await anyio.to_thread.run_sync(_start)
    try:
        given, printed = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        with suppress(BrokenPipeError):  # it has ended, and printed nothing
            given.write(question)
        given.close()
        return _record_in(await _read_all(printed.fileno()))
    finally:
        process.kill()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_let_end, process)


def _start() -> Popen[bytes]:
    """Start the program; what the event loop has for it would copy the tables of our memory first."""
    try:
        return Popen(  # noqa: S603 - our own command
            _COMMAND, bufsize=0, stdin=PIPE, stdout=PIPE, start_new_session=True
        )
    except OSError as error:
        kind = NoFilesError if error.errno in (errno.EMFILE, errno.ENFILE) else NoProcessesError
        msg = f"no process can be started that reads the record ({error.strerror}): try again"
        raise kind(msg) from error


def _let_end(process: Popen[bytes]) -> None:
    with process:
        pass


async def _read_all(descriptor: int) -> list[bytes]:
    parts: list[bytes] = []
    while not parts or parts[-1]:
        await anyio.wait_readable(descriptor)
        parts.append(os.read(descriptor, _READ_BYTES))
    return parts


def _record_in(printed: list[bytes]) -> list[bytes]:
    """Take the head off what was printed.

    Raises:
        GatewayError: There is no record; says why.
    """
    first, _, rest = printed[0].partition(b"\n")
    parts = [rest, *printed[1:]]
    try:
        head = Head.model_validate_json(first)
    except ValidationError:
        raise GatewayError(_ENDED) from None
    if head.fault is not None:
        raise _ERRORS[head.fault](head.message)
    if sum(map(len, parts)) != head.size:
        raise GatewayError(_ENDED)
    return parts


_ENDED = "the process that reads the record ended: see whether the machine is short of memory"
