"""The servers that an MCP registry lists at ``/v0.1/servers``, page by page over HTTP.

Bounded in everything: the time of all pages and of each, their number and their size, and how often a
page is asked for again. Knows HTTP; what stands in a page is read elsewhere.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import anyio
import httpx

from astra_mcp import __version__
from astra_mcp.errors import ConfigError, SourceError
from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import DocumentFault, ServerDocument
from registry.documents.texts import public_url
from registry.importers.server_json import read_listing

__all__ = ["ListingLimits", "fetch_listing"]

_PATH: Final = "/v0.1/servers"
_PAGE_LENGTH: Final = "100"
_TRY_AGAIN: Final = frozenset({408, 429, 500, 502, 503, 504})
_MAX_REDIRECTS: Final = 3
_PACKINGS: Final = frozenset({"gzip", "x-gzip", "identity"})
"""A page that is packed twice can be a million times as large as what arrives of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingLimits:
    """What a listing may take."""

    seconds: float = 600.0
    """For all pages."""
    page_seconds: float = 30.0
    """For one try at a page."""
    page_bytes: int = 16 * 2**20
    """Of one page, unpacked."""
    pages: int = 2_000
    tries: int = 4
    """Of a page that fails in a way that may pass."""
    longest_pause: float = 30.0
    """Seconds between two tries, whatever ``Retry-After`` says."""


async def fetch_listing(
    url: str,
    *,
    limits: ListingLimits | None = None,
    pause: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> AsyncGenerator[ServerDocument | DocumentFault]:
    """Read the latest version of every server that a registry lists.

    Args:
        url: Of the registry, or of its list; a query such as ``search=`` is passed on.
        limits: What it may take.
        pause: Waits before a page is asked for again.

    Yields:
        The servers; a fault for each entry that is none. Where a later page fails, what came before counts
        and a last fault says which page it was.

    Raises:
        ConfigError: The URL is none.
        SourceError: The first page cannot be had.
    """
    listing = _Listing(_list_url(url), limits or ListingLimits(), pause)
    seen: set[str] = set()
    cursor, number = "", 1
    async with listing.client:
        for page_number in range(1, listing.limits.pages + 1):
            try:
                page = await listing.fetch(cursor)
            except SourceError as error:
                if page_number == 1:
                    raise
                yield DocumentFault(line=number, reason=f"page {page_number}: {error}")
                return
            entries = page["servers"]
            assert isinstance(entries, list)  # noqa: S101 - checked where it was read
            for document in read_listing(page, first=number):
                yield document
            number += len(entries)
            cursor = _next_cursor(page)
            if not cursor:
                return
            if cursor in seen:
                reason = f"page {page_number}: its cursor came before"
                yield DocumentFault(line=number, reason=reason)
                return
            seen.add(cursor)
    reason = f"only {listing.limits.pages:,} pages are read"
    yield DocumentFault(line=number, reason=reason)


class _Failed(NamedTuple):
    """Why a try brought no page."""

    fault: str
    pause: float | None
    """Before the next one; None where another one would bring none either."""


class _Listing:
    """The list of one registry."""

    def __init__(
        self, url: httpx.URL, limits: ListingLimits, pause: Callable[[float], Awaitable[None]]
    ) -> None:
        self.limits = limits
        self.client = httpx.AsyncClient(
            follow_redirects=True,
            max_redirects=_MAX_REDIRECTS,
            timeout=limits.page_seconds,
            headers={
                "accept": "application/json",
                "accept-encoding": "gzip",
                "user-agent": f"astra-mcp/{__version__}",
            },
            event_hooks={"request": [self._check_host]},
        )
        self._url = url
        self._pause = pause
        self._end = anyio.current_time() + limits.seconds

    async def fetch(self, cursor: str) -> JsonObject:
        """Ask for a page, again where that may help.

        Raises:
            SourceError: It cannot be had.
        """
        url = self._url.copy_merge_params({"cursor": cursor} if cursor else {})
        failed = _Failed("no time is left", None)
        for attempt in range(self.limits.tries):
            if self._left() <= 0:
                break
            answer = await self._try(url, 0.5 * 2**attempt)
            if not isinstance(answer, _Failed):
                return self._read(answer)
            failed = answer
            if failed.pause is None:
                break
            if attempt + 1 < self.limits.tries:
                await self._pause(max(0.0, min(failed.pause, self._left())))
        raise self._error(failed.fault)

    async def _try(self, url: httpx.URL, pause: float) -> "bytes | _Failed":
        """Ask once; the pause is that before the next try unless the server wants another."""
        try:
            with anyio.fail_after(min(self.limits.page_seconds, self._left())):
                response, body = await self._ask(url)
        except TimeoutError:
            return _Failed("no answer in time", pause)
        except httpx.TransportError as error:
            return _Failed(str(error) or type(error).__name__, pause)
        except httpx.HTTPError as error:
            return _Failed(str(error), None)
        if response.status_code == 200:
            return body
        wanted = response.headers.get("retry-after", "")
        seconds = min(float(wanted) if wanted.isdecimal() else pause, self.limits.longest_pause)
        may_pass = response.status_code in _TRY_AGAIN
        return _Failed(f"answered {response.status_code}", seconds if may_pass else None)

    async def _ask(self, url: httpx.URL) -> tuple[httpx.Response, bytes]:
        async with self.client.stream("GET", url) as response:
            packing = response.headers.get("content-encoding", "identity")
            if packing.strip().lower() not in _PACKINGS:
                raise self._error("a page is packed in a way that was not asked for")
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self.limits.page_bytes:
                    raise self._error(f"a page is larger than {self.limits.page_bytes:,} bytes")
        return response, bytes(body)

    async def _check_host(self, request: httpx.Request) -> None:
        """Refuse to be led to another host: a public list could name what only this machine reaches."""
        here, there = self._url, request.url
        is_weaker = here.scheme == "https" and there.scheme != "https"
        if there.scheme not in ("http", "https") or there.host != here.host or is_weaker:
            shown = public_url(str(there)) or there.scheme
            raise self._error(f"leads to {shown}: name that if it is meant")

    def _read(self, body: bytes) -> JsonObject:
        try:
            page: JsonValue = json.loads(body)
        except (ValueError, RecursionError):
            page = None
        if not isinstance(page, dict) or not isinstance(page.get("servers"), list):
            raise self._error("answered no list of servers")
        return page

    def _left(self) -> float:
        return self._end - anyio.current_time()

    def _error(self, fault: str) -> SourceError:
        return SourceError(f"{public_url(str(self._url)) or self._url.host}: {fault}")


def _list_url(url: str) -> httpx.URL:
    msg = "the address of a registry must be a full one, such as https://registry.example.org"
    if public_url(url) is None:
        raise ConfigError(msg)
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise ConfigError(msg) from None
    path = parsed.path.rstrip("/")
    path = path if path.endswith("/servers") else path + _PATH
    query = {"limit": _PAGE_LENGTH, "version": "latest", **parsed.params}
    return parsed.copy_with(path=path).copy_merge_params(query)


def _next_cursor(page: JsonObject) -> str:
    metadata = page.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    cursor = named.get("nextCursor") or named.get("next_cursor")  # as first written, and still met
    return cursor if isinstance(cursor, str) else ""
