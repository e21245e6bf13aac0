"""The trajectories of a run, a file for each step: what errors are found in, and reflections speak of.

A file is there as a whole or not at all. A run that goes on from an earlier step makes the later ones anew.
"""

import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import Trajectory, TrajectoryWriter, read_trajectories

__all__ = ["StepFiles", "TrajectoryStore"]

_NAME = re.compile(r"step-(\d{8,})\.\w+")
_DRAFT = re.compile(r"\.[0-9a-f]{16}\.draft")
"""What a killed process leaves of a file that it wrote."""


class StepFiles:
    """Files of steps in one folder, which one process writes at a time."""

    def __init__(self, folder: Path, ending: str) -> None:
        self._folder = folder
        self._ending = ending

    def file(self, step: int) -> Path:
        """Name the file of a step."""
        return self._folder / f"step-{step:08d}.{self._ending}"

    @contextmanager
    def written(self, step: int) -> Generator[Path]:
        """Give a path that is to be written; it takes the place of the step's file in the end.

        Raises:
            ConfigError: It cannot be written.
        """
        file = self.file(step)
        draft = file.with_name(f".{token_hex(8)}.draft")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            yield draft
            with draft.open("rb") as made:
                os.fsync(made.fileno())
            draft.replace(file)
        except OSError as error:
            raise ConfigError(f"{file} cannot be written: {error.strerror}") from None
        finally:
            draft.unlink(missing_ok=True)

    def forget_behind(self, step: int) -> None:
        """Remove what a run left that went further than the step from which it goes on.

        Raises:
            ConfigError: A file cannot be removed.
        """
        try:
            names = sorted(os.listdir(self._folder)) if self._folder.is_dir() else []
            for name in names:
                found = _NAME.fullmatch(name)
                if _DRAFT.fullmatch(name) or (found and int(found[1]) > step):
                    (self._folder / name).unlink()
        except OSError as error:
            raise ConfigError(f"{error.filename} cannot be removed: {error.strerror}") from None


class TrajectoryStore:
    """Trajectory files of steps."""

    def __init__(self, folder: Path) -> None:
        self.files = StepFiles(folder, "jsonl")

    def write(self, step: int, trajectories: Sequence[Trajectory]) -> None:
        """Keep what was played for a step, in the place of what was kept of it before.

        Raises:
            ConfigError: It cannot be written.
        """
        with self.files.written(step) as draft:
            with TrajectoryWriter(draft) as writer:
                for each in trajectories:
                    writer.write(each)
            draft.touch()  # without a line there is no file yet

    def read(self, first: int, last: int) -> list[Trajectory]:
        """Read what was played for these steps, in their order.

        Raises:
            ConfigError: A file is missing or is none.
        """
        found: list[Trajectory] = []
        for step in range(first, last + 1):
            file = self.files.file(step)
            if not file.exists():
                raise ConfigError(
                    f"{file} is missing, and a supervised phase learns from what was played then: put it"
                    " back, or begin in another folder"
                )
            found += read_trajectories(file)
        return found
