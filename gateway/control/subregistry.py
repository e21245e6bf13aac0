"""The gateway as a registry of servers: ``/v0.1/servers`` in the format of the official MCP registry.

Clients that look for servers find here what this gateway publishes, and what its directories describe
besides. It reveals no more than the agent plane does, so that the same key opens both, and nothing of
how a server is started. Knows documents and names; knows neither databases nor bundles.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import Annotated, Any, NamedTuple

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field

from astra_mcp.types import JsonObject
from gateway.api.directories import ListedServer, ServerDirectory
from gateway.api.interactive import InteractiveCatalog
from gateway.api.settings import FIRST
from gateway.control.lists import WholeNumber
from gateway.edge.workers import OwnWorkerInfo

LISTING_PATH = "/v0.1/servers"
MAX_PAGE = 100
DEFAULT_PAGE = 30
"""Both as in the official registry."""
OFFICIAL_META = "io.modelcontextprotocol.registry/official"
_SEMANTIC = re.compile(
    r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_TIME = re.compile(r"[0-9-]{10}[Tt ][0-9:.]{8,}([Zz]|[+-][0-9:]{5})")


def _written_time(value: object) -> object:
    """Refuse what other programs do not take for a time, such as seconds since 1970."""
    if isinstance(value, str) and not _TIME.fullmatch(value):
        raise ValueError("write a time as 2026-01-31T12:00:00Z")
    return value


Time = Annotated[AwareDatetime, BeforeValidator(_written_time)]


class RegistryEntry(BaseModel):
    """A server of the list: its document, and what the registry says of it."""

    server: JsonObject
    """A ``server.json``."""
    meta: JsonObject = Field(serialization_alias="_meta")


class PageMetadata(BaseModel):
    """Where a list goes on."""

    count: int
    """Of this page."""
    next_cursor: str | None = Field(default=None, serialization_alias="nextCursor")
    """Leads to the next page; absent on the last one."""


class RegistryPage(BaseModel):
    """A page of the list."""

    servers: list[RegistryEntry]
    metadata: PageMetadata


class NotListed(BaseModel):
    """What the official format answers where there is nothing."""

    error: str


class _Found(NamedTuple):
    """A server of a directory, and whether a newer version of it is listed too."""

    listed: ListedServer
    directory: ServerDirectory
    is_latest: bool


class _Everything(NamedTuple):
    """All servers that are listed."""

    found: tuple[_Found, ...]
    """By name and version."""
    places: tuple[tuple[str, str], ...]
    """Their names and versions."""
    versions: Mapping[str, Sequence[_Found]]
    """By name, the latest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a request asks the list for."""

    search: str = ""
    updated_since: datetime | None = None
    version: str | None = None
    crawled: bool = False

    def fits(self, found: _Found) -> bool:
        listed = found.listed
        return (
            self.search.casefold() in listed.name.casefold()
            and (self.updated_since is None or listed.updated_at >= self.updated_since)
            and (
                self.version is None
                or (found.is_latest if self.version == "latest" else listed.version == self.version)
            )
            and (self.crawled or not listed.is_crawled)
        )


_NOT_LISTED: dict[int | str, dict[str, Any]] = {
    404: {"model": NotListed, "description": "No such server, or no such version of it, is listed."}
}
_BAD_CURSOR: dict[int | str, dict[str, Any]] = {
    400: {"model": NotListed, "description": "The cursor is none that a page gave."}
}


@dataclass(kw_only=True)
class Subregistry:
    """Lists the servers of the directories, with the addresses of those that this gateway serves."""

    catalog: InteractiveCatalog
    """What is served now; a server that it does not show is not listed."""
    directories: Sequence[ServerDirectory]
    """What is described; where two list one version of a server, the first counts."""
    worker_info: OwnWorkerInfo
    needs_key: bool
    """True where the interactive endpoints ask for an API key."""
    _listings: list[Sequence[ListedServer]] = field(default_factory=list[Any], init=False)
    _joined: _Everything = field(default=_Everything((), (), {}), init=False)

    def routes(self) -> APIRouter:
        """Lay out the paths below ``/v0.1``; a server's name holds one slash, plain or as ``%2F``."""
        v0 = APIRouter(prefix=LISTING_PATH)
        page: dict[str, Any] = {"methods": ["GET"], "response_model": RegistryPage}
        entry: dict[str, Any] = {"methods": ["GET"], "response_model": RegistryEntry}
        one = "/{namespace}/{name}/versions"
        v0.add_api_route("", self.list_servers, responses=_BAD_CURSOR, **page)
        v0.add_api_route(one, self.list_versions, responses=_NOT_LISTED, **page)
        v0.add_api_route(one + "/{version:path}", self.show_version, responses=_NOT_LISTED, **entry)
        return v0

    async def list_servers(
        self,
        request: Request,
        *,
        cursor: Annotated[str, Query(description="From the page before.")] = "",
        limit: Annotated[WholeNumber, Query(ge=1, le=MAX_PAGE)] = DEFAULT_PAGE,
        search: Annotated[str, Query(description="Part of a name.")] = "",
        updated_since: Annotated[Time | None, Query(description="Changed then or later.")] = None,
        version: Annotated[str | None, Query(description="`latest`, or an exact one.")] = None,
        crawled: Annotated[
            bool, Query(description="Also servers whose tools were read off a page.")
        ] = False,
    ) -> Response:
        """List servers, by name, in the format of the official registry."""
        after = _place_of(cursor) if cursor else None
        if cursor and after is None:
            return answer_error(400, "the cursor is none that a page gave: begin again without one")
        wanted = _Wanted(
            search=search,
            updated_since=updated_since,
            version=version or None,
            crawled=crawled,
        )
        everything = self._everything()
        begin = bisect_right(everything.places, after) if after else 0
        rest = islice(everything.found, begin, None)
        fitting = list(islice(filter(wanted.fits, rest), limit + 1))
        shown = fitting[:limit]
        last = shown[-1].listed if len(fitting) > limit else None
        return await self._page(request, shown, f"{last.name}:{last.version}" if last else None)

    async def list_versions(self, request: Request, namespace: str, name: str) -> Response:
        """List the versions of a server, the latest first."""
        versions = self._everything().versions.get(f"{namespace}/{name}")
        if versions is None:
            return answer_error(404, "Server not found")
        return await self._page(request, versions, None)

    async def show_version(
        self, request: Request, namespace: str, name: str, version: str
    ) -> Response:
        """Show one version of a server; `latest` names the latest one."""
        versions = self._everything().versions.get(f"{namespace}/{name}", ())
        is_latest = version == "latest"
        found = [f for f in versions if (f.is_latest if is_latest else f.listed.version == version)]
        entries = await self._entries(request, found)
        if not entries:
            return answer_error(
                404, "Server not found" if not versions else "Server version not found"
            )
        return self._answer(request, entries[0])

    def _everything(self) -> _Everything:
        """Join the listings of the directories, again where one of them is another than before."""
        listings = [directory.listing() for directory in self.directories]
        is_known = len(listings) == len(self._listings) and all(
            listing is before for listing, before in zip(listings, self._listings, strict=True)
        )
        if not is_known:
            self._joined = _join(zip(self.directories, listings, strict=True), self._lists)
            self._listings = listings
        return self._joined

    def _lists(self, listed: ListedServer) -> bool:
        return listed.served_as is None or self.catalog.shows(listed.served_as)

    async def _page(
        self, request: Request, shown: Sequence[_Found], next_cursor: str | None
    ) -> Response:
        entries = await self._entries(request, shown)
        metadata: JsonObject = {"count": len(entries)}
        if next_cursor is not None:
            metadata["nextCursor"] = next_cursor
        return self._answer(request, {"servers": [*entries], "metadata": metadata})

    async def _entries(self, request: Request, shown: Sequence[_Found]) -> list[JsonObject]:
        """Render servers in their order; one that has gone meanwhile is left out."""
        documents: dict[tuple[int, str], JsonObject] = {}
        for index, directory in enumerate(self.directories):
            keys = [f.listed.key for f in shown if f.directory is directory]
            if keys:
                found = await directory.documents(keys)
                documents |= {(index, key): document for key, document in found.items()}
        serving = {upstream.name for upstream in self.catalog.upstreams()}
        base = self.worker_info.base_url(request.scope, FIRST)
        entries: list[JsonObject] = []
        for found in shown:
            place = (self.directories.index(found.directory), found.listed.key)
            if place in documents:
                name = found.listed.served_as
                url = f"{base}/servers/{name}/mcp" if name in serving else None
                server = (
                    documents[place] if url is None else self._with_remote(documents[place], url)
                )
                entries.append({"server": server, "_meta": {OFFICIAL_META: _official(found)}})
        return entries

    def _with_remote(self, document: JsonObject, url: str) -> JsonObject:
        remote: JsonObject = {"type": "streamable-http", "url": url}
        if self.needs_key:
            remote["headers"] = [
                {
                    "name": "Authorization",
                    "description": "Bearer, and an API key of this gateway",
                    "isRequired": True,
                    "isSecret": True,
                }
            ]
        others = document.get("remotes")
        return {**document, "remotes": [remote, *(others if isinstance(others, list) else [])]}

    def _answer(self, request: Request, body: JsonObject) -> Response:
        """Send a document, or that the client has it already."""
        content = orjson.dumps(body)  # the order of a schema's properties is part of it
        tag = f'"{sha256(content).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Host"}
        known = request.headers.get("if-none-match", "")
        if known.strip() == "*" or tag in re.findall(r'"[^"]*"', known):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type="application/json", headers=headers)


def _official(found: _Found) -> JsonObject:
    return {
        "status": "active",
        "publishedAt": _written(found.listed.published_at),
        "updatedAt": _written(found.listed.updated_at),
        "isLatest": found.is_latest,
    }


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _place_of(cursor: str) -> tuple[str, str] | None:
    """Read a cursor; None where it is none."""
    name, colon, version = cursor.partition(":")
    return (name, version) if colon and "/" in name else None


def _join(
    listings: Iterable[tuple[ServerDirectory, Sequence[ListedServer]]],
    lists: Callable[[ListedServer], bool],
) -> _Everything:
    first: dict[tuple[str, str], tuple[ListedServer, ServerDirectory]] = {}
    for directory, listing in listings:
        for listed in filter(lists, listing):
            first.setdefault((listed.name, listed.version), (listed, directory))
    newest_first = sorted(first.values(), key=lambda pair: _recency(pair[0]), reverse=True)
    versions: dict[str, list[_Found]] = {}
    for listed, directory in newest_first:
        same = versions.setdefault(listed.name, [])
        same.append(_Found(listed, directory, is_latest=not same))
    found = sorted((f for same in versions.values() for f in same), key=_place)
    return _Everything(tuple(found), tuple(map(_place, found)), versions)


def _place(found: _Found) -> tuple[str, str]:
    return found.listed.name, found.listed.version


def _recency(server: ListedServer) -> tuple[Any, ...]:
    """Order versions: semantic ones by their rules and after all others, which go by their time."""
    match = _SEMANTIC.fullmatch(server.version)
    if match is None:
        return (False, (), [], server.published_at, server.version)
    major, minor, patch, before = match.groups()
    # Identifiers that are numbers go by their value, and before those that are words.
    parts = [
        (0, len(part), part) if part.isdecimal() else (1, 0, part)
        for part in (before or "").split(".")
    ]
    numbers = (int(major), int(minor), int(patch), before is None)
    return (True, numbers, parts, server.published_at, server.version)


def answer_error(status: int, message: str) -> JSONResponse:
    """Answer an error in the form of the official registry."""
    return JSONResponse({"error": message}, status_code=status)
