"""The registry's pages: documents by facets, tools by search, and a document before and after its intake."""

import re
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError
from astra_mcp.serving.pages.registry.searching import open_tool_search
from astra_mcp.testing import InMemoryCatalog, InMemoryServer
from astra_mcp.types import JsonObject, ServerKind
from registry.documents.preparation import prepare_server
from registry.documents.sources import Provenance, ServerDocument, ToolDocument
from registry.intake.importing import import_documents
from registry.search.scope import LIVE_TOOLS, SearchBy
from registry.settings import EmbedderKind, RegistrySettings

from plain_documents import prepare, server, tool
from shown_gateway import SCRIPT, STEERING, ShownGateway, open_shown_gateway, weigh, words_of

LONG = "w" * 20_000 + SCRIPT
HUGE = "w" * 10_000_000 + SCRIPT


def documented(key: str, *tools: ToolDocument, **fields: Any) -> ServerDocument:
    """A document as a source gives it."""
    named: dict[str, Any] = {"source": "harbours", "provenance": Provenance.LIVE, "name": key}
    named |= fields
    return ServerDocument(key=key, tools=tools, **named)


def told(name: str, description: str, **properties: Any) -> ToolDocument:
    schema: JsonObject = {"type": "dict", "properties": properties}  # which is put right
    return ToolDocument(name=name, description=description, input_schema=schema)


TIDES = documented(
    "Tides of Hamburg",
    told("height", "Tell the height of the tide at an hour of the day", hour={"type": "float"}),
    told("查询潮汐", "查询港口在某一天的潮汐高度和时间", 港口={"type": "string"}),
    told("ships", "List the ships that lie in the harbour today", berth={"type": "string"}),
    ToolDocument(name="broken", description="Opens the lock of a basin", input_schema=[SCRIPT]),
    told("vague", "tool"),
    labels=("Weather",),
    origin={"file": "tides.json", "line": 7},
)
AWFUL = documented(
    "awful",
    told("curse", f"Says what no page may do: {SCRIPT} {STEERING}", text={"description": SCRIPT}),
    told("flood", f"Fills every page that there is: {LONG}", text={"description": LONG}),
    told("list", "Lists what nobody asked for, in rows of ten", **{SCRIPT: {"type": "string"}}),
    name=f"{SCRIPT} {STEERING} 北京",
    description=LONG,
    labels=(SCRIPT,),
    origin={"url": f"javascript:alert(1) {SCRIPT}"},
)


@pytest.fixture(scope="module")
async def stored(
    anyio_backend: str, tmp_path_factory: pytest.TempPathFactory, migrated: Path
) -> AsyncGenerator[ShownGateway]:
    """A gateway whose registry holds some documents, awful ones among them."""
    catalog = InMemoryCatalog(
        InMemoryServer("Tides_of_Hamburg", weigh, kind=ServerKind.ENVIRONMENT)
    )
    home = tmp_path_factory.mktemp("stored")
    async with open_shown_gateway(catalog, home, migrated) as opened:
        twin = documented("a twin", *TIDES.tools, source="elsewhere")
        few = documented("few", TIDES.tools[2], provenance=Provenance.CRAWLED)
        stream = [TIDES, AWFUL, twin, few]
        await import_documents(opened.database, stream, prepare=prepare_server)
        yield opened


def names_in(page: str) -> list[str]:
    """The servers that a list leads to."""
    return re.findall(r'<a href="/registry/servers/([^"/?]+)">', page)


async def test_an_empty_registry_says_which_command_fills_it(shown: ShownGateway) -> None:
    page = await shown.page("/registry")
    assert "astra-mcp registry import FILE" in page
    assert '<form class="filters"' not in page
    assert (await shown.browser.get("/registry/servers/none")).status_code == 404


async def test_facets_hold_at_once_and_stand_in_the_address(stored: ShownGateway) -> None:
    everything = names_in(await stored.page("/registry"))
    assert len(everything) == 4
    assert names_in(await stored.page("/registry?source=elsewhere")) == ["a_twin"]
    assert names_in(await stored.page("/registry?verdict=duplicate")) == ["a_twin"]
    few = await stored.page("/registry?verdict=rejected&provenance=crawled")
    assert [name.partition("-")[0] for name in names_in(few)] == ["few"]
    assert "rejected: too_few_tools" in few
    assert names_in(await stored.page("/registry?verdict=kept&domain=weather")) == [
        "Tides_of_Hamburg"
    ]
    assert names_in(await stored.page("/registry?name=TIDES")) == ["Tides_of_Hamburg"]
    assert names_in(await stored.page("/registry?verdict=kept&name=%25&page=9")) == []
    hostile = await stored.page("/registry?domain=%22%3E%3Cscript%3E&source=%22%3E%3Cscript%3E")
    assert "<script>" not in hostile
    assert names_in(hostile) == []


async def test_a_search_finds_tools_as_the_command_does(stored: ShownGateway) -> None:
    for query in ("height of the tide", "潮汐高度"):
        page = await stored.page(f"/registry?q={query}&by=words")
        assert names_in(page)[0] == "Tides_of_Hamburg"
        assert "searched by words." in words_of(page)
    both = await stored.page("/registry?q=height+of+the+tide")
    assert names_in(both)[0] == "Tides_of_Hamburg"
    assert "astra-mcp registry embed" in both
    assert "No tool fits" in await stored.page("/registry?q=height&domain=finance&by=words")
    assert names_in(await stored.page("/registry?q=height&source=elsewhere")) == []
    for wrong in ("q=tide&by=magic", "q=tide&verdict=rejected", "q=tide&name=x", f"q={'w' * 2001}"):
        page = await stored.page(f"/registry?{wrong}")
        assert 'role="alert"' in page
        assert names_in(page) == []


async def test_a_document_shows_what_was_found_what_was_made_of_it_and_why(
    stored: ShownGateway,
) -> None:
    page = await stored.page("/registry/servers/Tides_of_Hamburg")
    said = words_of(page)
    assert "tides.json" in said
    assert "domain weather, by label" in said
    assert "input_schema.properties.hour.type" in said or "float" in said
    parts = page.split('<article class="tool"')[1:]
    assert len(parts) == 5
    height, tide, _, broken, vague = map(words_of, parts)
    assert "Changed:" in height
    assert "查询潮汐" in tide
    assert re.search(r"<code>[\w-]*[0-9a-f]{6,}</code>", parts[1])  # whose letters were lost
    assert "rejected: not_convertible" in broken
    assert SCRIPT in broken  # the document as it was found
    assert "could not be converted" in broken
    assert "rejected: vague_description" in vague
    assert "how the rest was written stands at its origin alone" in said
    assert 'href="/servers/Tides_of_Hamburg"' in page
    assert names_in(page)[0] == "a_twin"
    twin = await stored.page("/registry/servers/a_twin")
    assert "rejected: duplicate" in twin
    assert "Tides_of_Hamburg" in names_in(twin)
    whole = (await stored.browser.get("/registry/servers/Tides_of_Hamburg/record")).json()
    assert whole["key"] == "Tides of Hamburg"
    assert len(whole["tools"]) == 5
    led = await stored.browser.get("/registry/servers/Tides of Hamburg")
    assert led.headers["location"] == "/registry/servers/Tides_of_Hamburg"


async def test_awful_documents_are_text_and_fit_a_page(stored: ShownGateway) -> None:
    [awful] = names_in(await stored.page("/registry?name=onerror"))
    for path in (f"/registry/servers/{awful}", "/registry", "/registry?q=rows+of+ten&by=words"):
        page = await stored.page(path)
        assert len(page) < 100_000
        assert "<script>" not in page
        assert "<img" not in page
        assert 'href="javascript' not in page
        assert not set(page) & {"\x1b", "\u202e", "\u2066"}
    shown_one = await stored.page(f"/registry/servers/{awful}")
    assert SCRIPT in words_of(shown_one)
    assert "北京" in shown_one
    assert "characters more" in shown_one


async def test_a_search_that_cannot_be_made_says_why_and_is_tried_again(
    stored: ShownGateway, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, registry=RegistrySettings(embedder=EmbedderKind.ENDPOINT))
    async with open_tool_search(settings, stored.database) as search:
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"models\.embedding\.model"):
                await search.search("x", by=SearchBy.BOTH, scope=LIVE_TOOLS, limit=1)


@pytest.mark.volume
async def test_ten_thousand_documents_are_shown_a_page_at_a_time_in_little_time(
    tmp_path: Path, migrated: Path
) -> None:
    async with open_shown_gateway(InMemoryCatalog(), tmp_path / "home", migrated) as shown:
        listed = (
            server(f"s{n:05}", *map(tool, (f"a{n}", f"b{n}", f"c{n}"))) for n in range(10_000)
        )
        huge = replace(server("huge"), description=HUGE, tools=(tool("x", HUGE), *AWFUL.tools))
        await import_documents(shown.database, [huge, *listed], prepare=prepare)
        assert len(await shown.page("/registry/servers/huge")) < 100_000
        await shown.page("/registry")  # counts what there is, once
        for path in ("/registry?page=200", "/registry?verdict=kept&name=9&source=plain&page=3"):
            spent, page = list[float](), ""
            for _ in range(3):
                began = time.process_time()
                page = await shown.page(path)
                spent.append(time.process_time() - began)
            assert len(names_in(page)) == 50
            assert len(page) < 100_000
            assert min(spent) < 0.05, path
