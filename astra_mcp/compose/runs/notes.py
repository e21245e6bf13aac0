"""What a home keeps of each run: a note of what it is and how it ended, its report, and a lock while it runs.

A run is known by what it goes on by, such as its folder: the same command given again is the same run. A note
holds no option and no address, since those may hold secrets. Files of a run, in ``runs`` under the home::

    ID.KIND.json    the note; its time of change is when the run was begun, so that a list needs no note
    ID.report.json  what it came to so far; of training there is none, since its folder has the figures
    ID.lock         held by the process that runs it

Whoever shows a run reads these, by an id that is one, and of a run's own files those of known names.
"""

import fcntl
import os
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from astra_mcp.errors import UnknownNameError
from astra_mcp.report.html.parts import Report
from astra_mcp.report.html.stored import read_report, report_bytes

__all__ = [
    "RUN_ID_LENGTH",
    "KnownRun",
    "NotedRun",
    "RunKind",
    "RunList",
    "RunNote",
    "RunState",
    "SeenFiles",
    "find_run",
    "is_run_id",
    "list_runs",
    "note_run",
    "report_time",
    "stored_report",
]

_FOLDER = "runs"
_ID = re.compile(r"r[0-9a-f]{12}")
_BEGINNING = re.compile(r"r[0-9a-f]{1,12}")
_DIGITS = 12
RUN_ID_LENGTH: Final = 1 + _DIGITS
"""Characters of an id that is whole."""
_MAX_NOTE_BYTES = 1 << 16
_MAX_TEXT = 400
"""Characters of a name or a figure."""
_TELL_SECONDS = 2.0
_REPORT_SECONDS = 5.0
_SHARE = 200
"""A report is made again after so many times as long as the last one took."""
_CLAIM_ATTEMPTS = 20
_CLAIM_SECONDS = 0.05


class RunKind(StrEnum):
    """What a run does."""

    ROLLOUT = "rollout"
    SYNTHESIS = "synthesis"
    TRAINING = "training"


class RunState(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    """Somebody stopped it, or it was killed: the same command goes on."""
    FAILED = "failed"


class RunNote(BaseModel):
    """What is written down of a run."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    command: str
    """Its name without options, such as ``train rl``."""
    name: str
    """For people."""
    place: Path | None = None
    """The file or folder that it writes, in full."""
    begun_at: datetime
    """When its command was given last."""
    ended_at: datetime | None = None
    ending: RunState | None = None
    """None while it runs, and where nobody could say it."""
    figure: str = ""
    """What it came to so far, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """A run of a home."""

    id: str
    kind: RunKind
    note: RunNote
    is_running: bool

    @property
    def state(self) -> RunState:
        """How it stands; one that nobody holds and that no command ended was killed."""
        if self.is_running:
            return RunState.RUNNING
        return self.note.ending or RunState.STOPPED

    @property
    def is_gone(self) -> bool:
        """Whether what it wrote is not where it was."""
        if self.note.place is None:
            return False
        try:
            self.note.place.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # it cannot be looked at, and may be there
            return False
        return False


SeenFiles = dict[str, tuple[int, float]]
"""Of notes by their names: the number of the file, which is another one for each note, and its time."""


class RunList(NamedTuple):
    """A part of the list."""

    runs: Sequence[KnownRun]
    num_all: int
    """Of the kind, on whatever part."""
    num_unread: int
    """Of this part, those whose note cannot be read."""


# --- what commands write ---------------------------------------------------------------------------


@dataclass(slots=True)
class NotedRun:
    """A run while its command is at work; made by :func:`note_run`."""

    id: str
    _path: Path | None
    """Of the note; None where this process does not note it."""
    _note: RunNote
    ending: RunState | None = None
    """How it ended, where no exception says so."""
    fault: str = ""
    """Why it is not noted, or no longer: the run itself goes on."""
    has_figures: bool = False
    _next_figure: float = 0.0
    _next_report: float = 0.0
    _written: RunNote | None = field(default=None)

    @property
    def is_noted(self) -> bool:
        """Whether this process notes it."""
        return self._path is not None

    def tell(self, figure: str) -> None:
        """Say in a few words what it came to so far; written down every few seconds at most."""
        self.has_figures = True
        self._note = self._note.model_copy(update={"figure": _storable(figure)})
        now = time.monotonic()
        if now >= self._next_figure:
            self._next_figure = now + _TELL_SECONDS
            self._write_note()

    def show(self, make: Callable[[], Report], *, is_last: bool = False) -> None:
        """Keep a report of what it came to so far, now and then.

        Args:
            make: Makes it; called where it is time.
            is_last: True to keep it now, since nothing follows.
        """
        self.has_figures = True
        began = time.monotonic()
        if self._path is None or (began < self._next_report and not is_last):
            return
        self._put(_report_path(self._path.parent, self.id), report_bytes(make()))
        ended = time.monotonic()
        self._next_report = ended + max(_REPORT_SECONDS, _SHARE * (ended - began))

    def begin(self) -> None:
        """Write down that it is there."""
        self._write_note()

    def end(self, ending: RunState) -> None:
        """Write down how it ended."""
        self._note = self._note.model_copy(
            update={"ending": self.ending or ending, "ended_at": datetime.now(UTC)}
        )
        self._write_note()

    def _write_note(self) -> None:
        if self._path is None or self._note == self._written:
            return
        self._written = self._note
        begun = self._note.begun_at.timestamp()
        self._put(self._path, self._note.model_dump_json().encode(), changed_at=begun)

    def _put(self, path: Path, content: bytes, changed_at: float | None = None) -> None:
        """Put a file there whole, or not at all; a home that takes none does not end a run."""
        draft = path.with_name(f".{token_hex(8)}.draft")
        try:
            with os.fdopen(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                file.write(content)
            if changed_at is not None:
                os.utime(draft, (changed_at, changed_at))
            draft.replace(path)
        except OSError as error:
            self.fault = f"{path} cannot be written: {error.strerror}"
            with suppress(OSError):
                draft.unlink(missing_ok=True)


@contextmanager
def note_run(
    home: Path, kind: RunKind, *, command: str, name: str, key: str, place: Path | None = None
) -> Generator[NotedRun]:
    """Note a run in a home while the block lasts, and how it ended.

    A block that is left by an exception before it told anything leaves the list as it was. Where another
    process runs the same one, nothing is noted: that process does it.

    Args:
        home: Keeps the note.
        kind: What it does.
        command: Its name without options.
        name: For people.
        key: What the run goes on by, among those of its kind: its folder, or the name that it has.
        place: What it writes.
    """
    id_ = _id_of(kind, key)
    folder = home / _FOLDER
    note = RunNote(
        command=command,
        name=_storable(name),
        place=None if place is None or not _is_storable(place) else place.absolute(),
        begun_at=datetime.now(UTC),
    )
    path = folder / f"{id_}.{kind}.json"
    lock, fault = _claim(folder, id_)
    try:
        run = NotedRun(id_, None if lock is None else path, note, fault=fault)
        before = None if lock is None else _bytes_of(path)
        run.begin()
        try:
            yield run
        except BaseException as error:
            is_stopped = not isinstance(error, Exception)
            if run.has_figures:
                run.end(RunState.STOPPED if is_stopped else RunState.FAILED)
            elif lock is not None:
                _put_back(path, before)
            raise
        run.end(RunState.DONE)
    finally:
        if lock is not None:
            _release(lock)


def _id_of(kind: RunKind, key: str) -> str:
    digest = sha256(f"{kind}\0{key}".encode("utf-8", "surrogatepass"))
    return f"r{digest.hexdigest()[:_DIGITS]}"


def _storable(text: str) -> str:
    """Leave out what UTF-8 cannot hold, and what is too long for a line."""
    return text.encode("utf-8", "replace").decode()[:_MAX_TEXT]


def _is_storable(path: Path) -> bool:
    """Tell whether a path can be written down as text; of another one no page can speak."""
    return not any("\ud800" <= character <= "\udfff" for character in str(path))


def _claim(folder: Path, id_: str) -> tuple[int | None, str]:
    """Take the lock of a run.

    Returns:
        None where another process has it, or the home takes no file; and why it takes none.
    """
    path = folder / f"{id_}.lock"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return None, f"{path} cannot be written: {error.strerror}"
    fault = ""
    for _ in range(_CLAIM_ATTEMPTS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_CLAIM_SECONDS)  # it may be held just to look
        except OSError as error:
            fault = f"{path} cannot be locked: {error.strerror}"
            break
        else:
            _held.add(lock)
            return lock, ""
    os.close(lock)
    return None, fault


_held: set[int] = set()


def _release(lock: int) -> None:
    _held.discard(lock)
    fcntl.flock(lock, fcntl.LOCK_UN)  # a fork may not have closed it yet
    os.close(lock)


def _forget_in_fork() -> None:
    """Close the locks of a fork, which may outlive the process that runs something."""
    for lock in _held:
        os.close(lock)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_fork)


def _bytes_of(path: Path) -> tuple[bytes, float] | None:
    try:
        return path.read_bytes(), path.stat().st_mtime
    except OSError:
        return None


def _put_back(path: Path, before: tuple[bytes, float] | None) -> None:
    with suppress(OSError):
        if before is None:
            path.unlink(missing_ok=True)
            return
        content, at = before
        path.write_bytes(content)
        os.utime(path, (at, at))


# --- what pages and commands read --------------------------------------------------------------------


def list_runs(
    home: Path,
    *,
    kind: RunKind | None = None,
    begin: int = 0,
    limit: int | None = None,
    seen: SeenFiles | None = None,
) -> RunList:
    """List the runs of a home, those that were begun last first; notes that cannot be read are counted.

    Args:
        home: Keeps the notes.
        kind: Only those of it.
        begin: How many are passed over.
        limit: At most so many, each of which is read; None for all.
        seen: What earlier looks found, and this one adds to: a home may have thousands of runs.
    """
    found = sorted(_names(home, kind, {} if seen is None else seen), reverse=True)
    end = None if limit is None else begin + limit
    known = [_read(home, id_, RunKind(of)) for _, id_, of in found[begin:end]]
    runs = [run for run in known if run is not None]
    return RunList(runs, len(found), len(known) - len(runs))


def is_run_id(text: str) -> bool:
    """Tell whether a text looks like the id of a run, or its beginning; no id of an episode does."""
    return _BEGINNING.fullmatch(text) is not None


def find_run(home: Path, beginning: str) -> KnownRun:
    """Find a run by its id, or the first characters of it.

    Raises:
        UnknownNameError: There is none, or there are several.
    """
    found: list[KnownRun] = []
    if _ID.fullmatch(beginning):
        looked = (_read(home, beginning, kind) for kind in RunKind)
        found = [run for run in looked if run is not None]
    elif _BEGINNING.fullmatch(beginning):
        names = [(id_, of) for _, id_, of in _names(home, None, {}) if id_.startswith(beginning)]
        if len(names) > 1:
            raise UnknownNameError(
                f"{len(names)} ids of runs start with {beginning!r}: write more of one"
            )
        looked = (_read(home, id_, RunKind(of)) for id_, of in names)
        found = [run for run in looked if run is not None]
    if not found:
        raise UnknownNameError("there is no run of this id: see `astra-mcp runs list`")
    return found[0]


def stored_report(home: Path, run: KnownRun) -> Report | None:
    """Read the last report of a run; None where it has none.

    Raises:
        ConfigError: It cannot be read.
    """
    path = _report_path(home / _FOLDER, run.id)
    return read_report(path) if path.is_file() else None


def report_time(home: Path, run: KnownRun) -> float | None:
    """When the report of a run was last written, in seconds; None where it has none."""
    try:
        return _report_path(home / _FOLDER, run.id).stat().st_mtime
    except OSError:
        return None


def _report_path(folder: Path, id_: str) -> Path:
    return folder / f"{id_}.report.json"


def _names(home: Path, kind: RunKind | None, seen: SeenFiles) -> list[tuple[float, str, str]]:
    """When each was begun, its id and its kind, without reading a note."""
    endings = {f".{each}.json": each.value for each in RunKind if kind in (None, each)}
    found: list[tuple[float, str, str]] = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(home / _FOLDER) as entries:
        for entry in entries:
            name, node = entry.name, entry.inode()
            of = endings.get(name[_DIGITS + 1 :])
            if of is None:
                continue
            begun = seen.get(name)
            if begun is None or begun[0] != node:
                with suppress(FileNotFoundError):
                    begun = seen[name] = (node, entry.stat().st_mtime)
            if begun is not None:
                found.append((begun[1], name[: _DIGITS + 1], of))
    return found


def _read(home: Path, id_: str, kind: RunKind) -> KnownRun | None:
    path = home / _FOLDER / f"{id_}.{kind}.json"
    try:
        note = RunNote.model_validate_json(_beginning_of(path, _MAX_NOTE_BYTES))
    except (OSError, ValidationError):
        return None
    return KnownRun(
        id=id_, kind=kind, note=note, is_running=_is_held(path.with_name(f"{id_}.lock"))
    )


def _beginning_of(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def _is_held(path: Path) -> bool:
    """Tell whether a process runs it."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
