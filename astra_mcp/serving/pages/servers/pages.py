"""The servers: a list to choose from, and each with its tools, its calls, its connections and its graph."""

from collections.abc import Iterator
from functools import partial

import anyio
import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.errors import RegistryError, UnknownNameError
from astra_mcp.serving.pages.environments import ToolView, tool_view
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import Renderer, cut_text, paging_of
from astra_mcp.serving.pages.servers.transitions import ServerGraph, read_graph
from astra_mcp.serving.pages.servers.views import author_rows, choose, server_row
from astra_mcp.types import ServerKind, ServerStatus, ToolSpec
from gateway.api.seams import Upstream

__all__ = ["ServerPages"]

_TOOLS = 25
"""Tools of one page, each with its arguments and its schema."""
_LOOK_SECONDS = 60.0
"""So long somebody waits for a server to tell its tools."""
_MAX_CHOICES = 500
"""More tools are called from the page of the episode, which has a form for each."""


class ServerPages:
    """Answers at ``/servers``, but for calls by hand; what ends in ``/mcp`` there is for agents."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/servers", self.show_list, methods=["GET"])
        yield Route("/servers/{name}", self.show_one, methods=["GET"])
        yield Route("/servers/{name}/look", self.look, methods=["POST"])
        yield Route("/servers/{name}/tools/{n:int}", self.raw_tool, methods=["GET"])

    async def show_list(self, request: Request) -> Response:
        """Show those that fit, a page at a time."""
        asked = {k: v for k, v in request.query_params.items() if v and k != "page"}
        every = self._parts.catalog.upstreams()
        found, fault = choose(every, asked)
        paging = paging_of(request, "/servers", asked, len(found))
        shown = found[paging.begin : paging.end]
        figures, since = await self._parts.figures.of(shown)
        return self._renderer.page(
            request,
            "servers",
            rows=[server_row(u, figures[u.name]) for u in shown],
            asked=asked,
            kinds=list(ServerKind),
            statuses=list(ServerStatus),
            fault=fault,
            since=since,
            paging=paging,
            num_all=len(every),
        )

    async def show_one(self, request: Request) -> Response:
        """Show one server; one whose tools nobody has asked for yet is not started for it."""
        upstream = await self._known(request.path_params["name"])
        tools = upstream.tools
        begin = min(_number(request.query_params.get("from")), max(0, len(tools) - 1))
        begin = begin // _TOOLS * _TOOLS
        graph, fault = await self._graph(request, upstream)
        views = await anyio.to_thread.run_sync(_views, tools[begin : begin + _TOOLS])
        figures, since = await self._parts.figures.of([upstream])
        row = server_row(upstream, figures[upstream.name])
        here = f"/servers/{upstream.name}"
        lead = partial("{}?from={}#tools".format, here)
        return self._renderer.page(
            request,
            "server",
            row=row,
            server_version=upstream.version,
            instructions=cut_text(upstream.instructions or ""),
            warnings=upstream.warnings,
            since=since,
            authors=author_rows(row.figures.times),
            acts=upstream.kind is ServerKind.DEPLOYED,
            names=[tool.name for tool in tools[:_MAX_CHOICES]],
            tools=views,
            begin=begin,
            num_tools=len(tools),
            before=lead(begin - _TOOLS) if begin else None,
            following=lead(begin + _TOOLS) if begin + _TOOLS < len(tools) else None,
            graph=graph,
            graph_fault=fault,
        )

    async def _known(self, name: str) -> Upstream:
        """Find a server, with its tools where that starts nothing."""
        upstream = self._parts.catalog.upstream(name)
        if upstream.kind is not ServerKind.DEPLOYED:
            await upstream.prepare()
        return upstream

    async def _graph(self, request: Request, upstream: Upstream) -> tuple[ServerGraph | None, str]:
        """The graph of a server; where it cannot be read, the rest of the page is of use all the same."""
        names = [tool.name for tool in upstream.tools]
        run = request.query_params.get("run")
        try:
            return await read_graph(self._parts.database, upstream.name, names, run), ""
        except RegistryError as error:
            return None, str(error)

    async def look(self, request: Request) -> Response:
        """Ask a server for its tools, which starts it where it runs as a process."""
        upstream = self._parts.catalog.upstream(request.path_params["name"])
        with anyio.move_on_after(_LOOK_SECONDS) as waiting:
            await upstream.prepare()
        if waiting.cancelled_caught:
            words = f"It told no tools within {_LOOK_SECONDS:g} s. Try again, or look at its entry."
            return self._renderer.fault(request, 504, f"{upstream.name} does not answer", words)
        return self._renderer.go_to(f"/servers/{upstream.name}")

    async def raw_tool(self, request: Request) -> Response:
        """Hand over a tool as the gateway knows it, whole."""
        upstream = await self._known(request.path_params["name"])
        number: int = request.path_params["n"]
        if number >= len(upstream.tools):
            raise UnknownNameError(f"{upstream.name} has no tool {number}: count from 0")
        content = await anyio.to_thread.run_sync(_written, upstream.tools[number])
        return Response(content, media_type="application/json")


def _views(tools: tuple[ToolSpec, ...]) -> list[ToolView]:
    return [tool_view(tool) for tool in tools]


def _written(tool: ToolSpec) -> bytes:
    return orjson.dumps(tool.model_dump(mode="json"), option=orjson.OPT_INDENT_2)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
