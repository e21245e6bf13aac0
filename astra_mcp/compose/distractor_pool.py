"""The distractors of a gateway: read when the first episode asks for some, then kept up with the catalog.

Satisfies the gateway's ``DistractorIndex``. One task reads and renews; episodes wait for the first reading
alone, and choose from the old pool while a new one is made.
"""

import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import anyio

from astra_mcp.compose.settings import Settings
from astra_mcp.distractors.settings import PoolKind
from astra_mcp.errors import AstraError, ConfigError, ModelError, ModelFault, RegistryError
from gateway.api.seams import DistractorSample, ScopedTool

if TYPE_CHECKING:  # NumPy and what talks to databases are loaded when they are needed
    from astra_mcp.compose.distractor_sources import CachedPool, PoolCatalog
    from astra_mcp.embedding import Embedder
    from registry.store.database import Database

__all__ = ["GatewayDistractors", "open_distractors"]

READY_SECONDS = 45.0
"""For the first reading; an episode that waits longer is not opened, and the reading goes on. Less than the
gateway's own client waits for an answer."""
SETTLE_SECONDS = 10.0
"""From a change of the catalog to the renewal: the many changes of an import make few new pools."""
RETRY_SECONDS = 30.0
"""From a renewal that failed to the next one, if nobody waits for it."""

_SOURCES = "astra_mcp.compose.distractor_sources"
_log = logging.getLogger("astra_mcp.distractors")


@dataclass(slots=True, eq=False)
class _Renewal:
    """A reading of the pool that somebody may wait for."""

    done: anyio.Event = field(default_factory=anyio.Event)
    error: AstraError | None = None


class GatewayDistractors:
    """Chooses distractors for a gateway's episodes. Made by :func:`open_distractors`."""

    def __init__(self, settings: Settings, catalog: "PoolCatalog", database: "Database") -> None:
        self._settings = settings
        self._catalog = catalog
        self._database = database
        self._held: CachedPool | None = None
        self._embedder: Embedder | None = None
        self._needs_bands = False
        self._news = 0
        """Changes of the catalog so far; the pool in use knows of the first ``_known`` ones."""
        self._known = 0
        self._wake = anyio.Event()
        self._asked = anyio.Event()
        """Set where the next renewal is waited for."""
        self._coming = _Renewal()

    async def sample(
        self,
        scope: Sequence[ScopedTool],
        *,
        mode: Literal["random", "banded"],
        k: int,
        seed: int,
        taken: Collection[str],
    ) -> DistractorSample:
        """Choose, as ``DistractorIndex`` says; what is taken are names besides those of the scope.

        Raises:
            ConfigError: The settings name no model of embeddings where they ask for one.
            ModelError: A tool could not be embedded, or the pool is not ready in time.
            RegistryError: The registry did not answer.
        """
        try:
            with anyio.fail_after(READY_SECONDS):
                held = await self._ready(needs_bands=mode == "banded")
        except TimeoutError:
            msg = (
                f"the pool of distractors is not ready after {READY_SECONDS:g} s and is still being made: "
                "try again, or run `astra-mcp registry embed` before"
            )
            raise ModelError(msg, ModelFault.TIMEOUT) from None
        return await held.sample(
            scope,
            mode=mode,
            k=k,
            seed=seed,
            taken=taken,
            catalog=self._catalog,
            is_stale=self._news != self._known,
        )

    async def _ready(self, *, needs_bands: bool) -> "CachedPool":
        while True:
            held = self._held
            if held is not None and (held.index is not None or not needs_bands):
                return held
            self._needs_bands |= needs_bands
            renewal = self._coming
            self._wake.set()
            self._asked.set()
            await renewal.done.wait()
            if renewal.error is not None and (needs_bands or self._held is None):
                raise renewal.error

    def hear(self, name: str) -> None:
        """Renew the pool, if it is in use: a server came, went or changed."""
        del name
        self._news += 1
        if self._held is not None:
            self._wake.set()

    async def keep(self) -> None:
        """Read the pool when it is asked for and renew it when the catalog changes, until cancelled."""
        pause = SETTLE_SECONDS
        async with AsyncExitStack() as stack:
            while True:
                await self._wake.wait()
                with anyio.move_on_after(pause):
                    await self._asked.wait()
                self._wake, self._asked = anyio.Event(), anyio.Event()
                renewal, self._coming = self._coming, _Renewal()
                try:
                    await self._renew(stack)
                    pause = SETTLE_SECONDS
                except (ConfigError, ModelError, RegistryError) as error:
                    renewal.error = error
                    pause = RETRY_SECONDS
                    _log.warning("the pool of distractors cannot be read for now: %s", error)
                finally:
                    renewal.done.set()
                if self._held is not None and self._news != self._known:
                    self._wake.set()

    async def _renew(self, stack: AsyncExitStack) -> None:
        """Read the pool, and index it where bands were asked for; an old index serves meanwhile."""
        # A second to load with NumPy; the event loop goes on.
        await anyio.to_thread.run_sync(import_module, _SOURCES)
        from astra_mcp.compose.distractor_sources import (  # noqa: PLC0415 - loaded just above
            CachedPool,
            index_pool,
            read_pool,
        )

        news, held = self._news, self._held
        kind = self._settings.distractors.pool
        reading = await read_pool(kind, self._catalog, self._database)
        if held is None or held.pool.hash != reading.pool.hash:
            held = CachedPool(reading.pool, None)
        previous = None if self._held is None else self._held.index
        if previous is None:
            self._held, self._known = held, news
        if self._needs_bands and held.index is None:
            embedder = await self._opened_embedder(stack)
            index = await index_pool(reading, embedder, self._database, previous)
            held = CachedPool(reading.pool, index)
        self._held, self._known = held, news

    async def _opened_embedder(self, stack: AsyncExitStack) -> "Embedder":
        from astra_mcp.compose.embedders import open_embedder  # noqa: PLC0415 - loads NumPy

        if self._embedder is None:
            self._embedder = await stack.enter_async_context(open_embedder(self._settings, None))
        return self._embedder


@asynccontextmanager
async def open_distractors(
    settings: Settings, catalog: "PoolCatalog", database: "Database"
) -> AsyncGenerator[GatewayDistractors]:
    """Offer the distractors of the settings' pool; nothing is read before somebody asks for some.

    Args:
        settings: Name the pool and the embedder.
        catalog: Publishes the servers; its changes are followed.
        database: The registry, with its vectors.

    Raises:
        ConfigError: The pool is of servers that are not published.
    """
    kind = settings.distractors.pool
    if kind is not PoolKind.ENVIRONMENTS and not settings.emulators.publish:
        raise ConfigError(
            f"distractors.pool is {kind.value!r}, and emulators.publish is false: nobody could call those "
            "tools; set emulators.publish to true, or distractors.pool to 'environments'"
        )
    distractors = GatewayDistractors(settings, catalog, database)
    end = catalog.watch(distractors.hear)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(distractors.keep)
            yield distractors
            group.cancel_scope.cancel()
    finally:
        end()
