"""All pages of trajectories, which look for them in the same files."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from starlette.routing import Route

from astra_mcp.compose.runs.notes import RunKind, SeenFiles, list_runs
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import Renderer
from astra_mcp.serving.pages.trajectories.beside import BesidePages
from astra_mcp.serving.pages.trajectories.files import TrajectoryFiles
from astra_mcp.serving.pages.trajectories.reading import ReadingPages
from astra_mcp.serving.pages.trajectories.replay import ReplayPages

__all__ = ["TrajectoryPages"]

_ROLLOUTS = 100
"""So many of the last ones are looked at."""


class TrajectoryPages:
    """Answers below ``/episodes/ID`` where an episode is read, compared and run again."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        files = TrajectoryFiles(
            parts.home / "trajectories", partial(_files_of_rollouts, parts.home, {})
        )
        self._pages = (
            ReadingPages(parts, renderer, files),
            BesidePages(parts, renderer, files),
            ReplayPages(parts, renderer),
        )

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        for pages in self._pages:
            yield from pages.routes()


def _files_of_rollouts(home: Path, seen: SeenFiles) -> Iterable[Path]:
    """Where the last rollouts of a home wrote their trajectories."""
    runs = list_runs(home, kind=RunKind.ROLLOUT, limit=_ROLLOUTS, seen=seen).runs
    return (run.note.place for run in runs if run.note.place is not None)
