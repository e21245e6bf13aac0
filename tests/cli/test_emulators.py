"""The registry's documents as emulated servers: followed while a gateway runs, and each to be run alone."""

import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from astra_mcp.compose.catalog import open_catalog
from astra_mcp.compose.emulators import open_documents, open_emulated, open_emulators
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.mcp.made_up import EMULATOR_KEY
from astra_mcp.types import EmulatorKind, ServerKind
from registry.documents.sources import Provenance, ServerDocument
from registry.intake.importing import import_documents
from registry.store.database import Database, open_database

from command_line import Cli, command, listening
from deployed_workshop import until
from plain_documents import prepare, server

WAIT_SECONDS = 30


@pytest.fixture
async def database(home: Path, anyio_backend: str) -> AsyncGenerator[Database]:
    """The registry of an empty home."""
    async with open_database(load_settings().registry_url) as opened:
        yield opened


async def store(database: Database, *documents: ServerDocument) -> None:
    await import_documents(database, documents, prepare=prepare)


async def test_what_is_stored_later_is_told_and_can_be_read(database: Database) -> None:
    async with open_documents(database, crawled=False) as documents:
        assert documents.versions() == {}
        heard: list[str] = []
        end = documents.watch(heard.append)
        pages = server("pages", provenance=Provenance.CRAWLED)
        await store(database, server("berry"), server("apple"), pages)
        await until(lambda: "berry" in heard)
        assert heard == ["apple", "berry"]
        version = documents.versions()["berry"]
        held = await documents.load("berry")
        assert held is not None
        assert (held.name, held.version) == ("berry", version)
        assert [t.name for t in held.tools] == ["berry_find", "berry_make", "berry_drop"]
        assert documents.outline("berry").num_tools == 3
        assert await documents.load("pages") is None
        await store(database, server("berry", "b_find", "b_make", "b_drop", "b_more"))
        heard.clear()
        await until(lambda: "berry" in heard)
        assert heard == ["berry"]
        assert documents.outline("berry").num_tools == 4
        await store(database, server("apple", "one"))  # too few tools now
        await until(lambda: "apple" in heard)
        assert set(documents.versions()) == {"berry"}
        end()


async def test_an_import_of_the_same_documents_is_no_news(database: Database) -> None:
    async with open_documents(database, crawled=True) as documents:
        heard: list[str] = []
        documents.watch(heard.append)
        await store(database, server("apple"))
        await until(lambda: "apple" in heard)
        await store(database, server("apple", origin={"url": "https://elsewhere.example"}))
        await store(database, server("berry"))
        await until(lambda: "berry" in heard)
        assert heard == ["apple", "berry"]


async def test_without_a_registry_nothing_is_emulated_until_one_is_there(
    database: Database,
) -> None:
    async with open_catalog(load_settings(), database=database) as catalog:
        heard: list[str] = []
        catalog.watch(heard.append)
        before = catalog.upstreams()
        assert catalog.upstreams() is before
        assert all(u.kind is ServerKind.ENVIRONMENT for u in before)
        await store(database, server("harbour"), server("tour-rebooking"))
        await until(lambda: "harbour" in heard)
        assert [u.name for u in catalog.upstreams() if u.kind is ServerKind.EMULATOR] == ["harbour"]
        found = catalog.upstream("harbour")
        await found.prepare()
        assert len(found.tools) == 3
        assert catalog.upstream("tour-rebooking").kind is ServerKind.ENVIRONMENT


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"publish": False}, []),
        ({"crawled": False}, ["live"]),
        ({"crawled": True}, ["live", "pages"]),
    ],
)
async def test_what_the_settings_ask_for_is_published(
    asked: dict[str, bool], names: list[str], database: Database
) -> None:
    settings = load_settings(emulators=asked)
    await store(database, server("live"), server("pages", provenance=Provenance.CRAWLED))
    async with open_catalog(settings, database=database) as catalog:
        assert [s.name for s in catalog.emulated.upstreams()] == names


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"kind": "model"}, r"emulators\.kind is 'model'.*emulator\.model"),
        ({"distractors": "model"}, r"emulators\.distractors is 'model'.*emulator\.model"),
        ({"hint_share": 0.3}, r"emulators\.hint_share is for a model"),
    ],
)
async def test_what_a_model_is_needed_for_and_none_is_named_is_a_mistake_in_the_settings(
    asked: dict[str, Any], words: str, database: Database
) -> None:
    settings = load_settings(emulators=asked)
    with pytest.raises(ConfigError, match=words):
        async with open_emulators(settings, database):
            pass


async def test_the_model_is_opened_where_the_settings_ask_for_it(database: Database) -> None:
    model = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}
    settings = load_settings(emulators={"kind": "model"}, models={"emulator": model})
    await store(database, server("harbour"))
    async with open_emulated(settings, database, crawled=False) as emulated:
        [found] = emulated.upstreams()
        assert found.emulator is EmulatorKind.MODEL
        reply = await found.open_session(key="k", seed=0).call("harbour_find", {"text": "x"})
    assert reply.origin == "upstream"
    assert "the emulator of harbour failed" in reply.cause


# --- the commands -------------------------------------------------------------------------------


@pytest.fixture
def cli(home: Path) -> Cli:
    """Runs commands in an empty home."""
    return Cli(home)


@pytest.fixture
def harbour(home: Path) -> Path:
    """A home whose registry has one live server and a crawled one."""

    async def fill() -> None:
        async with open_database(load_settings().registry_url) as database:
            pages = server("harbour-pages", provenance=Provenance.CRAWLED)
            await store(database, server("harbour", description="Ships."), pages)

    anyio.run(fill)
    return home


def as_program(*arguments: str) -> StdioServerParameters:
    name, *words = command(*arguments)
    return StdioServerParameters(command=name, args=words, env=dict(os.environ))


def over_stdio(_home: Path, name: str, mode: Any) -> Client:
    return Client(as_program("run", name), mode=mode, cache=None)


@asynccontextmanager
async def over_http(home: Path, name: str, mode: Any) -> AsyncGenerator[Client]:
    with listening(home, "run", name, "--http") as running:
        async with Client(running.url, mode=mode, cache=None) as client:
            yield client


Reach = Callable[[Path, str, Any], AbstractAsyncContextManager[Client]]
QUICK_WAYS = {
    ("harbour", over_stdio, "legacy"),
    ("harbour-pages", over_http, "2026-07-28"),
}


@pytest.mark.parametrize(
    ("name", "reach", "mode"),
    [
        pytest.param(*way, marks=() if way in QUICK_WAYS else pytest.mark.system)
        for way in product(
            ("harbour", "harbour-pages"), (over_stdio, over_http), ("legacy", "2026-07-28")
        )
    ],
)
async def test_a_server_of_the_registry_runs_alone(
    harbour: Path, reach: Reach, mode: str, name: str
) -> None:
    with anyio.fail_after(WAIT_SECONDS * 2):
        async with reach(harbour, name, mode) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool(f"{name}_make", {"text": "a ship"})
            refused = await client.call_tool(f"{name}_make", {"text": 7})
    assert [t.name for t in tools] == [f"{name}_{verb}" for verb in ("find", "make", "drop")]
    assert [(t.meta or {})[EMULATOR_KEY] for t in tools] == ["offline"] * 3
    assert ((result.meta or {})[EMULATOR_KEY], result.is_error) == ("offline", False)
    [block] = refused.content
    assert isinstance(block, TextContent)
    assert "argument 'text' must be of type string; got 7" in block.text


@pytest.mark.usefixtures("harbour")
def test_a_name_that_nothing_has_is_answered_with_what_is_close_of_both_kinds(cli: Cli) -> None:
    done = cli.run("run", "harbor")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no environment or server of the registry is named 'harbor'" in done.stderr
    assert "harbour" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_without_a_registry_is_left_without_one(cli: Cli) -> None:
    done = cli.run("run", "tour-rebookin")
    assert done.returncode == 1
    assert "did you mean tour-rebooking?" in done.stderr
    assert not load_settings().has_registry


@pytest.mark.usefixtures("harbour")
def test_a_client_is_connected_to_one_server_of_the_registry(cli: Cli) -> None:
    done = cli.run("connect", "claude-desktop", "--server", "harbour", "--json")
    assert done.returncode == 0, done.stderr
    [entry] = json.loads(done.stdout)["config"]["mcpServers"].values()
    assert entry["args"][-2:] == ["run", "harbour"]
    assert entry["env"]["ASTRA_MCP_HOME"] == str(cli.home)
    done = cli.run("connect", "claude-desktop", "--server", "harbor", "--json")
    assert done.returncode == 1
    assert "did you mean harbour" in done.stderr


@pytest.mark.usefixtures("harbour")
async def test_a_desktop_client_may_be_shown_one_emulated_server_of_the_gateway() -> None:
    gateway = as_program("serve", "--stdio", "--server", "harbour")
    with anyio.fail_after(WAIT_SECONDS * 2):
        async with Client(gateway, cache=None) as client:
            tools = (await client.list_tools()).tools
    assert [(t.meta or {})[EMULATOR_KEY] for t in tools] == ["offline"] * 3
