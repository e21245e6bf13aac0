"""What pages are made from: the parts of a gateway that they show and use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from astra_mcp.compose.verdicts import StoredJudgements
from astra_mcp.environments.acceptance.verdict import Verdict
from astra_mcp.environments.bundle import Bundle
from astra_mcp.serving.pages.episode_index import EpisodeIndex
from astra_mcp.serving.pages.registry.searching import ToolSearch
from astra_mcp.serving.pages.servers.figures import WorkerFigures
from gateway.api.seams import Catalog
from gateway.edge.workers import OwnWorkerInfo
from gateway.episodes.live import Episodes
from registry.store.database import Database

__all__ = ["PageParts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageParts:
    """Of one process of a gateway."""

    home: Path
    control_key: str = field(repr=False)
    needs_api_key: bool
    """Whether clients of the interactive endpoints are asked for a key."""
    worker_info: OwnWorkerInfo
    catalog: Catalog
    episodes: Episodes
    index: EpisodeIndex
    database: Database
    """The registry's."""
    figures: WorkerFigures
    tool_search: ToolSearch
    bundle_of: Callable[[str], Bundle | None]
    """The bundle of an environment that is prepared; None for one that has none."""
    verdict_of: Callable[[Bundle], Verdict | None]
    """What the acceptance said of a bundle; None where nobody knows."""
    judgements: StoredJudgements
    """What judges said of bundles."""

    @property
    def records(self) -> Path:
        """The folder of the records."""
        return self.home / "records"
