"""The figures of a run of training, step by step, and a file of them that is read on as it grows."""

import os
import stat
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from astra_mcp.errors import ConfigError
from training.sft.run_folder import METRICS, read_figures, read_metrics

__all__ = ["Curves", "GrowingCurves", "curves_in"]

_STEP = "step"
_MAX_BYTES = 4 << 20
"""Read at once; the rest the next time."""
_KNOWN_BYTES = 64
"""Before the place up to which was read, by which a file that was written anew is told."""


class Curves:
    """Figures by their names, each with the steps that have it; numbers alone are kept."""

    def __init__(self, lines: Iterable[Mapping[str, float]] = ()) -> None:
        """Take what there is."""
        self._columns: dict[str, tuple[array[float], array[float]]] = {}
        self.last: Mapping[str, float] = {}
        """The newest line."""
        for line in lines:
            self.add(line)

    def add(self, line: Mapping[str, float]) -> None:
        """Take the figures of a step."""
        step = line[_STEP]
        for name, value in line.items():
            steps, values = self._columns.setdefault(name, (array("d"), array("d")))
            steps.append(step)
            values.append(value)
        self.last = dict(line)

    @property
    def names(self) -> Sequence[str]:
        """Of all figures, in the order in which they came."""
        return [*self._columns]

    def values(self, name: str) -> Sequence[float]:
        """The values of a figure, step by step; none where it was not measured."""
        return self._columns[name][1] if name in self._columns else ()

    def points(self, name: str) -> Iterator[tuple[float, float]]:
        """The steps of a figure, with its values."""
        steps, values = self._columns.get(name, ((), ()))
        return zip(steps, values, strict=True)


def curves_in(folder: Path) -> Curves:
    """Read the figures of a run, which may still be going on.

    Raises:
        ConfigError: There are none, or the file is not one of figures.
    """
    file = folder / METRICS
    is_begun = folder.is_dir() and not file.exists()
    lines: Sequence[Mapping[str, float]] = () if is_begun else read_metrics(file)
    if not lines:
        raise ConfigError(f"{folder} has no figures yet: its first step writes {METRICS}")
    return Curves(lines)


class GrowingCurves:
    """The figures of a file that another process writes; a look reads what was appended since."""

    def __init__(self, folder: Path) -> None:
        """Have read nothing yet."""
        self._file = folder / METRICS
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.curves = Curves()
        """What was read so far."""
        self.fault = ""
        """Why no more is read."""
        self.left = 0
        """Bytes that there were beyond what the last look read."""
        self._at = 0
        self._num_lines = 0
        self._node = (0, 0)
        self._known = b""

    @property
    def mark(self) -> str:
        """Changes whenever there is something new."""
        return f"{self._node[1]}.{self._at}.{self.fault}"

    def read_on(self) -> None:
        """Look at the file; what cannot be read is said in ``fault``, and what was read before stays."""
        try:
            # A pipe of this name would be waited for.
            file = os.open(self._file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self._begin_anew()
            if not isinstance(error, FileNotFoundError):  # a run before its first step has none
                self.fault = f"{self._file} cannot be read: {error.strerror}"
            return
        try:
            self._look(file)
        except OSError as error:
            self.fault = f"{self._file} cannot be read: {error.strerror}"
        finally:
            os.close(file)

    def _look(self, file: int) -> None:
        state = os.fstat(file)
        if not stat.S_ISREG(state.st_mode):
            self._begin_anew()
            self.fault = f"{self._file} is no file"
            return
        node = (state.st_dev, state.st_ino)
        known = os.pread(file, len(self._known), self._at - len(self._known))
        if node != self._node or state.st_size < self._at or known != self._known:
            self._begin_anew()
            self._node = node
        if self.fault:
            return
        found = os.pread(file, _MAX_BYTES, self._at)
        whole, newline, _ = found.rpartition(b"\n")
        self._take(whole.split(b"\n") if newline else ())
        if newline and not self.fault:
            self._at += len(whole) + 1
            self._known = (whole + newline)[-_KNOWN_BYTES:]
        elif len(found) == _MAX_BYTES:
            self.fault = self.fault or f"{self._file} has a line of more than {_MAX_BYTES:,} bytes"
        is_cut = len(found) == _MAX_BYTES and not self.fault
        self.left = max(0, state.st_size - self._at) if is_cut else 0

    def _take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                self.curves.add(read_figures(self._file, self._num_lines + 1, line))
            except ConfigError as error:
                self.fault = str(error)
                return
            self._num_lines += 1
