"""All pages of trajectories, which look for them in the same files."""

from collections.abc import Iterator

from starlette.routing import Route

from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import Renderer
from astra_mcp.serving.pages.trajectories.beside import BesidePages
from astra_mcp.serving.pages.trajectories.files import TrajectoryFiles
from astra_mcp.serving.pages.trajectories.reading import ReadingPages
from astra_mcp.serving.pages.trajectories.replay import ReplayPages

__all__ = ["TrajectoryPages"]


class TrajectoryPages:
    """Answers below ``/episodes/ID`` where an episode is read, compared and run again."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        files = TrajectoryFiles(parts.home / "trajectories")
        self._pages = (
            ReadingPages(parts, renderer, files),
            BesidePages(parts, renderer, files),
            ReplayPages(parts, renderer),
        )

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        for pages in self._pages:
            yield from pages.routes()
