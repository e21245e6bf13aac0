"""Prompts and resources of several servers as those of one endpoint.

Prompts are shown as ``server__prompt``; a resource belongs to the first server, in their order, that lists
its URI or has a template that matches. Lists are merged page by page under cursors of our own. Knows JSON
results and a way to ask one server; knows neither the SDK's server nor episodes.
"""

import base64
import binascii
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import orjson
from mcp.shared.uri_template import UriTemplate

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import RelayedError, UnknownNameError, UpstreamError
from astra_mcp.types import JsonObject, JsonValue
from gateway.episodes.shown_tools import qualified_name

PAGE = 100
"""A merged page holds at least so many entries, unless it is the last."""
MAX_PAGES = 100
"""Of one server, when all its entries are looked through."""
AT_ONCE = 8
_METHOD_NOT_FOUND = -32601
_MEMBERS = {
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_KEYS = {"prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}
"""What names an entry of each list; one without it is left out."""
_log = logging.getLogger("astra_mcp.gateway")

Ask = Callable[[str, str, JsonObject], Awaitable[JsonObject]]
"""Sends a request to a server: its name, the method, the params."""


class WrongCursorError(Exception):
    """A cursor is none that a merged list gave out."""


@dataclass(frozen=True, slots=True)
class MergedServers:
    """Several servers as one, for one request."""

    _servers: Mapping[str, Sequence[str]]
    """Their names in their order, by capability (``prompts``, ``resources``)."""
    _ask: Ask
    """Reaches one of them."""

    async def page(self, method: str, cursor: str | None) -> JsonObject:
        """Answer one page of a merged list.

        A server that fails is left out of the page, and named in the log.

        Raises:
            WrongCursorError: The cursor is none of ours, or its server is gone.
        """
        member = _MEMBERS[method]
        names = self._servers["prompts" if member == "prompts" else "resources"]
        start, upstream_cursor = _read_cursor(cursor, names)
        rows: list[JsonValue] = []
        while start < len(names) and len(rows) < PAGE:
            batch = names[start : start + (1 if upstream_cursor else AT_ONCE)]
            cursors = dict.fromkeys(batch, upstream_cursor)
            pages = await map_concurrently(
                lambda name, cursors=cursors: self._page_of(name, method, cursors[name]),
                batch,
                limit=AT_ONCE,
            )
            for name, page in zip(batch, pages, strict=True):
                rows += [self._shown(name, member, row) for row in _rows(page, member)]
                following = page.get("nextCursor")
                if isinstance(following, str):
                    return {member: _distinct(rows, member), "nextCursor": _cursor(name, following)}
            start, upstream_cursor = start + len(batch), None
        answer: JsonObject = {member: _distinct(rows, member)}
        if start < len(names):
            answer["nextCursor"] = _cursor(names[start], None)
        return answer

    async def prompt(self, shown: str) -> tuple[str, str]:
        """Find the server and the own name of a shown prompt.

        Raises:
            UnknownNameError: No server has it.
        """
        names = self._servers["prompts"]
        plain = [n for n in names if shown.startswith(f"{n}__")]
        if len(plain) == 1 and shown == qualified_name(plain[0], shown[len(plain[0]) + 2 :]):
            return plain[0], shown[len(plain[0]) + 2 :]
        for name in names:
            async for row in self._all(name, "prompts/list"):
                own = str(row.get("name", ""))
                if self._shown_prompt(name, own) == shown:
                    return name, own
        raise UnknownNameError(f"no prompt is named {shown[:128]!r}: see prompts/list")

    async def resource(self, uri: str) -> str | None:
        """Find the server that a resource belongs to; None where none lists it or has a template for it."""
        names = self._servers["resources"]
        if len(names) == 1:
            return names[0]
        for name in names:
            async for row in self._all(name, "resources/list"):
                if row.get("uri") == uri:
                    return name
        for name in names:
            async for row in self._all(name, "resources/templates/list"):
                if _matches(str(row.get("uriTemplate", "")), uri):
                    return name
        return None

    async def template(self, uri: str) -> str | None:
        """Find the server of a template, as a completion names it, or of a resource.

        None where no server lists it.
        """
        for name in self._servers["resources"]:
            async for row in self._all(name, "resources/templates/list"):
                if row.get("uriTemplate") == uri:
                    return name
        return await self.resource(uri)

    def _shown(self, server: str, member: str, row: JsonObject) -> JsonObject:
        if member != "prompts":
            return row
        return {**row, "name": self._shown_prompt(server, str(row.get("name", "")))}

    def _shown_prompt(self, server: str, own: str) -> str:
        plain = f"{server}__{own}"
        # Where the plain name could be read as another server's, nobody gets it.
        candidates = [n for n in self._servers["prompts"] if plain.startswith(f"{n}__")]
        return qualified_name(server, own, hashed=len(candidates) > 1)

    async def _page_of(self, server: str, method: str, cursor: str | None) -> JsonObject:
        try:
            return await self._ask(server, method, {"cursor": cursor} if cursor else {})
        except UpstreamError as error:
            if isinstance(error, RelayedError) and error.code == _METHOD_NOT_FOUND:
                return {}
            _log.warning("%s is left out of %s: %s", server, method, error)
            return {}

    async def _all(self, server: str, method: str) -> AsyncGenerator[JsonObject]:
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._page_of(server, method, cursor)
            for row in _rows(page, _MEMBERS[method]):
                yield row
            following = page.get("nextCursor")
            if not isinstance(following, str):
                return
            cursor = following


def _rows(page: JsonObject, member: str) -> list[JsonObject]:
    rows = page.get(member)
    if not isinstance(rows, list):
        return []
    return [r for r in rows if isinstance(r, dict) and isinstance(r.get(_KEYS[member]), str)]


def _distinct(rows: list[JsonValue], member: str) -> list[JsonValue]:
    """Keep the first of several resources with the same URI: it is the one that is read."""
    if member == "prompts":
        return rows
    first: dict[JsonValue, JsonValue] = {}
    for row in rows:
        first.setdefault(cast("JsonObject", row)[_KEYS[member]], row)
    return list(first.values())


def _matches(template: str, uri: str) -> bool:
    try:
        return UriTemplate.parse(template).match(uri) is not None
    except ValueError:
        return False  # a template that cannot be read matches nothing


def _cursor(server: str, upstream: str | None) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([server, upstream])).decode()


def _read_cursor(cursor: str | None, names: Sequence[str]) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    try:
        server, upstream = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
        return names.index(server), upstream if isinstance(upstream, str) else None
    except (ValueError, TypeError, binascii.Error):
        msg = "this cursor is none that the list gave out: begin without one"
        raise WrongCursorError(msg) from None
