"""What is chosen among 500 real tools is what the formulas say, computed once more in plain NumPy."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import anyio
import numpy as np
import pytest

from astra_mcp.distractors.index import BandIndex, InScopeTool, build_index
from astra_mcp.distractors.pool import Pool, PoolTool
from astra_mcp.distractors.similarity import BITS, Band
from astra_mcp.domains import Domain
from astra_mcp.embedding import Vectors
from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.types import ToolSpec
from registry.documents.sources import DocumentFault, Provenance
from registry.importers.detection import detect

from real_documents import TOUCAN, prepare_once, real_data

TOOLS = 500


class RealTool(NamedTuple):
    server: str
    domain: Domain | None
    spec: ToolSpec


class Real(NamedTuple):
    tools: tuple[RealTool, ...]
    """The first 500 of different names, by name."""
    vectors: Vectors
    bands: list[list[str | None]]
    """Of each tool, the band of every other one; None of itself."""


def live_tools() -> Iterator[RealTool]:
    """All kept tools of the kept live servers, in the order of the file."""
    path = real_data(TOUCAN)
    for document in detect(path).read(path):
        if isinstance(document, DocumentFault) or document.provenance is not Provenance.LIVE:
            continue
        server = prepare_once(document)
        if server.rejection is None:
            for tool in server.tools:
                if tool.spec is not None and tool.rejection is None:
                    yield RealTool(server.name, server.domain, tool.spec)


def plain_bands(vectors: Vectors) -> list[list[str | None]]:
    """Eq. (25)-(27) over all pairs at once, in float64 and as they are written."""
    e = vectors.astype(np.float64)
    length = np.linalg.norm(e, axis=1)
    s = (e @ e.T) / (length[:, None] * length[None, :])
    found: list[list[str | None]] = []
    for i in range(len(e)):
        others = [s[i, j] for j in range(len(e)) if j != i]
        least, most = min(others), max(others)
        row: list[str | None] = []
        for j in range(len(e)):
            likeness = (s[i, j] - least) / (most - least)
            band = "high" if likeness > 0.85 else "medium" if likeness >= 0.4 else "low"
            row.append(None if j == i else band)
        found.append(row)
    return found


def plain_union(real: Real, scope: Sequence[int]) -> tuple[dict[str, set[str]], int]:
    """P^b of eq. (28), and how many candidates were left out for their domain."""
    found: dict[str, set[str]] = {"high": set(), "medium": set(), "low": set()}
    own = {real.tools[i].spec.name for i in scope}
    excluded = 0
    for i in scope:
        for tool, band in zip(real.tools, real.bands[i], strict=True):
            if band is None or tool.domain is None or tool.spec.name in own:
                continue
            if tool.domain == real.tools[i].domain:
                excluded += 1
            else:
                found[band].add(tool.spec.name)
    return found, excluded


@pytest.fixture(scope="module")
def real() -> Real:
    found: dict[str, RealTool] = {}
    for tool in live_tools():
        found.setdefault(tool.spec.name, tool)
        if len(found) == TOOLS:
            break
    tools = tuple(found[name] for name in sorted(found))
    vectors = anyio.run(LexicalEmbedder().embed, [document_of(t.spec) for t in tools])
    return Real(tools, vectors, plain_bands(vectors))


def document_of(spec: ToolSpec) -> str:
    """The OpenAI document, in its canonical form."""
    document = spec.as_openai()
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def asked(tool: RealTool) -> InScopeTool:
    return InScopeTool.of(tool.spec, tool.domain)


async def index_of(real: Real) -> BandIndex:
    pool = Pool(
        PoolTool(server=t.server, name=t.spec.name, domain=t.domain, hash=asked(t).hash)
        for t in real.tools
    )
    return await build_index(pool, real.vectors, LexicalEmbedder())


@pytest.mark.claim("P23")
def test_what_is_embedded_of_a_real_tool_is_its_openai_document(real: Real) -> None:
    for tool in real.tools:
        document = asked(tool).document
        assert document == document_of(tool.spec)
        spec = tool.spec
        members = {"name": spec.name, "description": spec.description}
        function = {**members, "parameters": spec.input_schema}
        assert json.loads(document) == {"type": "function", "function": function}


@pytest.mark.claim("P24")
@pytest.mark.claim("P26")
async def test_the_bands_of_500_real_tools_equal_those_of_a_plain_computation(real: Real) -> None:
    index = await index_of(real)
    found = await index.memberships([asked(tool) for tool in real.tools])
    bits: dict[str | None, int] = {band.value: bit for band, bit in BITS.items()}
    bits[None] = 0
    assert [row.tolist() for row in found] == [[bits[band] for band in row] for row in real.bands]
    numbers = {band: sum(row.count(band) for row in real.bands) for band in ("high", "medium")}
    assert min(numbers.values()) > TOOLS, "every band is met"


@pytest.mark.claim("P25")
@pytest.mark.claim("P27")
async def test_what_real_servers_get_are_the_unions_of_a_plain_computation(real: Real) -> None:
    index = await index_of(real)
    excluded = 0
    servers = sorted({tool.server for tool in real.tools})
    for first, second in pairwise(servers[::4]):
        scope = [i for i, t in enumerate(real.tools) if t.server in (first, second)]
        expected, left_out = plain_union(real, scope)
        excluded += left_out
        tools = [asked(real.tools[i]) for i in scope]
        eligible = index.pool.eligible([tool.name for tool in tools])
        everything = await index.choose(tools, eligible=eligible, k=TOOLS, seed=0)
        for band in Band:
            names = {c.tool.name for c in everything.chosen if c.band == band}
            assert names == expected[band]
            expected = {other: left - names for other, left in expected.items()}
        three = await index.choose(tools, eligible=eligible, k=3, seed=5)
        assert three == await index.choose(tools, eligible=eligible, k=3, seed=5)
    assert excluded >= 50
