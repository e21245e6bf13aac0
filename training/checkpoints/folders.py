"""The folders of one kind, weights or state, one for each step, and the names that unfinished work has."""

import re
from enum import StrEnum
from pathlib import Path

__all__ = ["Leftover", "StepFolders"]

_FINAL = re.compile(r"step-(\d{8,})")
_UNFINISHED = re.compile(r"\.step-(\d{8,})\.(draft|replaced|removed)")


class Leftover(StrEnum):
    """What a folder is that a killed process left behind."""

    DRAFT = "draft"
    """It was being written."""
    REPLACED = "replaced"
    """It was to make room for another one of its step, which may have come or not."""
    REMOVED = "removed"
    """It was being removed."""


class StepFolders:
    """Names below one root, such as ``RUN/weights``; a final name has a whole folder or none."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def final(self, step: int) -> Path:
        """Where readers look for a step."""
        return self.root / f"step-{step:08d}"

    def unfinished(self, step: int, kind: Leftover) -> Path:
        """Where nobody looks for it."""
        return self.root / f".step-{step:08d}.{kind}"

    def steps(self) -> tuple[int, ...]:
        """Steps that have a folder, whole or damaged, ascending."""
        found = (_FINAL.fullmatch(name) for name in self._names())
        steps = (int(match[1]) for match in found if match)
        return tuple(sorted(step for step in steps if self.final(step).is_dir()))

    def leftovers(self) -> tuple[tuple[int, Leftover], ...]:
        """What unfinished work there is, in the order of steps."""
        found = (_UNFINISHED.fullmatch(name) for name in self._names())
        return tuple(sorted((int(match[1]), Leftover(match[2])) for match in found if match))

    def _names(self) -> list[str]:
        try:
            return [entry.name for entry in self.root.iterdir()]
        except FileNotFoundError:
            return []
