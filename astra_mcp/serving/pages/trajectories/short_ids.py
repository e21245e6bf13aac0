"""Ids as pages shorten them, in an address: they lead to the episode whose id begins so."""

import re
from collections.abc import Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from astra_mcp.serving.pages.episode_index import EpisodeIndex
from astra_mcp.serving.pages.rendering import Renderer

__all__ = ["ShortIds"]

_SHORT = re.compile(r"[0-9a-f]{6,31}")
_BELOW = "/episodes/"
_LISTED = 50
"""Episodes of one page; of more the beginning of an id says too little."""


class ShortIds:
    """Answers in the place of a page where an id is given by its beginning."""

    def __init__(self, index: EpisodeIndex, renderer: Renderer) -> None:
        self._index = index
        self._renderer = renderer

    async def lead_on(self, request: Request) -> Response | None:
        """Lead from ``/episodes/BEGINNING...`` to the same below the whole id.

        Returns:
            None where no id is shortened, or none begins so.

        Raises:
            RegistryError: The index cannot be read now.
        """
        path = request.scope["path"]
        if request.method not in ("GET", "HEAD") or not path.startswith(_BELOW):
            return None
        short, slash, rest = path.removeprefix(_BELOW).partition("/")
        behind = f"{slash}{quote(rest)}"
        if query := request.url.query:
            behind += f"?{query}"
        return await self.answer(request, short, lambda id_: f"{_BELOW}{id_}{behind}")

    async def answer(
        self, request: Request, short: str, address: Callable[[str], str]
    ) -> Response | None:
        """Lead to the address of the one episode whose id begins so, or list those that do.

        Args:
            request: That gives the beginning of an id.
            short: What may be the beginning; at least six characters.
            address: Where an episode of a whole id is shown.

        Returns:
            None where it is no beginning of an id, or none begins so.

        Raises:
            RegistryError: The index cannot be read now.
        """
        if not _SHORT.fullmatch(short):
            return None
        found = await self._index.beginning_with(short, limit=_LISTED + 1)
        if len(found) == 1:
            return self._renderer.go_to(address(found[0].id))
        if not found:
            return None
        return self._renderer.page(
            request,
            "several",
            code=404,
            short=short,
            rows=[(each, address(each.id)) for each in found[:_LISTED]],
            has_more=len(found) > _LISTED,
        )
