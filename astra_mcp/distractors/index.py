"""The bands of in-scope tools in one pool: computed when a tool is first asked for, then remembered.

Nothing of all pairs is kept: a pool of M tools holds its vectors and, for each in-scope tool that is
remembered, M bytes.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import anyio
import anyio.to_thread
import numpy as np
from anyio import CapacityLimiter

from astra_mcp.distractors.choosing import Selection, choose_banded
from astra_mcp.distractors.pool import Mask, Pool, document_hash
from astra_mcp.distractors.similarity import (
    Floats,
    Membership,
    cosines,
    lengths_of,
    membership_of,
    normalised,
)
from astra_mcp.domains import Domain
from astra_mcp.embedding import Embedder, Vectors
from astra_mcp.embedding.tool_text import tool_text
from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.types import ToolSpec

__all__ = ["BandIndex", "InScopeTool", "build_index"]

_REMEMBERED_BYTES = 64 << 20
_TOOLS_AT_ONCE = 32
"""Rows that are computed together: they bound the memory, and cost little more than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InScopeTool:
    """A tool of an episode's own servers."""

    name: str
    domain: Domain | None
    """Of its server."""
    document: str
    """d(tau) of eq. (24), see :mod:`astra_mcp.embedding.tool_text`."""
    hash: str
    """Of the document."""

    @classmethod
    def of(cls, spec: ToolSpec, domain: Domain | None) -> Self:
        """Take what is compared of a tool."""
        document = tool_text(spec)
        hashed = document_hash(document)
        return cls(name=spec.name, domain=domain, document=document, hash=hashed)


@dataclass(slots=True, eq=False)
class _Computation:
    """Rows that are being computed, for all who wait for one of them."""

    done: anyio.Event = field(default_factory=anyio.Event)
    found: dict[str, Membership] = field(default_factory=dict[str, Membership])
    """By the hashes of the tools; not all of them where it failed or was cancelled."""
    error: ModelError | None = None


class BandIndex:
    """Chooses distractors by bands from one pool, by the vectors of one model.

    Band membership is remembered by the hash of the in-scope tool's document; the pool's hash and the model
    are the index's own. Made by :func:`build_index`.
    """

    def __init__(
        self,
        pool: Pool,
        vectors: Vectors,
        lengths: Floats,
        embedder: Embedder,
        remembered_bytes: int,
    ) -> None:
        self.pool = pool
        self._vectors = vectors
        self._lengths = lengths
        self._embedder = embedder
        self._remembered: OrderedDict[str, Membership] = OrderedDict()
        self._max_remembered = max(1, remembered_bytes // max(1, len(pool)))
        self._running: dict[str, _Computation] = {}
        self._limiter = CapacityLimiter(1)

    def vector(self, name: str, document: str) -> Vectors | None:
        """Give the vector of a tool of the pool; None where none of this name has this document.

        Args:
            name: Of the tool.
            document: The hash of its document.
        """
        place = self.pool.places.get(name)
        if place is None or self.pool.tools[place].hash != document:
            return None
        return self._vectors[place]

    async def choose(
        self, scope: Sequence[InScopeTool], *, eligible: Mask, k: int, seed: int
    ) -> Selection:
        """Choose up to K distractors from each band.

        Args:
            scope: The episode's own tools.
            eligible: Which tools of the pool may be chosen.
            k: From each band at most.
            seed: Decides.

        Raises:
            ModelError: A tool could not be embedded.
        """
        memberships = await self.memberships(scope)
        united = zip([tool.domain for tool in scope], memberships, strict=True)
        return choose_banded(self.pool, united, eligible=eligible, k=k, seed=seed)

    async def memberships(self, tools: Sequence[InScopeTool]) -> list[Membership]:
        """Give the band of every tool of the pool for each of these; do not change what is given.

        A worker thread computes, so that others go on; whoever asks for the same tools meanwhile waits for
        it, shares its failure, and takes over where it was cancelled.

        Raises:
            ModelError: A tool could not be embedded.
        """
        found = self._recall(tools)
        while missing := {tool.hash: tool for tool in tools if tool.hash not in found}:
            running = [self._running[key] for key in missing if key in self._running]
            own = [tool for key, tool in missing.items() if key not in self._running]
            if own:
                found |= await self._compute(own)
            for computation in running:
                await computation.done.wait()
                if computation.error is not None:
                    raise computation.error
                found |= computation.found
        return [found[tool.hash] for tool in tools]

    def _recall(self, tools: Sequence[InScopeTool]) -> dict[str, Membership]:
        known = [tool.hash for tool in tools if tool.hash in self._remembered]
        for key in known:
            self._remembered.move_to_end(key)
        return {key: self._remembered[key] for key in known}

    async def _compute(self, tools: Sequence[InScopeTool]) -> dict[str, Membership]:
        """Compute the rows of tools that nobody else computes, and remember them."""
        computation = _Computation()
        self._running |= dict.fromkeys([tool.hash for tool in tools], computation)
        try:
            for at in range(0, len(tools), _TOOLS_AT_ONCE):
                batch = tools[at : at + _TOOLS_AT_ONCE]
                asked = await self._vectors_of(batch)
                names = [tool.name for tool in batch]
                rows = await anyio.to_thread.run_sync(
                    self._rows, asked, names, limiter=self._limiter
                )
                for tool, row in zip(batch, rows, strict=True):
                    computation.found[tool.hash] = self._remembered[tool.hash] = row
                while len(self._remembered) > self._max_remembered:
                    self._remembered.popitem(last=False)
        except ModelError as error:
            computation.error = error
            raise
        finally:
            for tool in tools:
                del self._running[tool.hash]
            computation.done.set()
        return computation.found

    def _rows(self, asked: Vectors, names: Sequence[str]) -> list[Membership]:
        rows = cosines(asked, self._vectors, self._lengths)
        places = [self.pool.places.get(name) for name in names]
        return [
            membership_of(normalised(row, own), own) for row, own in zip(rows, places, strict=True)
        ]

    async def _vectors_of(self, tools: Sequence[InScopeTool]) -> Vectors:
        """Take vectors from the pool, and embed the tools that are not in it or stand there otherwise."""
        vectors = np.empty((len(tools), self._vectors.shape[1]), dtype=np.float32)
        foreign: list[int] = []
        for row, tool in enumerate(tools):
            if (known := self.vector(tool.name, tool.hash)) is None:
                foreign.append(row)
            else:
                vectors[row] = known
        if foreign and len(self.pool):
            embedded = await self._embedder.embed([tools[row].document for row in foreign])
            _check(self._embedder.model, embedded, (len(foreign), vectors.shape[1]))
            _check_finite(self._embedder.model, lengths_of(embedded))
            vectors[foreign] = embedded
        return vectors


async def build_index(
    pool: Pool,
    vectors: Vectors,
    embedder: Embedder,
    *,
    remembered_bytes: int = _REMEMBERED_BYTES,
) -> BandIndex:
    """Make the index of a pool.

    Args:
        pool: Chosen from.
        vectors: One row for each of its tools, in its order; held, and never changed or copied.
        embedder: Made them, and embeds in-scope tools that are not in the pool.
        remembered_bytes: For the bands of in-scope tools; beyond it, those that were not asked for longest
            are forgotten.

    Raises:
        ModelError: The vectors are not one for each tool, or not finite.
    """
    _check(embedder.model, vectors, (len(pool), vectors.shape[-1]))
    lengths = await anyio.to_thread.run_sync(lengths_of, vectors)
    _check_finite(embedder.model, lengths)
    return BandIndex(pool, vectors, lengths, embedder, remembered_bytes)


def _check(model: str, vectors: Vectors, shape: tuple[int, int]) -> None:
    if vectors.shape != shape:
        raise _malformed(model, f"vectors of shape {vectors.shape} in place of {shape}")


def _check_finite(model: str, lengths: Floats) -> None:
    if not np.isfinite(lengths).all():
        raise _malformed(model, "vectors with numbers that are not finite")


def _malformed(model: str, words: str) -> ModelError:
    return ModelError(f"the embedder {model!r} answered {words}", ModelFault.MALFORMED)
