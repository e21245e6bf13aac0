"""What is written to a pipe that nobody reads waits for nobody, and comes in order once somebody does."""

import os
import socket
from collections.abc import Generator

import pytest

from astra_mcp.serving.process.patient_stream import MAX_HELD_BYTES, PatientStream

LINE = b"%06d " + b"x" * 92 + b"\n"


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Generator[tuple[int, int]]:
    """Where is read, and where is written."""
    reader, writer = socket.socketpair()
    pair = os.pipe() if request.param == "pipe" else (reader.detach(), writer.detach())
    reader.close()
    writer.close()
    yield pair
    for end in pair:
        os.close(end)


def read_lines(end: int, num: int) -> list[bytes]:
    data = b""
    while data.count(b"\n") < num:
        data += os.read(end, 1 << 16)
    return data.splitlines(keepends=True)


def test_lines_that_are_read_late_come_whole_and_in_order(ends: tuple[int, int]) -> None:
    read, write = ends
    stream = PatientStream(write)
    lines = [LINE % n for n in range(8000)]
    for line in lines:
        assert stream.write(line) == len(line)
    assert read_lines(read, len(lines)) == lines
    stream.end()
    stream.close()


def test_what_nobody_reads_is_lost_from_a_limit_on_and_counted(ends: tuple[int, int]) -> None:
    read, write = ends
    stream = PatientStream(write)
    num = 3 * MAX_HELD_BYTES // len(LINE % 0)
    for n in range(num):
        stream.write(LINE % n)
    data = b""
    while b"were lost here" not in data:
        data += os.read(read, 1 << 16)
    *kept, told = data.splitlines(keepends=True)
    assert kept == [LINE % n for n in range(len(kept))]
    assert told == b"%d pieces of the log were lost here: nobody read it\n" % (num - len(kept))
    stream.end()
    stream.write(b"later\n")
    assert os.read(read, 100) == b"later\n"
    stream.close()


def test_others_who_write_to_the_same_pipe_still_wait(ends: tuple[int, int]) -> None:
    _, write = ends
    stream = PatientStream(write)
    stream.write(b"line\n")
    assert os.get_blocking(write)
    stream.close()


def test_a_pipe_whose_reader_has_gone_takes_everything() -> None:
    read, write = os.pipe()
    os.close(read)
    stream = PatientStream(write)
    assert stream.write(b"line\n") == 5
    stream.end()
    stream.close()
    os.close(write)
