"""Servers and tools that are made up by number, and vectors of them that lie in clusters as real ones do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import orjson

from astra_mcp.domains import Domain
from astra_mcp.embedding import Vectors
from astra_mcp.types import JsonObject, ServerKind
from gateway.api.seams import EnvironmentInfo
from registry.documents.sources import Provenance, ServerDocument, ToolDocument

__all__ = ["GeneratedCatalog", "GeneratedEmbedder", "domain_of", "server_documents", "server_name"]

_DOMAINS = tuple(Domain)
_UNLABELLED_ONE_IN = 20
_TEXT = """
account archive balance booking branch carrier category channel claim contract course customer
delivery deposit device discount document driver event fare field flight folder guest invoice item
journey ledger lesson licence list location member message meter model month note offer order parcel
patient payment permit person plan point policy price profile queue quote rate record region rental
reply report request result review role room route sample schedule score seat section sensor shift
site stock store study survey table tariff task team ticket token topic trace transfer unit user
value vehicle version visit year
"""
_WORDS = tuple(_TEXT.split())


def server_name(number: int) -> str:
    """Name a server."""
    return f"server-{number:05}"


def domain_of(name: str) -> Domain | None:
    """What a server is about; one in twenty has no label."""
    number = int(name.rpartition("-")[2])
    return None if number % _UNLABELLED_ONE_IN == 0 else _DOMAINS[number % len(_DOMAINS)]


def server_documents(tools: int, servers: int, seed: int) -> list[ServerDocument]:
    """Make servers of nearly equal size."""
    draw = np.random.default_rng([seed, 1])
    documents: list[ServerDocument] = []
    for server in range(servers):
        numbers = range(tools * server // servers, tools * (server + 1) // servers)
        domain = domain_of(server_name(server))
        documents.append(
            ServerDocument(
                source="generated",
                key=server_name(server),
                name=server_name(server),
                provenance=Provenance.LIVE,
                labels=() if domain is None else (domain.value,),
                tools=tuple(_tool(server, number, draw) for number in numbers),
            )
        )
    return documents


def _tool(server: int, number: int, draw: np.random.Generator) -> ToolDocument:
    words = [_WORDS[int(place)] for place in draw.integers(len(_WORDS), size=40)]
    properties: JsonObject = {
        f"{word}_{place}": {
            "type": "string",
            "description": f"The {word} of the {words[place + 9]}.",
        }
        for place, word in enumerate(words[:4])
    }
    return ToolDocument(
        name=f"find_{words[4]}_{server:05}_{number:06}",
        description=f"Find the {' and the '.join(words[5:])} that belong together.",
        input_schema={"type": "object", "properties": properties},
    )


class GeneratedEmbedder:
    """Vectors about a centre for all tools, one for each domain and one for each server."""

    def __init__(self, dimensions: int, seed: int) -> None:
        self.model = f"generated/{dimensions}#{seed}"
        self._dimensions = dimensions
        self._seed = seed
        self._centre: Callable[[int, int], Vectors] = cache(self._direction)

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        """Read a tool's server and number off its name."""
        del as_query
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vectors:
        name: str = orjson.loads(text)["function"]["name"]
        server, number = (int(part) for part in name.split("_")[-2:])
        vector = (
            self._centre(0, 0)
            + 0.6 * self._centre(1, server % len(_DOMAINS))
            + 0.7 * self._centre(2, server)
            + 0.9 * self._direction(3, number)
        )
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def _direction(self, kind: int, number: int) -> Vectors:
        draw = np.random.default_rng([self._seed, kind, number])
        vector = draw.standard_normal(self._dimensions)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@dataclass(frozen=True)
class _Server:
    name: str
    kind: ServerKind = ServerKind.EMULATOR


class GeneratedCatalog:
    """Publishes the servers; satisfies the ``PoolCatalog`` of a gateway's distractors."""

    def __init__(self, servers: int) -> None:
        self._servers = tuple(_Server(server_name(number)) for number in range(servers))

    def environments(self) -> Sequence[EnvironmentInfo]:
        """None."""
        return ()

    def upstreams(self) -> Sequence[_Server]:
        """All servers."""
        return self._servers

    def domain(self, server: str) -> str | None:
        """What one is about."""
        return domain_of(server)

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Nothing ever changes."""
        del hear
        return lambda: None
