"""Files of scores: one line per trajectory, appended while a run goes on and put in order at its end."""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from shutil import copymode
from typing import Self

from pydantic import ValidationError

from astra_mcp.errors import ConfigError
from astra_mcp.text.strict_json import parse_strict
from training.rewards.score import Method, Score, State

__all__ = ["ScoreWriter", "read_scores"]

_LINE_START = b'{"schema_version":'
"""By which the beginning of a torn line is told from what is not ours."""


def read_scores(path: Path) -> dict[str, Score]:
    """Read a score file, by digest; of several lines on one trajectory the last one holds.

    Raises:
        ConfigError: The file cannot be read, a line is none of a score file, or lines are of several methods;
            names line and field.
    """
    scores: dict[str, Score] = {}
    method: Method | None = None
    for number, (_, _, score) in enumerate(_lines(path), 1):
        method = method or score.method
        if score.method != method:
            raise ConfigError(
                f"{path}: line {number}: method: is {_words(score.method)}, and that of the lines before"
                f" {_words(method)}: scores of one file are of one method"
            )
        scores[score.digest] = score
    return scores


def _lines(path: Path) -> Iterator[tuple[int, int, Score]]:
    """Give each whole line with where it begins and ends."""
    start = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield start, start + len(line), _parse(path, number, line)
                start += len(line)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None


def _parse(path: Path, number: int, line: bytes) -> Score:
    try:
        return Score.from_line(parse_strict(line.decode()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        fault = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except UnicodeDecodeError as error:
        fault = f"is not UTF-8 (byte {error.start})"
    except RecursionError:
        fault = "nests too deeply"
    except ValueError as error:
        fault = str(error)
    cut = "" if line.endswith(b"\n") else " (the line is cut off at the end of the file)"
    raise ConfigError(f"{path}: line {number}: {fault}{cut}")


@dataclass(frozen=True, slots=True)
class _Kept:
    start: int
    end: int
    state: State


class ScoreWriter:
    """Goes on with a score file, or begins one; no two writers have one file at once.

    A context manager. Every line is written whole or not at all, and an end that was cut off is taken away.
    """

    def __init__(self, path: Path, method: Method) -> None:
        """Open the file, and its folder where it is missing.

        Args:
            path: Of the file.
            method: All of its lines must be of it.

        Raises:
            ConfigError: It is written by somebody else, holds what is no score or scores of another method,
                or cannot be created.
        """
        self.path = path
        self._method = method
        self._kept: dict[str, _Kept] = {}
        self._size = 0
        self._is_new = not path.exists()
        if not self._is_new and not path.is_file():
            raise ConfigError(f"{path} is no file to go on with: name another one")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise ConfigError(f"{path} cannot be created: {error.strerror}") from None
        try:
            self._lock(self._file)
            self._mend(self._file)
            self._read()
        except BaseException:
            self.close()
            raise

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = os.path.samestat(os.fstat(file), self.path.stat())
        except (BlockingIOError, FileNotFoundError):
            is_there = False
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be locked: {error.strerror}") from None
        if not is_there:
            raise ConfigError(f"another process writes {self.path}: wait for its end")

    def _mend(self, file: int) -> None:
        """End a last line that is whole, and take off one that was cut."""
        start, last = 0, b""
        with self.path.open("rb") as lines:
            for line in lines:
                start, last = start + len(last), line
        if not last or last.endswith(b"\n"):
            return
        if last[: len(_LINE_START)] != _LINE_START[: len(last)]:
            raise ConfigError(f"{self.path}: its end is no line of a score file: name another file")
        try:
            Score.from_line(parse_strict(last.decode()))
        except (RecursionError, ValueError):
            os.ftruncate(file, start)
        else:
            os.write(file, b"\n")

    def _read(self) -> None:
        for start, end, score in _lines(self.path):
            if score.method != self._method:
                raise ConfigError(
                    f"{self.path} holds scores by {_words(score.method)}, and these would be by"
                    f" {_words(self._method)}: name another file with --out"
                )
            self._keep(score, start, end)

    def _keep(self, score: Score, start: int, end: int) -> None:
        self._kept[score.digest] = _Kept(start, end, score.state)
        self._size = end

    @property
    def settled(self) -> set[str]:
        """Digests of the trajectories that are not to be scored again."""
        return {d for d, kept in self._kept.items() if kept.state is not State.UNSCORED}

    def write(self, score: Score) -> None:
        """Append a line; one that does not fit on the disk is taken back as a whole.

        Raises:
            ConfigError: The disk is full or refuses; all earlier lines are intact.
        """
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        line = json.dumps(score.as_line(), ensure_ascii=False, separators=(",", ":"))
        data = line.encode("utf-8", "replace") + b"\n"  # a model may write half a character
        try:
            if os.write(self._file, data) < len(data):
                os.truncate(self.path, self._size)
                raise ConfigError(f"{self.path}: the disk is full; {self._size} bytes were kept")
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from None
        self._keep(score, self._size, self._size + len(data))

    def arrange(self, order: Iterable[str]) -> None:
        """Put the lines into an order, each trajectory once; the file changes as a whole or not at all.

        Args:
            order: Digests; the lines on other trajectories follow as they were.

        Raises:
            ConfigError: The disk is full or refuses; the file is as it was written.
        """
        wanted = [d for d in dict.fromkeys([*order, *self._kept]) if d in self._kept]
        places = [(self._kept[d].start, self._kept[d].end) for d in wanted]
        if [start for start, _ in places] == [0, *(end for _, end in places)][: len(places)]:
            return
        draft = self.path.with_name(f".{token_hex(8)}.draft")
        try:
            with self.path.open("rb") as lines, draft.open("xb") as arranged:
                for start, end in places:
                    lines.seek(start)
                    arranged.write(lines.read(end - start))
                arranged.flush()
                os.fsync(arranged.fileno())
            copymode(self.path, draft)
            draft.replace(self.path)
        except OSError as error:
            raise ConfigError(
                f"{self.path} holds every score, but not in order: it cannot be rewritten"
                f" ({error.strerror})"
            ) from None
        finally:
            draft.unlink(missing_ok=True)
            self.close()  # and with it the lock, once the file is in its place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close()
        if error is not None and self._size == 0 and self._is_new:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; closing twice is allowed."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _words(method: Method) -> str:
    rules = ", with --rule-total" if method.rule_total else ""
    return (
        f"{method.judge} (prompts {method.prompts}, --repeat {method.repeat}, --max-prompt-bytes"
        f" {method.max_prompt_bytes}{rules})"
    )
