"""What was read of the figures of trainings, kept for the next look; the oldest of many is read anew."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from astra_mcp.compose.runs.curves import Curves, GrowingCurves
from astra_mcp.compose.runs.notes import KnownRun

__all__ = ["CurveShelf", "Seen"]

_MAX_KEPT = 12


class Seen(NamedTuple):
    """The figures of several trainings as they were at one look."""

    curves: Mapping[str, Curves]
    """By the names under which they are shown."""
    faults: Sequence[str]
    """What cannot be read, or not yet."""
    mark: str
    """Changes whenever there is something new."""
    is_unread: bool
    """Whether the next look reads more of what there is already."""


class CurveShelf:
    """Figures of trainings by their folders; one thread at a time looks, and the others wait for it."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._kept: OrderedDict[Path, GrowingCurves] = OrderedDict()
        self.lock = Lock()
        """Held while something is read, and while what was read is used."""

    def look(self, runs: Mapping[str, KnownRun]) -> Seen:
        """Read what was appended since the last look; called with the lock.

        Args:
            runs: Trainings by the names under which they are shown.
        """
        curves: dict[str, Curves] = {}
        faults: list[str] = []
        marks: list[str] = []
        is_unread = False
        for name, run in runs.items():
            if run.note.place is None:
                continue
            growing = self._of(run.note.place)
            growing.read_on()
            curves[name] = growing.curves
            marks.append(f"{run.id} {growing.mark}")
            if growing.fault:
                faults.append(growing.fault)
            if growing.left:
                is_unread = True
                faults.append(f"{growing.left:,} bytes of figures of {name} are still to be read")
        return Seen(curves, faults, "\n".join(marks), is_unread)

    def _of(self, place: Path) -> GrowingCurves:
        growing = self._kept.pop(place, None) or GrowingCurves(place)
        self._kept[place] = growing
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return growing
