"""The registry's own search, as ``astra-mcp registry search`` has it, for a process that serves.

Nothing is loaded before somebody searches: what compares vectors takes a second to load. What has no vector
yet gets none here, since a look at a page writes nothing.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from astra_mcp.compose.settings import Settings
from astra_mcp.errors import AstraError
from registry.search.scope import Scope, SearchAnswer, SearchBy
from registry.store.database import Database

if TYPE_CHECKING:  # NumPy is loaded when it is needed
    from registry.search.query import SearchIndex

__all__ = ["ToolSearch", "open_tool_search"]

_SLOW = ("registry.search.query", "astra_mcp.compose.embedders")


class ToolSearch:
    """Finds tools in the registry; made by :func:`open_tool_search`."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._index: SearchIndex | None = None
        self._fault: AstraError | None = None
        self._asked = anyio.Event()
        self._tried = anyio.Event()
        self.model = ""
        """What makes the vectors; known after the first search."""

    async def search(self, query: str, *, by: SearchBy, scope: Scope, limit: int) -> SearchAnswer:
        """Find the tools that fit best.

        Args:
            query: Words in any language of the tools.
            by: What they are ranked by.
            scope: Which tools are searched.
            limit: How many at most.

        Raises:
            ConfigError: The settings name no model, or what runs it is not installed.
            ModelError: The embedder failed.
            RegistryError: The database failed.
        """
        while self._index is None:
            tried = self._tried
            self._asked.set()
            await tried.wait()
            if self._index is None and self._fault is not None:
                raise self._fault
        return await self._index.search(query, limit=limit, by=by, scope=scope)

    async def keep(self) -> None:
        """Open the embedder when somebody searches, and hold it until cancelled."""
        while True:
            await self._asked.wait()
            try:
                await self._hold()
            except AstraError as error:
                self._fault = error
                self._asked = anyio.Event()
                tried, self._tried = self._tried, anyio.Event()
                tried.set()

    async def _hold(self) -> None:
        for module in _SLOW:
            await anyio.to_thread.run_sync(import_module, module)
        from astra_mcp.compose.embedders import open_embedder  # noqa: PLC0415 - loaded just above
        from registry.search.query import SearchIndex  # noqa: PLC0415

        async with open_embedder(self._settings, None) as embedder:
            self.model = embedder.model
            self._index = SearchIndex(self._database, embedder)
            self._tried.set()
            await anyio.sleep_forever()


@asynccontextmanager
async def open_tool_search(settings: Settings, database: Database) -> AsyncGenerator[ToolSearch]:
    """Search a registry while the context is open.

    Args:
        settings: Name the embedder.
        database: The registry's.
    """
    search = ToolSearch(settings, database)
    async with anyio.create_task_group() as group:
        group.start_soon(search.keep)
        yield search
        group.cancel_scope.cancel()
