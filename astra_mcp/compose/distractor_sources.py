"""Where a gateway's distractors come from: environments, the registry's live servers, and their vectors.

Loaded when the first episode asks for distractors: it needs NumPy, which a gateway needs for nothing else.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import anyio.to_thread
import numpy as np

from astra_mcp.distractors.choosing import choose_random
from astra_mcp.distractors.index import BandIndex, InScopeTool, build_index
from astra_mcp.distractors.pool import Pool, PoolTool, document_hash
from astra_mcp.distractors.settings import PoolKind
from astra_mcp.domains import Domain
from astra_mcp.embedding import Embedder, Vectors
from astra_mcp.embedding.tool_text import tool_text
from astra_mcp.types import ServerKind
from gateway.api.seams import Distractor, DistractorSample, EnvironmentInfo, ScopedTool
from registry.search.vectors import LiveTool, check_length, live_tools, read_vectors, update_vectors
from registry.store.database import Database
from registry.store.statements import batches

__all__ = ["CachedPool", "PoolCatalog", "PoolReading", "PoolServer", "index_pool", "read_pool"]

_EMBEDDED_AT_ONCE = 256
_DOMAINS = {domain.value: domain for domain in Domain}


class PoolServer(Protocol):
    """What is asked of a server."""

    @property
    def name(self) -> str:
        """Unique in the catalog."""
        ...

    @property
    def kind(self) -> ServerKind:
        """Emulated ones have their tools in the registry."""
        ...


class PoolCatalog(Protocol):
    """What is asked of a gateway's catalog."""

    def environments(self) -> Sequence[EnvironmentInfo]:
        """All environments, by name."""
        ...

    def upstreams(self) -> Sequence[PoolServer]:
        """All servers, by name."""
        ...

    def domain(self, server: str) -> str | None:
        """What a server is about; None where nobody knows."""
        ...

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of every server that is added, removed or changed; the answer ends it."""
        ...


class _Source(NamedTuple):
    """What a vector is made of, and found by."""

    document: str
    stored_as: str | None
    """The tool's hash in the registry."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolReading:
    """A pool, and the documents of its tools in its order."""

    pool: Pool
    sources: tuple[_Source, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CachedPool:
    """A pool that distractors are chosen from."""

    pool: Pool
    index: BandIndex | None
    """None as long as nobody asked for bands."""

    async def sample(
        self,
        scope: Sequence[ScopedTool],
        *,
        mode: Literal["random", "banded"],
        k: int,
        seed: int,
        taken: Collection[str],
        catalog: PoolCatalog,
        is_stale: bool,
    ) -> DistractorSample:
        """Choose, as the gateway's ``DistractorIndex`` does; banded only where there is an index.

        The catalog knows the domains of the scope's servers, and which servers there are; servers of a stale
        pool may be gone from it.

        Raises:
            ModelError: A tool of the scope could not be embedded.
        """
        names = {*taken, *(s.tool.name for s in scope)}
        domains = {s.server: _domain(catalog.domain(s.server)) for s in scope}
        gone: set[str] = set()
        if is_stale:
            gone = {t.server for t in self.pool.tools} - {u.name for u in catalog.upstreams()}
        eligible = self.pool.eligible(names, gone)
        if mode == "random":
            found = choose_random(self.pool, domains.values(), eligible=eligible, seed=seed)
        else:
            assert self.index is not None  # noqa: S101 - as the caller promised
            tools = [InScopeTool.of(s.tool, domains[s.server]) for s in scope]
            found = await self.index.choose(tools, eligible=eligible, k=k, seed=seed)
        distractors = tuple(
            Distractor(tool.server, tool.name, None if band is None else band.value)
            for tool, band in found.chosen
        )
        return DistractorSample(distractors, found.shortfall)


async def read_pool(kind: PoolKind, catalog: PoolCatalog, database: Database) -> PoolReading:
    """Read the tools of a gateway that may become distractors.

    Of tools with one name, an environment's comes before a registry server's; then the first server by name
    and the first place in its list decide.

    Args:
        kind: Of which servers.
        catalog: Only what it publishes is read.
        database: The registry.

    Raises:
        RegistryError: The registry did not answer.
    """
    environments = () if kind is PoolKind.REGISTRY else catalog.environments()
    emulated = {u.name for u in catalog.upstreams() if u.kind is ServerKind.EMULATOR}
    registered: list[LiveTool] = []
    if kind is not PoolKind.ENVIRONMENTS:
        registered = await database.read(lambda session: list(live_tools(session, emulated)))
    return await anyio.to_thread.run_sync(_reading, environments, registered)


async def index_pool(
    reading: PoolReading, embedder: Embedder, database: Database, previous: BandIndex | None
) -> BandIndex:
    """Make the index of a pool.

    Vectors are taken from the previous index and from the registry. Those that the registry's tools lack
    are computed and stored there; those of environments are computed.

    Args:
        reading: The pool.
        embedder: Names the vectors, and makes those that are nowhere.
        database: The registry.
        previous: Of another pool, by the same embedder.

    Raises:
        ModelError: A tool could not be embedded.
        RegistryError: The registry did not answer, or keeps vectors of another length.
    """
    rows = _Rows(reading.pool, embedder.model)
    if previous is not None:
        await anyio.to_thread.run_sync(rows.take_over, previous)
    hashes = ((reading.sources[place].stored_as, place) for place in rows.missing)
    places_of = {tool: place for tool, place in hashes if tool is not None}
    if places_of:
        await update_vectors(database, embedder)
        await database.read(
            lambda session: rows.fill(
                (places_of[tool], vector)
                for tool, vector in read_vectors(session, embedder.model, places_of)
            )
        )
    for places in batches(sorted(rows.missing), _EMBEDDED_AT_ONCE):
        vectors = await embedder.embed([reading.sources[place].document for place in places])
        rows.fill(zip(places, vectors, strict=True))
    return await build_index(reading.pool, rows.matrix, embedder)


class _Rows:
    """The vectors of a pool, as they come."""

    def __init__(self, pool: Pool, model: str) -> None:
        self._pool = pool
        self._model = model
        self.missing = set(range(len(pool)))
        """Places without a vector so far."""
        self.matrix: Vectors = np.empty((len(pool), 0), dtype=np.float32)

    def take_over(self, previous: BandIndex) -> None:
        """Take the vectors of tools that stand in another pool too."""
        self.fill(
            (place, vector)
            for place, tool in enumerate(self._pool.tools)
            if (vector := previous.vector(tool.name, tool.hash)) is not None
        )

    def fill(self, found: Iterable[tuple[int, Vectors]]) -> None:
        """Put vectors into their places; all are as long as the first one."""
        for place, vector in found:
            if not self.matrix.shape[1]:
                self.matrix = np.empty((len(self._pool), len(vector)), dtype=np.float32)
            check_length(self._model, self.matrix.shape[1], len(vector))
            self.matrix[place] = vector
            self.missing.discard(place)


def _reading(
    environments: Sequence[EnvironmentInfo], registered: Sequence[LiveTool]
) -> PoolReading:
    tools: list[PoolTool] = []
    sources: dict[tuple[str, str], _Source] = {}

    def add(server: str, name: str, domain: str | None, source: _Source) -> None:
        hashed = document_hash(source.document)
        tools.append(PoolTool(server=server, name=name, domain=_domain(domain), hash=hashed))
        sources.setdefault((server, name), source)

    for environment in environments:
        for spec in environment.tools:
            add(environment.name, spec.name, environment.domain, _Source(tool_text(spec), None))
    for tool in registered:
        add(tool.server, tool.name, tool.domain, _Source(tool.document, tool.hash))
    pool = Pool(tools)
    return PoolReading(pool, tuple(sources[tool.server, tool.name] for tool in pool.tools))


def _domain(label: str | None) -> Domain | None:
    """Read a label; one that the vocabulary does not have says as much as none."""
    return None if label is None else _DOMAINS.get(label)
