"""The list of a registry, page by page from a real HTTP server that may fail in every way."""

import gzip
import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest

from astra_mcp.errors import ConfigError, SourceError
from registry.documents.sources import DocumentFault, ServerDocument
from registry.importers.listing import ListingLimits, fetch_listing

Answer = tuple[int, dict[str, str], bytes]
Script = Callable[[int, dict[str, list[str]]], Answer]
"""Answers the n-th request, from 0, with its query."""


@contextmanager
def registry(script: Script) -> Generator[tuple[str, list[str]]]:
    """Run a registry; gives its address and the targets of the requests so far."""
    targets: list[str] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with lock:
                number = len(targets)
                targets.append(self.path)
            status, headers, content = script(number, parse_qs(urlsplit(self.path).query))
            self.send_response(status)
            for name, value in {"content-length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", targets
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def page(*names: str, cursor: str | None = None, key: str = "nextCursor") -> Answer:
    servers = [{"server": {"name": n, "version": "1.0.0", "description": "d"}} for n in names]
    metadata: dict[str, Any] = {"count": len(names)} | ({key: cursor} if cursor else {})
    return 200, {}, json.dumps({"servers": servers, "metadata": metadata}).encode()


def one_after_another(*answers: Answer) -> Script:
    return lambda number, _query: answers[number]


async def collect(url: str, **limits: Any) -> tuple[list[str], list[str]]:
    listing = fetch_listing(url, limits=ListingLimits(**limits), pause=Pauses())
    found = [document async for document in listing]
    return (
        [each.key for each in found if isinstance(each, ServerDocument)],
        [each.reason for each in found if isinstance(each, DocumentFault)],
    )


@pytest.mark.parametrize("key", ["nextCursor", "next_cursor"])
async def test_pages_are_followed_by_their_cursors(key: str) -> None:
    def script(number: int, query: dict[str, list[str]]) -> Answer:
        assert query.get("cursor") == (None if number == 0 else ["x/a:1 &"])
        return page("x/a", "x/b", cursor="x/a:1 &", key=key) if number == 0 else page("x/c")

    with registry(script) as (url, targets):
        assert await collect(url) == (["x/a", "x/b", "x/c"], [])
    assert targets[0] == "/v0.1/servers?limit=100&version=latest"


async def test_the_path_of_a_list_and_a_query_are_kept() -> None:
    with registry(lambda _n, _q: page("x/a")) as (url, targets):
        await collect(f"{url}/sub/v0/servers?search=tide&limit=5")
    path, _, query = targets[0].partition("?")
    assert path == "/sub/v0/servers"
    assert parse_qs(query) == {"search": ["tide"], "limit": ["5"], "version": ["latest"]}


class Pauses(list[float]):
    """Waits for nothing, but lets others run, and remembers for how long it was to wait."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_page_that_fails_for_a_while_is_asked_for_again(status: int) -> None:
    later: Answer = (status, {"retry-after": "2"}, b"later")
    pauses = Pauses()
    with registry(one_after_another(later, later, page("x/a"))) as (url, targets):
        found = [document async for document in fetch_listing(url, pause=pauses)]
    assert len(found) == 1
    assert len(targets) == 3
    assert pauses == [2.0, 2.0]


async def test_retry_after_is_bounded() -> None:
    pauses = Pauses()
    busy: Answer = (503, {"retry-after": "86400"}, b"")
    with registry(lambda _n, _q: busy) as (url, _), pytest.raises(SourceError, match="503"):
        await anext(fetch_listing(url, pause=pauses))
    assert pauses == [30.0, 30.0, 30.0]


USELESS: list[tuple[Answer, str]] = [
    ((404, {}, b""), "answered 404"),
    ((200, {}, b"<html>"), "answered no list of servers"),
    ((200, {}, b'{"servers": {}}'), "answered no list of servers"),
    ((200, {}, b"[" * 900), "answered no list of servers"),
    ((302, {"location": "/v0.1/servers"}, b""), "redirect"),
    ((302, {"location": "http://other.example/v0.1/servers?key=secret"}, b""), "other.example"),
    ((302, {"location": "http://me:secret@localhost/"}, b""), "leads to http://localhost/"),
    ((302, {"location": "file:///etc/hosts"}, b""), "leads to file"),
    ((200, {"content-encoding": "gzip, gzip"}, b"any"), "not asked for"),
    ((200, {"content-encoding": "gzip"}, b"not gzip"), "127.0.0.1"),
    ((200, {}, b" " * 2000), "a page is larger than 1,000 bytes"),
    ((200, {"content-encoding": "gzip"}, gzip.compress(b" " * 10**6)), "larger than 1,000 bytes"),
]


@pytest.mark.parametrize(("answer", "fault"), USELESS)
async def test_a_first_page_that_cannot_be_had_is_an_error(answer: Answer, fault: str) -> None:
    with registry(lambda _n, _q: answer) as (url, _), pytest.raises(SourceError) as caught:
        await collect(f"{url}/v0.1/servers?key=secret", page_bytes=1000)
    assert fault in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_redirect_on_the_same_host_is_followed() -> None:
    moved: Answer = (302, {"location": "/moved/servers"}, b"")
    with registry(one_after_another(moved, page("x/a"))) as (url, targets):
        assert await collect(url) == (["x/a"], [])
    assert targets[1] == "/moved/servers"


async def test_what_came_before_a_page_that_fails_counts() -> None:
    with registry(one_after_another(page("x/a", cursor="c"), (404, {}, b""))) as (url, _):
        found = await collect(url)
    assert found == (["x/a"], [f"page 2: {url}/v0.1/servers: answered 404"])


async def test_a_cursor_that_came_before_ends_the_list() -> None:
    with registry(lambda _n, _q: page("x/a", cursor="same")) as (url, targets):
        assert await collect(url) == (["x/a", "x/a"], ["page 2: its cursor came before"])
    assert len(targets) == 2


async def test_no_more_pages_are_read_than_allowed() -> None:
    with registry(lambda n, _q: page(f"x/{n}", cursor=str(n))) as (url, targets):
        found = await collect(url, pages=3)
    assert found == (["x/0", "x/1", "x/2"], ["only 3 pages are read"])
    assert len(targets) == 3


async def test_a_registry_that_does_not_answer_is_given_up() -> None:
    held = threading.Event()

    def script(_number: int, _query: dict[str, list[str]]) -> Answer:
        held.wait(30)
        return page("x/a")

    with registry(script) as (url, _):
        try:
            with pytest.raises(SourceError, match="no answer in time"):
                await collect(url, page_seconds=0.05, tries=2)
        finally:
            held.set()


async def test_nobody_listens() -> None:
    with registry(lambda _n, _q: page()) as (url, _):
        pass
    with pytest.raises(SourceError):
        await collect(url, tries=2)


@pytest.mark.parametrize(
    "url", ["", "registry.example", "ftp://registry.example", "http://", "https://["]
)
async def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="must be a full one"):
        await collect(url)
