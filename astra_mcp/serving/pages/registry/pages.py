"""The registry: documents by facets, tools by search, and one document before and after its intake."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.errors import ConfigError, ModelError, UnknownNameError
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.registry.views import (
    PlaceView,
    facets_of,
    filter_of,
    place_view,
    scope_of,
    tools_of,
)
from astra_mcp.serving.pages.rendering import (
    PAGE_SIZE,
    CutText,
    Renderer,
    cut_text,
    paging_of,
    pretty_json,
)
from registry.search.scope import Hit, SearchAnswer, SearchBy
from registry.store.servers import (
    StoredServer,
    StoredTool,
    count_servers,
    find_server,
    page_of_servers,
    servers_of_tools,
    twins_of,
)
from registry.store.stats import RegistryStats, read_stats
from registry.store.version import catalog_version

__all__ = ["RegistryPages"]

_TOOLS = 25
"""Tools of one page, each before and after."""
_MAX_HITS = 500
_MAX_TWINS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _HitView:
    """A tool that was found."""

    hit: Hit
    description: CutText


class RegistryPages:
    """Answers at ``/registry``."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer
        self._stats: RegistryStats | None = None

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/registry", self.show_list, methods=["GET"])
        yield Route("/registry/servers/{name}", self.show_one, methods=["GET"])
        yield Route("/registry/servers/{name}/record", self.download, methods=["GET"])

    # --- the list --------------------------------------------------------------------------------

    async def show_list(self, request: Request) -> Response:
        """Show the servers that fit, or the tools that a search finds, a page at a time."""
        asked = {k: v for k, v in request.query_params.items() if v.strip() and k != "page"}
        stats = await self._counted()
        shown: dict[str, Any] = {
            "asked": asked,
            "stats": stats,
            "facets": facets_of(stats)._asdict(),
            "kinds_of_search": list(SearchBy),
        }
        if "q" in asked:
            return await self._searched(request, asked, shown)
        where = filter_of(asked)
        read = self._parts.database.read
        total = await read(partial(count_servers, where=where))
        paging = paging_of(request, "/registry", asked, total)
        at = partial(page_of_servers, where=where, offset=paging.begin, limit=PAGE_SIZE)
        rows = await read(at)
        return self._renderer.page(
            request,
            "registry",
            **shown,
            rows=rows,
            hits=None,
            fault="",
            paging=paging,
        )

    async def _searched(
        self, request: Request, asked: Mapping[str, str], shown: Mapping[str, Any]
    ) -> Response:
        scope, by, fault = scope_of(asked)
        answer = SearchAnswer(hits=(), searched=0, embedded=0)
        search = self._parts.tool_search
        if not fault:
            try:
                answer = await search.search(asked["q"], by=by, scope=scope, limit=_MAX_HITS)
            except (ConfigError, ModelError) as error:
                fault = f"{error}; a search by words alone needs no vectors"
        total = len(answer.hits)
        paging = paging_of(request, "/registry", asked, total)
        hits = answer.hits[paging.begin : paging.end]
        return self._renderer.page(
            request,
            "registry",
            **shown,
            rows=(),
            hits=[_HitView(hit=h, description=cut_text(h.tool.description, 300)) for h in hits],
            by=by,
            model=search.model,
            answer=answer,
            is_cut=total == _MAX_HITS,
            fault=fault,
            paging=paging,
        )

    async def _counted(self) -> RegistryStats:
        """What the registry holds, counted once as long as no server changes."""
        version = await self._parts.database.read(catalog_version)
        if self._stats is None or self._stats.catalog_version != version:
            self._stats = await self._parts.database.read(read_stats)
        return self._stats

    # --- one -------------------------------------------------------------------------------------

    async def show_one(self, request: Request) -> Response:
        """Show one document: what is kept of it as it was found, what became of it, and why."""
        name: str = request.path_params["name"]
        read = self._parts.database.read
        server = await read(partial(find_server, name=name))
        if server.name != name:  # by its source's name
            return self._renderer.go_to(f"/registry/servers/{server.name}")
        begin = min(_number(request.query_params.get("from")), max(0, len(server.tools) - 1))
        begin = begin // _TOOLS * _TOOLS
        places = server.tools[begin : begin + _TOOLS]
        listing = await read(partial(servers_of_tools, hashes=tools_of(places)))
        lead = partial("/registry/servers/{}?from={}#tools".format, name)
        return self._renderer.page(
            request,
            "document",
            server=server,
            description=cut_text(server.description),
            origin=cut_text(pretty_json(server.origin)),
            is_served=self._is_served(name),
            twins=await read(partial(twins_of, name=name, limit=_MAX_TWINS)),
            num_kept=sum(place.status == "kept" for place in server.tools),
            places=await anyio.to_thread.run_sync(_views, places, listing, name),
            begin=begin,
            before=lead(begin - _TOOLS) if begin else None,
            following=lead(begin + _TOOLS) if begin + _TOOLS < len(server.tools) else None,
        )

    def _is_served(self, name: str) -> bool:
        try:
            self._parts.catalog.upstream(name)
        except UnknownNameError:
            return False
        return True

    async def download(self, request: Request) -> Response:
        """Hand over all that is stored of a document."""
        name: str = request.path_params["name"]
        server = await self._parts.database.read(partial(find_server, name=name))
        content = await anyio.to_thread.run_sync(_written, server)
        return Response(content, media_type="application/json")


def _views(
    places: Sequence[StoredTool], listing: Mapping[str, Sequence[str]], own: str
) -> list[PlaceView]:
    return [place_view(place, listing.get(place.tool_hash or "", ()), own) for place in places]


def _written(server: StoredServer) -> bytes:
    return orjson.dumps(server.model_dump(mode="json"), option=orjson.OPT_INDENT_2)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
