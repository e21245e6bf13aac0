"""The pool of a gateway: read when it is asked for, of published servers alone, and renewed with them."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.compose import distractor_pool, distractor_sources
from astra_mcp.compose.catalog import open_catalog
from astra_mcp.compose.distractor_pool import GatewayDistractors, open_distractors
from astra_mcp.compose.distractor_sources import PoolReading, index_pool, read_pool
from astra_mcp.compose.settings import Settings
from astra_mcp.distractors.index import BandIndex
from astra_mcp.distractors.settings import PoolKind
from astra_mcp.domains import Domain
from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.embedding.tool_text import tool_text
from astra_mcp.errors import ConfigError, ModelError, RegistryError
from astra_mcp.types import ServerKind, ToolSpec
from gateway.api.seams import DistractorIndex, DistractorSample, EnvironmentInfo, ScopedTool
from registry.documents.sources import Provenance
from registry.search.vectors import load_vectors
from registry.store.database import Database, open_database

from stored_rows import hash_of
from stored_tools import spec, store_server
from vector_pools import FakeEmbedder

PATIENCE_SECONDS = 20
ODE = spec("write_ode", "Write an ode to a city.", "city")
"""A tool that no server here has."""
HERE = ScopedTool("arrivals", ODE)


@dataclass(frozen=True)
class FakeServer:
    name: str
    kind: ServerKind


@dataclass
class FakeCatalog:
    """Satisfies ``PoolCatalog`` with what a test puts into it."""

    infos: list[EnvironmentInfo] = field(default_factory=list[EnvironmentInfo])
    emulated: set[str] = field(default_factory=set[str])
    domains: dict[str, str] = field(default_factory=dict[str, str])
    readings: int = 0
    listeners: list[Callable[[str], None]] = field(default_factory=list[Callable[[str], None]])

    def environments(self) -> Sequence[EnvironmentInfo]:
        self.readings += 1
        return self.infos

    def upstreams(self) -> Sequence[FakeServer]:
        servers = [FakeServer(info.name, ServerKind.ENVIRONMENT) for info in self.infos]
        return servers + [FakeServer(name, ServerKind.EMULATOR) for name in sorted(self.emulated)]

    def domain(self, server: str) -> str | None:
        return self.domains.get(server)

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        self.listeners.append(hear)
        return lambda: self.listeners.remove(hear)

    def change(self, name: str, *, is_published: bool) -> None:
        """Let an emulated server come or go."""
        (self.emulated.add if is_published else self.emulated.discard)(name)
        for hear in self.listeners:
            hear(name)


def environment(name: str, domain: Domain, *tools: ToolSpec) -> EnvironmentInfo:
    return EnvironmentInfo(
        name=name,
        title=name,
        description="",
        version="1",
        status="verified",
        domain=domain,
        language="en",
        scenario_type=None,
        question="?",
        sub_tasks=1,
        tools=tools,
    )


def tools_of(*words: str) -> list[ToolSpec]:
    return [spec(f"find_{word}", f"Find the {word} of a city.", "city") for word in words]


def settings(home: Path, pool: PoolKind = PoolKind.ENVIRONMENTS, **members: Any) -> Settings:
    return Settings.model_validate({"home": home, "distractors": {"pool": pool}, **members})


@pytest.fixture
async def database(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Database]:
    """A registry that holds nothing."""
    async with open_database(f"sqlite:///{tmp_path / 'registry.db'}") as opened:
        yield opened


@pytest.fixture
def catalog() -> FakeCatalog:
    """Two environments of two domains that share the name of a tool."""
    tram, bus, taxi = tools_of("tram", "bus", "taxi")
    other_taxi = spec("find_taxi", "Hail a cab.", "city")
    return FakeCatalog(
        [
            environment("arrivals", Domain.TRAVEL, tram, taxi),
            environment("bistros", Domain.FOOD_AND_DINING, bus, other_taxi),
        ],
        domains={"arrivals": "travel", "bistros": "food_and_dining"},
    )


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SETTLE_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(distractor_pool, name, 0)


async def banded(index: DistractorIndex, *scope: ScopedTool, **options: Any) -> DistractorSample:
    given: dict[str, Any] = {"k": 50, "seed": 1, "taken": (), **options}
    return await index.sample(scope, mode="banded", **given)


async def at_random(index: DistractorIndex, *scope: ScopedTool) -> set[str]:
    sample = await index.sample(scope, mode="random", k=1, seed=1, taken=())
    assert {chosen.band for chosen in sample.distractors} <= {None}
    return {chosen.tool for chosen in sample.distractors}


def names(sample: DistractorSample) -> set[tuple[str, str]]:
    return {(chosen.server, chosen.tool) for chosen in sample.distractors}


async def until(index: DistractorIndex, scope: ScopedTool, expected: set[tuple[str, str]]) -> None:
    """Wait for a renewal that makes these, and nothing else, the candidates."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while names(await banded(index, scope)) != expected:  # noqa: ASYNC110 - no event tells of it
            await anyio.sleep(0.01)


def listed(reading: PoolReading) -> list[tuple[str, str, str | None]]:
    return [(tool.name, tool.server, tool.domain) for tool in reading.pool.tools]


# --- which tools ----------------------------------------------------------------------------------


async def test_of_environments_the_first_by_name_has_a_tool_that_several_list(
    catalog: FakeCatalog, database: Database
) -> None:
    reading = await read_pool(PoolKind.ENVIRONMENTS, catalog, database)
    assert listed(reading) == [
        ("find_bus", "bistros", "food_and_dining"),
        ("find_taxi", "arrivals", "travel"),
        ("find_tram", "arrivals", "travel"),
    ]
    taxi = catalog.infos[0].tools[1]
    assert reading.sources[1].document == tool_text(taxi)


async def test_of_the_registry_only_kept_live_and_published_servers_count(
    catalog: FakeCatalog, database: Database
) -> None:
    await store_server(database, "zoos", tools_of("zoo", "taxi"), domain=Domain.TRAVEL)
    await store_server(database, "arks", tools_of("zoo", "ark"))
    await store_server(database, "hidden", tools_of("secret"), domain=Domain.TRAVEL)
    await store_server(database, "crawled", tools_of("page"), provenance=Provenance.CRAWLED)
    await store_server(database, "rejected", tools_of("junk"), status="rejected")
    catalog.emulated = {"zoos", "arks", "crawled", "rejected"}
    assert listed(await read_pool(PoolKind.REGISTRY, catalog, database)) == [
        ("find_ark", "arks", None),
        ("find_taxi", "zoos", "travel"),
        ("find_zoo", "arks", None),
    ]
    every = listed(await read_pool(PoolKind.ALL, catalog, database))
    assert [name for name, _, _ in every] == [
        *("find_ark", "find_bus", "find_taxi", "find_tram", "find_zoo"),
    ]
    assert every[2] == ("find_taxi", "arrivals", "travel")


# --- which vectors --------------------------------------------------------------------------------


class CountingEmbedder(LexicalEmbedder):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Any:
        self.texts += texts
        return await super().embed(texts, as_query=as_query)


async def test_vectors_of_the_registry_are_stored_and_those_that_are_known_not_made_again(
    catalog: FakeCatalog, database: Database
) -> None:
    zoo, ark, yak = tools_of("zoo", "ark", "yak")
    await store_server(database, "zoos", [zoo, ark], domain=Domain.SCIENCE)
    catalog.emulated = {"zoos"}
    reading = await read_pool(PoolKind.ALL, catalog, database)

    first, second, third = (CountingEmbedder() for _ in range(3))
    index = await index_pool(reading, first, database, None)
    assert sorted(first.texts) == sorted(source.document for source in reading.sources)
    stored = await load_vectors(database, first.model)
    assert set(stored.hashes) == {hash_of(zoo), hash_of(ark)}

    await index_pool(reading, second, database, None)
    environments = [s.document for s in reading.sources if s.stored_as is None]
    assert sorted(second.texts) == sorted(environments)

    await store_server(database, "yaks", [yak], domain=Domain.SCIENCE)
    catalog.emulated |= {"yaks"}
    larger = await read_pool(PoolKind.ALL, catalog, database)
    again = await index_pool(larger, third, database, index)
    assert third.texts == [tool_text(yak)]
    expected = await LexicalEmbedder().embed([s.document for s in larger.sources])
    for tool, vector in zip(larger.pool.tools, expected, strict=True):
        found = again.vector(tool.name, tool.hash)
        assert found is not None
        assert (found == vector).all()


async def test_vectors_of_another_length_than_the_stored_ones_are_refused(
    catalog: FakeCatalog, database: Database
) -> None:
    [zoo] = tools_of("zoo")
    await store_server(database, "zoos", [zoo])
    catalog.emulated = {"zoos"}
    reading = await read_pool(PoolKind.REGISTRY, catalog, database)
    await index_pool(reading, FakeEmbedder({tool_text(zoo): (1, 2, 3)}), database, None)
    both = await read_pool(PoolKind.ALL, catalog, database)
    documents = {source.document: (1.0, 2.0) for source in both.sources}
    with pytest.raises(RegistryError, match="'fake' answers 2 dimensions"):
        await index_pool(both, FakeEmbedder(documents), database, None)


async def test_a_pool_of_nothing_has_an_index(database: Database) -> None:
    reading = await read_pool(PoolKind.ALL, FakeCatalog(), database)
    assert len((await index_pool(reading, FakeEmbedder(), database, None)).pool) == 0


# --- when -----------------------------------------------------------------------------------------


async def test_nothing_is_read_before_somebody_asks_and_then_once(
    catalog: FakeCatalog, database: Database, tmp_path: Path
) -> None:
    async with open_distractors(settings(tmp_path), catalog, database) as index:
        await anyio.wait_all_tasks_blocked()
        assert catalog.readings == 0
        found: list[DistractorSample] = []

        async def ask() -> None:
            found.append(await banded(index, ScopedTool("anywhere", ODE)))

        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(ask)
        assert catalog.readings == 1
        assert found == found[:1] * 8
        assert names(found[0]) == {
            ("arrivals", "find_taxi"),
            ("arrivals", "find_tram"),
            ("bistros", "find_bus"),
        }


def test_a_gateway_that_mixes_nothing_in_loads_no_numpy() -> None:
    program = "import sys, astra_mcp.compose.distractor_pool; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-P", "-c", program], check=True, timeout=60)


async def test_tools_of_the_scopes_domain_and_names_that_are_taken_are_not_chosen(
    catalog: FakeCatalog, database: Database, tmp_path: Path
) -> None:
    async with open_distractors(settings(tmp_path), catalog, database) as index:
        assert names(await banded(index, HERE)) == {("bistros", "find_bus")}
        assert names(await banded(index, HERE, taken={"find_bus"})) == set()
        assert await at_random(index, HERE) == {"find_bus"}
        own = ScopedTool("elsewhere", catalog.infos[1].tools[0])
        assert "find_bus" not in await at_random(index, own)
        assert "find_bus" not in {tool for _, tool in names(await banded(index, own))}


@asynccontextmanager
async def arks_and_zoos(
    home: Path, catalog: FakeCatalog, database: Database
) -> AsyncGenerator[GatewayDistractors]:
    """The pool of a registry of two servers, of which the first one is published."""
    for server in ("arks", "zoos"):
        await store_server(database, server, tools_of(server), domain=Domain.SCIENCE)
    catalog.emulated = {"arks"}
    async with open_distractors(settings(home, PoolKind.REGISTRY), catalog, database) as index:
        yield index


async def test_the_pool_follows_the_registry_and_what_is_gone_is_chosen_no_more(
    catalog: FakeCatalog, database: Database, tmp_path: Path
) -> None:
    async with arks_and_zoos(tmp_path, catalog, database) as index:
        assert await at_random(index, HERE) == {"find_arks"}
        assert names(await banded(index, HERE)) == {("arks", "find_arks")}
        catalog.change("zoos", is_published=True)
        await until(index, HERE, {("arks", "find_arks"), ("zoos", "find_zoos")})
        catalog.change("arks", is_published=False)
        assert names(await banded(index, HERE)) == {("zoos", "find_zoos")}
    assert catalog.listeners == []


class Gate:
    """Holds back the making of indices, and fails where it is told to."""

    def __init__(self) -> None:
        self.entered = 0
        self.was_entered = anyio.Event()
        self.is_open = anyio.Event()
        self.error: ModelError | RegistryError | None = None

    async def __call__(self, *asked: Any) -> BandIndex:
        self.entered += 1
        self.was_entered.set()
        await self.is_open.wait()
        if self.error is not None:
            raise self.error
        return await index_pool(*asked)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """What makes the indices."""
    held = Gate()
    monkeypatch.setattr(distractor_sources, "index_pool", held)
    return held


async def test_the_old_pool_serves_while_a_new_one_is_made(
    catalog: FakeCatalog, database: Database, tmp_path: Path, gate: Gate
) -> None:
    async with arks_and_zoos(tmp_path, catalog, database) as index:
        gate.is_open.set()
        await banded(index, HERE)
        gate.is_open, gate.was_entered = anyio.Event(), anyio.Event()
        catalog.change("zoos", is_published=True)
        with anyio.fail_after(PATIENCE_SECONDS):
            await gate.was_entered.wait()
        assert names(await banded(index, HERE)) == {("arks", "find_arks")}
        gate.is_open.set()
        await until(index, HERE, {("arks", "find_arks"), ("zoos", "find_zoos")})


async def test_who_cannot_wait_is_told_what_to_do_and_the_reading_goes_on(
    catalog: FakeCatalog,
    database: Database,
    tmp_path: Path,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_distractors(settings(tmp_path), catalog, database) as index:
        monkeypatch.setattr(distractor_pool, "READY_SECONDS", 0.05)
        with pytest.raises(ModelError, match="try again, or run `astra-mcp registry embed`"):
            await banded(index, HERE)
        monkeypatch.setattr(distractor_pool, "READY_SECONDS", PATIENCE_SECONDS)
        assert await at_random(index, HERE) == {"find_bus"}
        gate.is_open.set()
        assert names(await banded(index, HERE)) == {("bistros", "find_bus")}
        assert gate.entered == 1


async def test_a_failure_is_told_to_all_who_wait_and_the_next_one_tries_again(
    catalog: FakeCatalog, database: Database, tmp_path: Path, gate: Gate
) -> None:
    gate.error = RegistryError("the database is locked")
    failures: list[str] = []

    async def ask(index: GatewayDistractors) -> None:
        with pytest.raises(RegistryError) as caught:
            await banded(index, HERE)
        failures.append(str(caught.value))

    async with open_distractors(settings(tmp_path), catalog, database) as index:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(ask, index)
                await anyio.wait_all_tasks_blocked()
                gate.is_open.set()
        assert failures == ["the database is locked"] * 3
        assert gate.entered == 1
        gate.error = None
        assert names(await banded(index, HERE)) == {("bistros", "find_bus")}


async def test_an_embedder_without_a_model_keeps_from_bands_and_from_nothing_else(
    catalog: FakeCatalog, database: Database, tmp_path: Path
) -> None:
    chosen = settings(tmp_path, registry={"embedder": "endpoint"})
    async with open_distractors(chosen, catalog, database) as index:
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"models\.embedding\.model"):
                await banded(index, HERE)
            assert await at_random(index, HERE) == {"find_bus"}


@pytest.mark.parametrize("pool", [PoolKind.REGISTRY, PoolKind.ALL])
async def test_a_pool_of_servers_that_are_not_published_is_refused(
    catalog: FakeCatalog, database: Database, tmp_path: Path, pool: PoolKind
) -> None:
    chosen = settings(tmp_path, pool, emulators={"publish": False})
    with pytest.raises(ConfigError, match=r"distractors\.pool .* emulators\.publish"):
        async with open_distractors(chosen, catalog, database):
            pass


# --- behind a gateway's own catalog ---------------------------------------------------------------


@asynccontextmanager
async def published(
    home: Path, pool: PoolKind, database: Database
) -> AsyncGenerator[GatewayDistractors]:
    chosen = settings(home, pool)
    async with (
        open_catalog(chosen, trusted=True, database=database) as catalog,
        open_distractors(chosen, catalog, database) as index,
    ):
        yield index


@pytest.mark.claim("P22")
async def test_the_tools_of_all_bundled_environments_are_distractors_of_one_another(
    database: Database, tmp_path: Path
) -> None:
    async with published(tmp_path, PoolKind.ENVIRONMENTS, database) as index:
        sample = await banded(index, ScopedTool("sold-prices", ODE), k=500)
        assert len({chosen.server for chosen in sample.distractors}) > 10
        assert "sold-prices" not in {chosen.server for chosen in sample.distractors}
        tools = [chosen.tool for chosen in sample.distractors]
        assert len(tools) == len(set(tools)) > 30
        assert {chosen.band for chosen in sample.distractors} == {"high", "medium", "low"}


async def test_what_is_stored_in_the_registry_becomes_a_distractor_without_a_restart(
    database: Database, tmp_path: Path
) -> None:
    await store_server(database, "arks", tools_of("ark"), domain=Domain.SCIENCE)
    scope = ScopedTool("sold-prices", ODE)
    async with published(tmp_path, PoolKind.REGISTRY, database) as index:
        assert names(await banded(index, scope)) == {("arks", "find_ark")}
        await store_server(database, "zoos", tools_of("zoo"), domain=Domain.SCIENCE)
        await until(index, scope, {("arks", "find_ark"), ("zoos", "find_zoo")})
