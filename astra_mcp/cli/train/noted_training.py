"""A run of training in the home's list: how it goes, step by step, and how it ended."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from astra_mcp.cli.noting import noted
from astra_mcp.compose.runs.notes import NotedRun, RunKind, RunState
from astra_mcp.compose.runs.training import figure_of
from training.sft.training import Ending, Outcome, Progress

__all__ = ["NotedTraining", "noted_training"]


@dataclass(frozen=True, slots=True)
class NotedTraining:
    """Made by :func:`noted_training`."""

    _run: NotedRun | None

    def hear(self, progress: Progress) -> None:
        """Take the figures of a step."""
        if self._run is not None:
            self._run.tell(figure_of(progress.step, progress.num_steps, progress.values))

    def end(self, outcome: Outcome) -> None:
        """Say how it ended, before the list is written for the last time."""
        if self._run is not None:
            is_stopped = outcome.ending is Ending.STOPPED
            self._run.ending = RunState.STOPPED if is_stopped else RunState.DONE


@contextmanager
def noted_training(
    home: Path, command: str, folder: Path, *, is_first: bool = True
) -> Generator[NotedTraining]:
    """Note a run while the block lasts.

    Args:
        home: Keeps the note.
        command: Its name without options.
        folder: The run's.
        is_first: False in the further processes of a run, which note nothing.
    """
    if not is_first:
        yield NotedTraining(None)
        return
    place = folder.resolve()
    with noted(
        home, RunKind.TRAINING, command=command, name=folder.name or str(place), key=str(place), place=place
    ) as run:  # fmt: skip
        yield NotedTraining(run)
