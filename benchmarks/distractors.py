"""What choosing distractors costs in a pool of the size of the paper's: memory, first and later choices.

    python -P benchmarks/distractors.py [--json FILE] [--tools N] [--servers N] [--dimensions N] [--rounds N]

Documents and vectors are made up by number; the vectors lie in clusters by domain and by server. They are
stored in a registry of its own, and three processes look at it one after the other, so that each has a peak
of memory of its own:

first   embeds and stores all of them, and makes the index, as the first episode of a new pool does
stored  makes the index from what is stored, as after a restart; then chooses for episodes of 10 tools from
        two servers: cold (none of its tools was asked for before) and warm (all were)
plain   computes the same in plain NumPy, in float64, with the whole normalised matrix in memory

Exits 1 where the bands of the two differ, an index takes more than 1 GiB, or a warm choice more than 5 ms.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right
import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

from astra_mcp.compose.distractor_sources import CachedPool, index_pool, read_pool  # noqa: E402
from astra_mcp.distractors.index import BandIndex, InScopeTool  # noqa: E402
from astra_mcp.distractors.settings import PoolKind  # noqa: E402
from astra_mcp.distractors.similarity import Floats, Membership  # noqa: E402
from astra_mcp.seeds import generator  # noqa: E402
from gateway.api.seams import ScopedTool  # noqa: E402
from registry.documents.preparation import prepare_server  # noqa: E402
from registry.intake.importing import import_documents  # noqa: E402
from registry.search.vectors import load_vectors  # noqa: E402
from registry.store.database import Database, open_database  # noqa: E402
from registry.store.servers import load_servers  # noqa: E402

from circumstances import conditions  # noqa: E402
from generated_tools import (  # noqa: E402
    GeneratedCatalog,
    GeneratedEmbedder,
    domain_of,
    server_documents,
    server_name,
)

SEED = 0
SCOPE_TOOLS = 10
K = 3
MAX_PEAK_MIB = 1024
MAX_WARM_MS = 5.0
WARM_ROUNDS = 10
STAGES = ("first", "stored", "plain")

Labels = npt.NDArray[np.str_]


class Size(NamedTuple):
    """How much there is of everything."""

    tools: int
    servers: int
    dimensions: int
    rounds: int


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description="Measure what choosing distractors costs.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--tools", type=int, default=19_036, help="as many as the paper's documents"
    )
    parser.add_argument("--servers", type=int, default=1_585, help="likewise")
    parser.add_argument("--dimensions", type=int, default=4_096, help="of Qwen3-Embedding-8B")
    parser.add_argument("--rounds", type=int, default=30, help="episodes of each kind")
    parser.add_argument("--stage", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = Size(options.tools, options.servers, options.dimensions, options.rounds)
    if options.stage:
        stage, url = options.stage
        print(json.dumps(anyio.run(_run_stage, stage, url, size)))
        return
    figures = _measure(size)
    for name, value in figures.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if figures["holds"] else 1)


def _measure(size: Size) -> dict[str, Any]:
    circumstances = conditions(
        seed=SEED,
        numpy=np.__version__,
        **size._asdict(),
        scope_tools=SCOPE_TOOLS,
        k=K,
        database="sqlite",
    )
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        url = f"sqlite:///{folder}/registry.db"
        anyio.run(_store_documents, url, size)
        given = [f"--{name}={value}" for name, value in size._asdict().items()]
        for stage in STAGES:
            command = [sys.executable, "-P", __file__, *given, "--stage", stage, url]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            figures |= json.loads(done.stdout)
    figures["bands_equal_plain"] = figures.pop("stored_bands") == figures.pop("plain_bands")
    for kind in ("warm", "cold"):
        ratio = figures[f"{kind}_cpu_ms"] / figures["plain_cpu_ms"]
        figures[f"{kind}_to_plain_cpu_ratio"] = round(ratio, 4)
    figures["all_pairs_mib"] = round(size.tools**2 * 8 / 2**20)
    figures["holds"] = (
        figures["bands_equal_plain"]
        and max(figures["first_peak_mib"], figures["stored_peak_mib"]) <= MAX_PEAK_MIB
        and figures["warm_median_ms"] <= MAX_WARM_MS
    )
    return figures | {"conditions": circumstances.finished()}


async def _store_documents(url: str, size: Size) -> None:
    async with open_database(url) as database:
        documents = server_documents(size.tools, size.servers, SEED)
        await import_documents(database, documents, prepare=prepare_server)


async def _run_stage(stage: str, url: str, size: Size) -> dict[str, Any]:
    async with open_database(url) as database:
        if stage == "plain":
            return await _plain(database, size)
        embedder = GeneratedEmbedder(size.dimensions, SEED)
        figures: dict[str, Any] = {f"{stage}_before_mib": _peak_mib()}
        started = time.perf_counter()
        catalog = GeneratedCatalog(size.servers)
        reading = await read_pool(PoolKind.REGISTRY, catalog, database)
        figures[f"{stage}_read_seconds"] = _since(started)
        held = CachedPool(reading.pool, await index_pool(reading, embedder, database, None))
        del reading
        figures |= {
            f"{stage}_seconds": _since(started),
            f"{stage}_tools": len(held.pool),
            f"{stage}_peak_mib": _peak_mib(),
        }
        if stage == "stored":
            figures |= await _choices(held, catalog, await _scopes(database, size))
        return figures


async def _choices(
    held: CachedPool, catalog: GeneratedCatalog, scopes: Sequence[Sequence[ScopedTool]]
) -> dict[str, Any]:
    async def times_of(
        name: str,
        mode: Literal["random", "banded"],
        episodes: Sequence[Sequence[ScopedTool]],
    ) -> dict[str, float]:
        times = _Times(name)
        for seed, scope in enumerate(episodes):
            with times.taken():
                await held.sample(
                    scope, mode=mode, k=K, seed=seed, taken=(), catalog=catalog, is_stale=False
                )
        return times.figures()

    often = [*scopes] * WARM_ROUNDS
    figures = {
        **await times_of("cold", "banded", scopes),
        **await times_of("warm", "banded", often),
        **await times_of("random", "random", often),
        "chosen_peak_mib": _peak_mib(),
    }
    digest = sha256()
    for scope in scopes:
        tools = [InScopeTool.of(s.tool, domain_of(s.server)) for s in scope]
        for membership in await _index_of(held).memberships(tools):
            digest.update(membership.tobytes())
    return {**figures, "stored_bands": digest.hexdigest()}


def _index_of(held: CachedPool) -> BandIndex:
    if held.index is None:
        raise ValueError("the pool has no index")
    return held.index


async def _plain(database: Database, size: Size) -> dict[str, Any]:
    """Compute eq. (25)-(28) as they are written, for the rows of the same episodes."""
    e, names, domains = await _plain_vectors(database, size)
    places = {name: place for place, name in enumerate(names)}
    digest = sha256()
    times = _Times("plain")
    for seed, scope in enumerate(await _scopes(database, size)):
        own = [places[s.tool.name] for s in scope]
        with times.taken():
            bands = _plain_choice(e, domains, own, seed)
        digest.update(bands.tobytes())
    peak = {"plain_peak_mib": _peak_mib(), "plain_bands": digest.hexdigest()}
    return {**times.figures(), **peak}


def _plain_choice(e: Floats, domains: Labels, own: Sequence[int], seed: int) -> Membership:
    """Choose for one episode, and give the bands of its tools."""
    rows = e[own] @ e.T
    bands = np.zeros(rows.shape, dtype=np.uint8)
    pools = np.zeros((3, len(e)), dtype=np.bool_)
    for at, i in enumerate(own):
        others = np.delete(rows[at], i)
        likeness = (rows[at] - others.min()) / (others.max() - others.min())
        bands[at] = np.where(likeness > 0.85, 1, np.where(likeness >= 0.4, 2, 4))
        bands[at, i] = 0
        allowed = (domains != "") & (domains != domains[i])
        allowed[own] = False
        for pool, bit in enumerate((1, 2, 4)):
            pools[pool] |= allowed & (bands[at] == bit)
    draw = generator(seed)
    for pool in pools:
        candidates = np.flatnonzero(pool)
        draw.sample(range(len(candidates)), min(K, len(candidates)))
    return bands


async def _plain_vectors(database: Database, size: Size) -> tuple[Floats, list[str], Labels]:
    """All vectors at length 1, with the names and domains of their tools, by name."""
    wanted = [server_name(number) for number in range(size.servers)]
    known = {
        tool.tool_hash: (tool.spec.name, server.domain or "")
        for server in await database.read(lambda session: load_servers(session, wanted))
        for tool in server.tools
        if tool.spec is not None
    }
    table = await load_vectors(database, GeneratedEmbedder(size.dimensions, SEED).model)
    order = sorted(range(len(table.hashes)), key=lambda place: known[table.hashes[place]])
    tools = [known[table.hashes[place]] for place in order]
    e = table.matrix[order].astype(np.float64)
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    return e, [name for name, _ in tools], np.array([domain for _, domain in tools])


async def _scopes(database: Database, size: Size) -> list[list[ScopedTool]]:
    """Episodes of two servers that no other episode has."""
    draw = generator(SEED, "scopes")
    drawn = draw.sample(range(size.servers), 2 * size.rounds)
    numbers = [server_name(number) for number in drawn]
    servers = await database.read(lambda session: load_servers(session, numbers))
    tools = [[ScopedTool(server.name, tool) for tool in server.specs] for server in servers]
    half = SCOPE_TOOLS // 2
    return [
        [*one[:half], *other[:half]] for one, other in zip(tools[::2], tools[1::2], strict=True)
    ]


class _Times:
    """How long something took each time, and what all threads of this process worked on it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seconds: list[float] = []
        self._cpu_seconds = 0.0

    @contextmanager
    def taken(self) -> Generator[None]:
        """Count what the block takes."""
        started, worked = time.perf_counter(), time.process_time()
        yield
        self._seconds.append(time.perf_counter() - started)
        self._cpu_seconds += time.process_time() - worked

    def figures(self) -> dict[str, float]:
        """Summarise."""
        ordered = sorted(self._seconds)
        figures = {
            "median": statistics.median(ordered),
            "p99": ordered[int(0.99 * (len(ordered) - 1))],
            "max": ordered[-1],
            "cpu": self._cpu_seconds / len(ordered),
        }
        return {f"{self._name}_{kind}_ms": round(s * 1000, 3) for kind, s in figures.items()}


def _peak_mib() -> float:
    """The most memory that this process has had resident; ``ru_maxrss`` counts its parent's too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return round(int(line.split()[1]) / 1024, 1)


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 2)


if __name__ == "__main__":
    main()
