"""Pools of tools whose vectors a test chooses."""

from collections.abc import Mapping, Sequence

import anyio
import numpy as np

from astra_mcp.distractors.index import InScopeTool
from astra_mcp.distractors.pool import Pool, PoolTool, document_hash
from astra_mcp.domains import Domain
from astra_mcp.embedding import Vectors
from astra_mcp.errors import ModelError, ModelFault


class FakeEmbedder:
    """Embeds documents by a table; waits or fails where it is told to."""

    model = "fake"

    def __init__(self, vectors: Mapping[str, Sequence[float]] | None = None) -> None:
        self.vectors = dict(vectors or {})
        self.texts: list[str] = []
        self.asked = anyio.Event()
        """Set when it is asked the first time."""
        self.may_answer: anyio.Event | None = None
        """It answers only once it is set."""
        self.is_failing = False

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        """Look the documents up."""
        assert not as_query
        self.texts += texts
        self.asked.set()
        if self.may_answer is not None:
            await self.may_answer.wait()
        if self.is_failing:
            raise ModelError("the endpoint is down", ModelFault.UNREACHABLE)
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


def document_of(name: str) -> str:
    """What is embedded of a tool."""
    return f"document of {name}"


def pool_tool(name: str, domain: Domain | None = Domain.WEATHER, server: str = "s") -> PoolTool:
    """A tool of a server."""
    hashed = document_hash(document_of(name))
    return PoolTool(server=server, name=name, domain=domain, hash=hashed)


def pool_of(domains: Mapping[str, Domain | None]) -> Pool:
    """A pool of tools by their names, each with its domain."""
    return Pool([pool_tool(name, domain) for name, domain in domains.items()])


def in_scope(name: str, domain: Domain | None = None, document: str | None = None) -> InScopeTool:
    """A tool of an episode."""
    text = document or document_of(name)
    return InScopeTool(name=name, domain=domain, document=text, hash=document_hash(text))
