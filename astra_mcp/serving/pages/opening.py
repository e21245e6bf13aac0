"""The pages of a gateway process from its start to its end, as what serves it handles them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from astra_mcp.compose.catalog import GatewayParts, PublishedCatalog
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.verdicts import StoredJudgements, StoredVerdicts
from astra_mcp.environments.acceptance.remembered import acceptance_version
from astra_mcp.environments.acceptance.verdict import Verdict
from astra_mcp.environments.bundle import Bundle
from astra_mcp.serving.pages.access import LoginLinks
from astra_mcp.serving.pages.app import PagesApp
from astra_mcp.serving.pages.episode_index import HeardEpisodes, open_index
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.registry.searching import open_tool_search
from astra_mcp.serving.pages.servers.figures import WorkerFigures
from gateway.control.other_workers import open_fleet
from gateway.edge.pages import Pages

__all__ = ["OwnPages"]

_BACKENDS = ("zygote", "unsandboxed")


class OwnPages:
    """What of the pages is there before the gateway, and is asked for beside it."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._links = LoginLinks()
        self.heard = HeardEpisodes()
        """Has to hear every record event."""

    def login_path(self) -> str:
        """Make a link to the first page, for who started the gateway."""
        return f"/login/{self._links.mint('/')}"

    @asynccontextmanager
    async def open(self, parts: GatewayParts) -> AsyncGenerator[Pages]:
        """Show a gateway while the context is open."""
        folder = parts.settings.home / "records"
        async with (
            open_index(parts.database, folder, parts.episodes, self.heard) as index,
            open_fleet(parts.worker_info, parts.rules.control_key) as fleet,
            open_tool_search(parts.settings, parts.database) as tool_search,
        ):
            shown = PageParts(
                home=parts.settings.home,
                control_key=parts.rules.control_key,
                needs_api_key=bool(parts.rules.api_keys),
                worker_info=parts.worker_info,
                catalog=parts.catalog,
                episodes=parts.episodes,
                index=index,
                database=parts.database,
                figures=WorkerFigures(parts.metrics, fleet),
                tool_search=tool_search,
                bundle_of=_bundles_of(parts.catalog),
                verdict_of=_verdicts_of(parts.settings),
                judgements=StoredJudgements(parts.settings.home),
            )
            yield PagesApp(shown, self._links)


def _bundles_of(catalog: PublishedCatalog) -> Callable[[str], Bundle | None]:
    return catalog.bundles.bundle


def _verdicts_of(settings: Settings) -> Callable[[Bundle], Verdict | None]:
    """Look for what `environments verify` kept, with tool code in this version's sandbox, or without one."""

    def find(bundle: Bundle) -> Verdict | None:
        versions = (acceptance_version(settings.sandbox, backend) for backend in _BACKENDS)
        stores = (StoredVerdicts(settings.home, version) for version in versions)
        found = (store.find(bundle.content_hash) for store in stores)
        return next((verdict for verdict in found if verdict is not None), None)

    return find
