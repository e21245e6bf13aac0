"""The first page: what runs here, how a client is connected to it, and what was recorded last."""

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.compose.runs.notes import SeenFiles, list_runs
from astra_mcp.errors import RegistryError
from astra_mcp.serving.clients.client_configs import FORMATS, ClientName, http_entry
from astra_mcp.serving.clients.config_texts import render_document
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import Renderer
from astra_mcp.serving.pages.runs.run_pages import RunRow, row_of
from gateway.api.settings import FIRST
from registry.store.records import EpisodeFilter, IndexedEpisode

__all__ = ["HomePage"]

_ENTRY = "astra-mcp"
"""What a client calls the gateway."""
_NUM_LAST, _NUM_RUNS = 8, 5
_TOKEN_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Client:
    """How one client is connected."""

    name: str
    title: str
    config: str | None
    """The text for its file; None where it takes no address."""
    notes: Sequence[str]


class HomePage:
    """Answers at ``/``."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer
        self._seen: SeenFiles = {}

    def routes(self) -> Iterator[Route]:
        """Lay out the one address."""
        yield Route("/", self.show, methods=["GET"])

    async def show(self, request: Request) -> Response:
        """Show the gateway."""
        parts = self._parts
        base = parts.worker_info.base_url(request.scope, FIRST)
        kinds = Counter(str(upstream.kind) for upstream in parts.catalog.upstreams())
        last, fault = await self._last()
        return self._renderer.page(
            request,
            "home",
            base=base,
            kinds=sorted(kinds.items()),
            num_environments=len(parts.catalog.summaries()),
            num_open=parts.episodes.count_open(),
            num_workers=parts.worker_info.count,
            clients=list(_clients(f"{base}/mcp", needs_key=parts.needs_api_key)),
            last=last,
            last_runs=await anyio.to_thread.run_sync(self._last_runs),
            fault=fault,
        )

    def _last_runs(self) -> Sequence[RunRow]:
        found = list_runs(self._parts.home, limit=_NUM_RUNS, seen=self._seen)
        return [row_of(run) for run in found.runs]

    async def _last(self) -> tuple[Sequence[IndexedEpisode], str]:
        """The newest episodes; where they cannot be read, the rest of the page is of use all the same."""
        try:
            page = await self._parts.index.page(EpisodeFilter(), limit=_NUM_LAST)
        except RegistryError as error:
            return (), str(error)
        return page.episodes, ""


def _clients(url: str, *, needs_key: bool) -> Iterator[_Client]:
    for name in ClientName:
        form = FORMATS[name]
        if not form.takes_http:
            yield _Client(name=name.value, title=form.title, config=None, notes=[form.next_step])
            continue
        # The modern protocol has no sessions: the token keeps this client's state its own.
        caller = urlencode({"caller": secrets.token_urlsafe(_TOKEN_BYTES)})
        entry = http_entry(form, _ENTRY, f"{url}?{caller}", needs_key=needs_key)
        yield _Client(
            name=name.value,
            title=form.title,
            config=render_document(form.document(entry), form.syntax),
            notes=[*(f"{note[0].upper()}{note[1:]}." for note in entry.notes), form.next_step],
        )
