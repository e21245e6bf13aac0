"""The folder of a run: with what it was begun, and its figures, step by step.

A second start with the same folder goes on; one that would train otherwise is refused by name.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Any, Protocol, cast

from astra_mcp.errors import ConfigError
from astra_mcp.text.strict_json import parse_strict
from training.checkpoints.lock import LOCK, RunLock

__all__ = ["METRICS", "RunFolder", "RunSettings", "read_figures", "read_metrics"]

_logger = logging.getLogger(__name__)
METRICS = "metrics.jsonl"
_BEGUN = "run.json"
_LEFTOVER = re.compile(r"\.[0-9a-f]{16}\.draft")
"""What a killed process leaves of a file that it wrote."""
_STEP = "step"
_FREE = ("out", "checkpoints", "log", "alarms", "training.steps")
"""Settings and sections that change no weight."""
_FREE_KEYS = ("file", "url")
"""Of whatever section: the same, or rows are compared in its place."""


class RunSettings(Protocol):
    """With what a run is begun."""

    @property
    def out(self) -> Path:
        """The run's folder."""
        ...

    def model_dump(self, *, mode: str, exclude_defaults: bool = False) -> dict[str, Any]:
        """Give all of them by sections, or those alone that are not as usual."""
        ...


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Made by :meth:`open`."""

    path: Path

    @classmethod
    def open(
        cls, settings: RunSettings, digests: Mapping[str, str], versions: Mapping[str, str]
    ) -> "RunFolder":
        """Make the folder, or take one that was begun with the same.

        Args:
            settings: Of the run.
            digests: Of the examples of each set or environment, by its name.
            versions: Of the libraries, for the record.

        Raises:
            ConfigError: It holds something else, was begun with other settings or rows, or cannot be written.
        """
        folder = cls(settings.out)
        begun: Mapping[str, Any] = {
            "settings": _flat(settings.model_dump(mode="json")),
            "data": dict(digests),
            "versions": dict(versions),
        }
        with folder.claimed():
            known = folder._begun()
            if known is None:
                try:
                    folder._write(_BEGUN, json.dumps(begun, indent=1, ensure_ascii=False).encode())
                except OSError as error:
                    raise ConfigError(
                        f"{error.filename} cannot be used: {error.strerror}"
                    ) from None
                return folder
        chosen = _flat(settings.model_dump(mode="json", exclude_defaults=True))
        folder._compare(known, begun, chosen)
        return folder

    @contextmanager
    def claimed(self) -> Generator[None]:
        """Make the folder where there is none, and keep other processes out of it while the block runs.

        What a killed start left there is removed, but for a model that was made.

        Raises:
            ConfigError: Another process writes it, it holds what is no run of SFT, or it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._require_ours()
        except OSError as error:
            raise ConfigError(f"{error.filename} cannot be used: {error.strerror}") from None
        lock = RunLock(self.path)
        try:
            self._clean()
            yield
        finally:
            lock.release()

    @property
    def is_begun(self) -> bool:
        """Whether a run wrote its settings there."""
        return self._begun() is not None

    @property
    def settings(self) -> Mapping[str, Any]:
        """With what the run was begun, by names such as ``data.0.weight``; empty where none was.

        Raises:
            ConfigError: The file of them cannot be read, or is not of a run of training.
        """
        begun = self._begun()
        return {} if begun is None else begun["settings"]

    def _begun(self) -> Mapping[str, Any] | None:
        file = self.path / _BEGUN
        if not file.exists():
            return None
        try:
            found = json.loads(file.read_bytes())
        except ValueError as error:
            raise ConfigError(
                f"{file} is no JSON: {error}; name another folder with --out"
            ) from None
        except OSError as error:
            raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
        if not isinstance(found, dict) or not all(
            isinstance(found.get(part), dict)  # pyright: ignore[reportUnknownMemberType]
            for part in ("settings", "data")
        ):
            raise ConfigError(f"{file} is not of a run of training; name another folder with --out")
        return cast("Mapping[str, Any]", found)

    def _require_ours(self) -> None:
        """Refuse a folder that no run was begun in and that holds anything but a start of one."""
        if (self.path / _BEGUN).exists():
            return
        names = (each.name for each in self.path.iterdir())
        foreign = [n for n in names if n != LOCK and not _LEFTOVER.fullmatch(n)]
        if foreign:
            raise ConfigError(
                f"{self.path} holds {min(foreign)!r}, which is of no run of training: name another folder"
                " with --out"
            )

    def _clean(self) -> None:
        """Remove what a killed process left; the lock says that none is at work on it."""
        for each in [*self.path.iterdir()]:
            if _LEFTOVER.fullmatch(each.name):
                try:
                    rmtree(each) if each.is_dir() else each.unlink()
                except OSError as error:
                    raise ConfigError(
                        f"{each} is left of a killed start and cannot be removed: {error.strerror}"
                    ) from None

    def _compare(
        self, known: Mapping[str, Any], begun: Mapping[str, Any], chosen: Mapping[str, Any]
    ) -> None:
        """Refuse what differs; a setting that there was not yet was as it is by default."""
        for section, what in (("settings", ""), ("data", "the examples of ")):
            old, new = known[section], begun[section]
            added = [each for each in new if each not in old]
            if section == "settings":
                added = [each for each in added if each in chosen]
            for name in (*old, *added):
                if not _is_free(name) and old.get(name) != new.get(name):
                    raise ConfigError(
                        f"{self.path} was begun with {what}{name} {_shown(old.get(name))}, and now it is"
                        f" {_shown(new.get(name))}: take the same, or name another folder with --out"
                    )

        old, new = known.get("versions", {}), begun["versions"]
        for name in new:
            if name in old and old[name] != new[name]:
                _logger.warning(
                    "%s was begun with %s %s, and goes on with %s: its weights will not have the bits"
                    " of a run that never stopped",
                    self.path,
                    name,
                    old[name],
                    new[name],
                )

    def log_from(self, step: int) -> None:
        """Drop the figures of later steps, which are made anew, and a line that was cut off.

        Raises:
            ConfigError: The file is not ours, or cannot be written.
        """
        file = self.path / METRICS
        if not file.exists():
            return
        kept = [line for line in read_metrics(file) if line[_STEP] <= step]
        if kept and kept[-1][_STEP] < step:
            _logger.warning(
                "%s ends at step %d, and the run goes on behind step %d: the figures between are lost",
                file,
                kept[-1][_STEP],
                step,
            )
        try:
            self._write(METRICS, b"".join(map(_line, kept)))
        except OSError as error:
            raise ConfigError(f"{file} cannot be written: {error.strerror}") from None

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Append the figures of a step.

        Raises:
            ConfigError: The file cannot be written.
        """
        file = self.path / METRICS
        try:
            with file.open("ab") as lines:
                lines.write(_line({_STEP: step, **values}))
        except OSError as error:
            raise ConfigError(f"{file} cannot be written: {error.strerror}") from None

    def _write(self, name: str, content: bytes) -> None:
        """Put a file there whole, or not at all."""
        draft = self.path / f".{token_hex(8)}.draft"
        try:
            with draft.open("xb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
            draft.replace(self.path / name)
        finally:
            draft.unlink(missing_ok=True)


def read_metrics(file: Path) -> Sequence[Mapping[str, float]]:
    """Read the figures of a run; a last line that was cut off is none.

    Raises:
        ConfigError: The file cannot be read, or a line is not one of figures.
    """
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    return [read_figures(file, number, line) for number, line in enumerate(lines[:-1], start=1)]


def read_figures(file: Path, number: int, line: bytes) -> Mapping[str, float]:
    """Read a line of figures.

    Args:
        file: Where it stands, for messages.
        number: Of the line, from 1.
        line: Without its end.

    Raises:
        ConfigError: It is not one of figures.
    """
    try:
        found = parse_strict(line.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{file}: line {number} is no JSON: {error}; mend it, or take the line out, and its figures"
            " are lost"
        ) from None
    figures = cast("dict[str, Any]", found if isinstance(found, dict) else {})
    if not isinstance(figures.get(_STEP), int):
        raise ConfigError(f"{file}: line {number} has no step: is it of a run of training?")
    wrong = [name for name, value in figures.items() if not _is_number(value)]
    if wrong:
        raise ConfigError(f"{file}: line {number}: {wrong[0]} is no number")
    return figures


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def _line(values: Mapping[str, float]) -> bytes:
    return json.dumps(values, allow_nan=False).encode() + b"\n"


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Name each setting by its place, such as ``data.0.weight``."""
    found: dict[str, Any] = {}
    for key, each in value.items():
        if isinstance(each, Mapping):
            found |= _flat(cast("Mapping[str, Any]", each), f"{prefix}{key}.")
        elif key == "data":
            for number, data in enumerate(each):
                found |= _flat(data, f"{prefix}{key}.{number}.")
        else:
            found[prefix + key] = each
    return found


def _is_free(name: str) -> bool:
    parts = name.split(".")
    return name in _FREE or parts[0] in _FREE or parts[-1] in _FREE_KEYS


def _shown(value: object) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)
