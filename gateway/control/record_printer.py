"""An episode's record as the JSON that the control plane answers; run as a program, it prints one and ends.

To read and write 50,000 calls takes seconds. In a thread that would make each step of the event loop wait for
the interpreter's lock again and again, and leave its memory behind, so a process does it that shares neither.
Knows records; knows no HTTP.
"""

import os
import sys
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter

from astra_mcp.call_record import CallRecord
from astra_mcp.concurrency import Pace
from astra_mcp.errors import NoFilesError, NoMemoryError, RecordError
from astra_mcp.types import FrozenModel
from gateway.api.wire import EpisodeState
from gateway.episodes.archive import tell_record

__all__ = ["Fault", "Head", "Question", "print_record"]

_NICENESS = 5
_SLICE = 200
"""Calls that are written at a time."""
_CALLS = TypeAdapter(tuple[CallRecord, ...])


class Fault(StrEnum):
    """Why there is no record to answer."""

    UNREADABLE = "unreadable"
    NO_FILES = "no files"
    NO_MEMORY = "no memory"


class Question(FrozenModel):
    """The input of the program."""

    state: EpisodeState
    path: Path
    """Of the record. No argument, as it names the episode: all users of a machine can see arguments."""


class Head(FrozenModel):
    """The first line that the program prints; the record follows."""

    size: int = 0
    """Bytes of the record."""
    fault: Fault | None = None
    message: str = ""


def print_record(state: EpisodeState, path: Path, pace: Pace | None = None) -> list[bytes]:
    """Write what a record says of an episode that stands there as JSON, in parts.

    Args:
        state: Of the episode.
        path: Of its record.
        pace: Kept in a thread beside which others work.

    Raises:
        RecordError: It cannot be read.
        ShortageError: There is no memory or no file for it now.
    """
    record = tell_record(state, path, pace)
    whole = record.model_copy(update={"calls": ()}).model_dump_json().encode()
    parts = [whole.removesuffix(b"]}")]
    for begin in range(0, len(record.calls), _SLICE):
        part = _CALLS.dump_json(record.calls[begin : begin + _SLICE])
        parts += (b"," if begin else b"", part[1:-1])
    parts.append(b"]}")
    return parts


def _answer(question: Question) -> tuple[Head, list[bytes]]:
    try:
        parts = print_record(question.state, question.path)
    except RecordError as error:
        return Head(fault=Fault.UNREADABLE, message=str(error)), []
    except NoFilesError as error:
        return Head(fault=Fault.NO_FILES, message=str(error)), []
    except (NoMemoryError, MemoryError) as error:
        message = str(error) or "the record does not fit into the memory that is left for now"
        return Head(fault=Fault.NO_MEMORY, message=message), []
    return Head(size=sum(map(len, parts))), parts


def _main() -> None:
    os.nice(_NICENESS)
    head, parts = _answer(Question.model_validate_json(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(head.model_dump_json().encode() + b"\n")
    sys.stdout.buffer.writelines(parts)


if __name__ == "__main__":
    _main()
